import type { CellName } from '../../core/cluster/cells'
import { HOP_HEADER, type Hopped, type HopSigner, OPERATOR } from '../../core/cluster/hop'
import { requestPath } from './hop-header'

/** Asks whether a node is the owner before sending a body that cannot be sent twice. */
export const PROBE_PATH = '/internal/owner'
/** Opens a link, whose calls are not signed, to a node that need not own anything. Each version of the frame format has its own path. */
export const LINK_PATH = '/internal/link/2'
/** Asks a node to prepare a cell that it does not own yet. */
export const PREPARE_PATH = '/internal/cell/prepare'
/** The hop header of a response whose node did nothing with the request. An upstream's own 421 has no such header. */
export const MISDIRECTED = 'misdirected'

/** Whether this node owns a cell under this term. */
export type IsMeant = (cell: CellName, term: number) => boolean

/**
 * The first check of a request on one of many nodes, before its body is read or anything is counted. Returns null for a caller's request, the content of
 * the hop if this node is the right owner, or the response that refuses it. `isMeant`: whether this node owns the cell under a term.
 *
 * An invalid hop header is refused, never ignored: otherwise the request would be forwarded again, or have the address of the forwarding node.
 */
export function hopOf(request: Request, signer: HopSigner, now: number, isMeant: IsMeant): Hopped | Response | null {
  const hopped = signer.verified(request, now)
  if (hopped === null) return null
  if (hopped === 'forged') return misdirected('The hop header was not signed recently by a node of this gateway.')
  // A caller's own requests to these paths are ordinary requests.
  const path = hopped.address === OPERATOR ? requestPath(request.url) : null
  if (path === LINK_PATH || path === PREPARE_PATH) return hopped
  return hopRefusal(hopped, isMeant) ?? hopped
}

/** The response to a request for a different owner; null if this node is the right one. */
export function hopRefusal({ cell, term }: Hopped, isMeant: IsMeant): Response | null {
  return isMeant(cell, term) ? null : misdirected('This node does not own the accounts now.')
}

/** Whether another node asks for a link. */
export function asksForLink(request: Request, { address }: Hopped): boolean {
  return address === OPERATOR && requestPath(request.url) === LINK_PATH
}

/** The answer to `PROBE_PATH` from a node that certainly owns the cell; null for any other request. */
export function probeAnswer(request: Request, { address }: Hopped): Response | null {
  return address === OPERATOR && requestPath(request.url) === PROBE_PATH ? new Response(null, { status: 204 }) : null
}

/** Whether another node asks this one, the next owner of a cell, to prepare it. */
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
