import { failure } from '../../core/failure'
import { Failed, taken } from '../middleware/failures'
import { readJson } from '../middleware/json-body'
import { type Owner, type OwnerSessions, SIGNED_IN_TODAY } from '../middleware/owner-session'
import type { RequestContext } from '../middleware/request-context'
import { type CommandBody, type OperatorCommand, type OperatorParts, operatorCommands } from './operator-commands'

/** Lets operators alone through to what the Operator page does, and names them in the audit. */
export function operatorGate(parts: OperatorParts, owners: OwnerSessions) {
  /** Throws for who is no operator, and for a write of a session that is not from today. */
  const operator = async (context: RequestContext): Promise<Owner> => {
    const { request } = context
    const writes = request.method !== 'GET' && request.method !== 'HEAD'
    const owner = await owners.owner(context, writes ? SIGNED_IN_TODAY : undefined)
    if (!owner.account.operator)
      throw new Failed(failure('insufficient_permissions', 'Only operators of this gateway can do this.'))
    return owner
  }
  return {
    operator,
    /** Runs one command with the request's body; `more` goes before what the body says. */
    async order(context: RequestContext, name: OperatorCommand, more: CommandBody) {
      const { actor } = await operator(context)
      const body: unknown = taken(await readJson(context)) ?? {}
      if (typeof body !== 'object' || body === null || Array.isArray(body))
        throw new Failed(failure('invalid_parameter', 'The body must be a JSON object.'))
      const commands = operatorCommands(parts, { ...actor, kind: 'operator' })
      return taken(await commands[name]({ ...body, ...more }))
    },
  }
}
