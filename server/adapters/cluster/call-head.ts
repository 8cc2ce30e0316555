import type { CellName, StaffClaim } from '../../core/cluster/cells'
import type { ForwardedCall, Hopped, Peer } from '../../core/cluster/hop'
import { type OutgoingBody, passedHeaders } from './outgoing-request'

/** What a node says of a request on a link, and the request without its body. The link proves who says it, so nothing is signed. */
export interface CallHead {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly hop: Hopped
}

/** The length of what a HEAD would get is only known to HTTP, and no `Request` can be made of TRACE. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

type Written = readonly [
  method: string,
  url: string,
  headers: Readonly<Record<string, string>>,
  cell: CellName,
  term: number,
  address: string,
  requestId: string,
  staff: StaffClaim | null,
]

/** Null if the request cannot be made again from what its head says. */
export function callHeadText(
  request: Request,
  { cell, term }: Peer,
  { address, requestId, staff = undefined }: ForwardedCall,
  body: OutgoingBody & { kind: 'whole' },
): string | null {
  const { method, url } = request
  // The server of HTTP also takes a host of which there is no URL.
  if (!METHODS.has(method) || !URL.canParse(url)) return null
  const fragment = url.indexOf('#')
  const target = fragment < 0 ? url : url.slice(0, fragment)
  const headers = passedHeaders(request, body)
  return JSON.stringify([method, target, headers, cell, term, address, requestId, staff ?? null] satisfies Written)
}

/** Throws if it is no head. */
export function callHeadIn(text: string): CallHead {
  const [method, url, headers, cell, term, address, requestId, staff] = JSON.parse(text) as Written
  if (typeof url !== 'string' || typeof term !== 'number' || typeof address !== 'string')
    throw new Error('the head of a call is incomplete')
  return { method, url, headers, hop: { cell, term, address, requestId, ...(staff && { staff }) } }
}
