import type { Actor } from '../../core/audit'
import { failure } from '../../core/failure'
import { err, ok } from '../../core/result'
import { FAILURES } from '../middleware/failures'
import type { Intake } from '../middleware/intake'
import { readJson } from '../middleware/json-body'
import { type ModelCommandParts, modelCommands } from '../models/model-commands'
import type { Readiness } from '../system/readiness'
import { type Command, type OperatorParts, operatorCommands } from './operator-commands'

/** The control socket in the data folder. Access to the folder is what makes a user an operator here. */
export const CONTROL_SOCKET = 'control.sock'

const CONSOLE: Actor = { kind: 'operator', id: 'console', address: null }

/** Handles operator commands (`bun run gateway operator ...`), which reach the running server over its control socket. */
export function controlDesk(
  parts: OperatorParts &
    ModelCommandParts & {
      /** Network details for a wallet on this machine; null if no payment method is configured. */
      readonly network: () => Promise<unknown>
      readonly intake: Intake
      readonly readiness: Readiness
    },
): (request: Request) => Promise<Response> {
  const commands = new Map(
    Object.entries<Command>({ ...operatorCommands(parts, CONSOLE), ...modelCommands(parts, CONSOLE) }),
  )
  // Not operator commands over HTTP: available only over the socket.
  commands.set('payments', async () => ok({ network: await parts.network() }))
  commands.set('ready', async () =>
    ok({ status: await parts.readiness.status(), ...(await parts.readiness.details()) }),
  )
  return async (request) => {
    const name = new URL(request.url).pathname.slice(1)
    const command = commands.get(name)
    const body = await readJson({ request, intake: parts.intake, bodyOwner: 'address control socket' })
    const outcome = !command
      ? err(failure('unknown_endpoint', `There is no operator command "${name}".`))
      : body.ok
        ? await command(Object(body.value ?? {}))
        : body
    if (outcome.ok) return Response.json(outcome.value)
    const { code, message } = outcome.error
    return Response.json({ error: { code, message } }, { status: FAILURES[code].status })
  }
}
