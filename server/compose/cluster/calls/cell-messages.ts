import { type CellMessage, type CellMessages, CellSilent } from '../../../core/cluster/cell-messages'
import type { NodeCellCalls } from './cell-calls'

/** The command that carries a message from the gateway of one cell to another's. Like operators' commands, it arrives over the control socket or a signed hop. */
const CELL_MESSAGE = 'cell-message'

/** The status of the answer to a message that is not accepted. */
const REFUSED = 403

/** The command by which another cell's gateway asks the one of `main` to send a payment to the chain. It arrives in the same way. */
export const RELAY = 'relay'

interface OfOtherCells {
  /** Resolves to whether it accepts the message. */
  readonly receive: (message: CellMessage) => Promise<boolean>
  /** Runs a request to the relayer, and resolves to its answer as JSON. */
  readonly relay: (asked: unknown) => Promise<object>
}

/** Handles messages and relay requests of other cells, and passes everything else to `control`. */
export function withMessages(
  control: (request: Request) => Promise<Response>,
  { receive, relay }: OfOtherCells,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const { pathname } = new URL(request.url)
    // Both are trusted: only a node with the same secret, or the owner of the socket, can send them.
    if (pathname === `/${RELAY}`) return Response.json(await relay(await request.json()))
    if (pathname !== `/${CELL_MESSAGE}`) return control(request)
    const isAccepted = await receive((await request.json()) as CellMessage)
    return new Response(null, { status: isAccepted ? 204 : REFUSED })
  }
}

/** Sends messages between the gateways of this node, and to those of other nodes. */
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
