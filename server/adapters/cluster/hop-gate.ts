import type { CellName } from '../../core/cluster/cells'
import { HOP_HEADER, type Hopped, type HopSigner, OPERATOR } from '../../core/cluster/hop'
import { requestPath } from './hop-header'

/** Asks whether a node is the owner, before a body that cannot be sent twice. */
export const PROBE_PATH = '/internal/owner'
/** In the hop header of a response: the node did nothing with the request. An upstream's own 421 has no such header. */
export const MISDIRECTED = 'misdirected'

/**
 * What a node of many does with a request first, before it reads a body or counts anything: null if it came from a caller, what the
 * forwarding node knows about it if it is for this owner, or the response that ends it. `ownTerm`: null for a cell that this node does not own.
 *
 * A hop header that proves nothing is refused, never ignored: without it the request would be forwarded again, or have the address of the
 * node that forwarded it.
 */
export function hopOf(
  request: Request,
  signer: HopSigner,
  now: number,
  ownTerm: (cell: CellName) => number | null,
): Hopped | Response | null {
  const hopped = signer.verified(request, now)
  if (hopped === null) return null
  if (hopped === 'forged') return misdirected('The hop header is not one that a node of this gateway has just signed.')
  if (hopped.term !== ownTerm(hopped.cell)) return misdirected('This node does not own the accounts now.')
  // A caller's own request to that path is one like any other.
  if (hopped.address === OPERATOR && requestPath(request.url) === PROBE_PATH) return new Response(null, { status: 204 })
  return hopped
}

function misdirected(message: string): Response {
  const error = { type: 'api_error', code: 'service_unavailable', message, request_id: null, retry_after: 1 }
  return Response.json(
    { error },
    { status: 421, headers: { [HOP_HEADER]: MISDIRECTED, 'retry-after': '1', 'x-content-type-options': 'nosniff' } },
  )
}
