import type { CellMessage } from '../../core/cluster/cell-messages'

/** The command by which the gateway of one cell tells another something. It comes over the control socket or a signed hop, as operators' commands do. */
export const CELL_MESSAGE = 'cell-message'

/** Handles messages of other cells, and all else by `control`. */
export function withMessages(
  control: (request: Request) => Promise<Response>,
  receive: (message: CellMessage) => Promise<void>,
): (request: Request) => Promise<Response> {
  return async (request) => {
    if (new URL(request.url).pathname !== `/${CELL_MESSAGE}`) return control(request)
    // It is this program's: only a node with the same secret, or the owner of the socket, can send it.
    await receive((await request.json()) as CellMessage)
    return new Response(null, { status: 204 })
  }
}
