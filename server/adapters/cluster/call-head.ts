import type { CellName, StaffClaim } from '../../core/cluster/cells'
import type { ForwardedCall, Hopped, Peer } from '../../core/cluster/hop'
import { type OutgoingBody, passedHeaders } from './outgoing-request'

/** A forwarded request on a link, without its body, and what the node knows about it. The link authenticates the node, so nothing is signed. */
export interface CallHead {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly hop: Hopped
}

/** Without HEAD, whose content length only HTTP can carry, and TRACE, for which `Request` does not exist. */
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

/** Null if the request cannot be reconstructed from its head. */
export function callHeadText(
  request: Request,
  { cell, term }: Peer,
  { address, requestId, staff = undefined }: ForwardedCall,
  body: OutgoingBody & { kind: 'whole' },
): string | null {
  const { method, url } = request
  // The HTTP server also accepts hosts that are not valid in a URL.
  if (!METHODS.has(method) || !URL.canParse(url)) return null
  const fragment = url.indexOf('#')
  const target = fragment < 0 ? url : url.slice(0, fragment)
  const headers = passedHeaders(request, body)
  return JSON.stringify([method, target, headers, cell, term, address, requestId, staff ?? null] satisfies Written)
}

/** Throws if the text is not a head. */
export function callHeadIn(text: string): CallHead {
  const [method, url, headers, cell, term, address, requestId, staff] = JSON.parse(text) as Written
  if (typeof url !== 'string' || typeof term !== 'number' || typeof address !== 'string')
    throw new Error('the head of a call is incomplete')
  return { method, url, headers, hop: { cell, term, address, requestId, ...(staff && { staff }) } }
}
