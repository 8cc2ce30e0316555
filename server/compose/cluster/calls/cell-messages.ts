import { type CellMessage, type CellMessages, CellSilent } from '../../../core/cluster/cell-messages'
import type { NodeCellCalls } from './cell-calls'

/** The command by which the gateway of one cell tells another something. It comes over the control socket or a signed hop, as operators' commands do. */
const CELL_MESSAGE = 'cell-message'

/** The status of the answer to a message that says something wrong. */
const REFUSED = 403

/** The command by which another cell's gateway asks the one of `main` to bring a payment to the chain. It comes in the same way. */
export const RELAY = 'relay'

interface OfOtherCells {
  /** Resolves to whether it accepts what the message says. */
  readonly receive: (message: CellMessage) => Promise<boolean>
  /** Does what the relayer is asked, and resolves to its answer as JSON. */
  readonly relay: (asked: unknown) => Promise<object>
}

/** Handles what other cells tell and ask, and all else by `control`. */
export function withMessages(
  control: (request: Request) => Promise<Response>,
  { receive, relay }: OfOtherCells,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const { pathname } = new URL(request.url)
    // They are this program's: only a node with the same secret, or the owner of the socket, can send them.
    if (pathname === `/${RELAY}`) return Response.json(await relay(await request.json()))
    if (pathname !== `/${CELL_MESSAGE}`) return control(request)
    const isAccepted = await receive((await request.json()) as CellMessage)
    return new Response(null, { status: isAccepted ? 204 : REFUSED })
  }
}

/** How the gateways of a node send messages to each other and to those of other nodes. */
export function messagesOver(calls: Pick<NodeCellCalls, 'command'>): CellMessages {
  return {
    async send(cell, message) {
      const answer = await calls.command(cell, CELL_MESSAGE, JSON.stringify(message))
      await answer.body?.cancel()
      if (!answer.ok && answer.status !== REFUSED) throw new CellSilent(`the cell ${cell} answered ${answer.status}`)
      return answer.ok
    },
  }
}
