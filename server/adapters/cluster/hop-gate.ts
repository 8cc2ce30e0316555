import type { CellName } from '../../core/cluster/cells'
import { HOP_HEADER, type Hopped, type HopSigner, OPERATOR } from '../../core/cluster/hop'
import { requestPath } from './hop-header'

/** Asks whether a node is the owner, before a body that cannot be sent twice. */
export const PROBE_PATH = '/internal/owner'
/** Opens a link, on which no call is signed, to a node that need not own anything. A later form of frames has another path. */
export const LINK_PATH = '/internal/link/2'
/** Asks a node to prepare a cell, which it need not own. */
export const PREPARE_PATH = '/internal/cell/prepare'
/** In the hop header of a response: the node did nothing with the request. An upstream's own 421 has no such header. */
export const MISDIRECTED = 'misdirected'

/** Whether this node owns a cell under this term. */
export type IsMeant = (cell: CellName, term: number) => boolean

/**
 * What a node of many does with a request first, before it reads a body or counts anything: null if it came from a caller, what the
 * forwarding node knows about it if it is for this owner, or the response that ends it. `isMeant`: whether this node owns the cell under a term.
 *
 * A hop header that proves nothing is refused, never ignored: without it the request would be forwarded again, or have the address of the
 * node that forwarded it.
 */
export function hopOf(request: Request, signer: HopSigner, now: number, isMeant: IsMeant): Hopped | Response | null {
  const hopped = signer.verified(request, now)
  if (hopped === null) return null
  if (hopped === 'forged') return misdirected('The hop header is not one that a node of this gateway has just signed.')
  // A caller's own request to these paths is one like any other.
  const path = hopped.address === OPERATOR ? requestPath(request.url) : null
  if (path === LINK_PATH || path === PREPARE_PATH) return hopped
  return refusalOf(hopped, isMeant) ?? hopped
}

/** The response to a request for another owner than this one; null if it is for this one. */
export function refusalOf({ cell, term }: Hopped, isMeant: IsMeant): Response | null {
  return isMeant(cell, term) ? null : misdirected('This node does not own the accounts now.')
}

/** Whether another node asks for a link. */
export function asksForLink(request: Request, { address }: Hopped): boolean {
  return address === OPERATOR && requestPath(request.url) === LINK_PATH
}

/** The answer to `PROBE_PATH`, of a node that owns the cell for certain; null to any other request. */
export function probeAnswer(request: Request, { address }: Hopped): Response | null {
  return address === OPERATOR && requestPath(request.url) === PROBE_PATH ? new Response(null, { status: 204 }) : null
}

/** Whether the next owner of a cell is asked to prepare it. */
export function asksToPrepare(request: Request, { address }: Hopped): boolean {
  return address === OPERATOR && requestPath(request.url) === PREPARE_PATH
}

function misdirected(message: string): Response {
  const error = { type: 'api_error', code: 'service_unavailable', message, request_id: null, retry_after: 1 }
  return Response.json(
    { error },
    { status: 421, headers: { [HOP_HEADER]: MISDIRECTED, 'retry-after': '1', 'x-content-type-options': 'nosniff' } },
  )
}
