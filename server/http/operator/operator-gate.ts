import { failure } from '../../core/failure'
import { Failed, taken } from '../middleware/failures'
import { readJson } from '../middleware/json-body'
import { type Owner, type OwnerSessions, SIGNED_IN_TODAY } from '../middleware/owner-session'
import type { RequestContext } from '../middleware/request-context'
import { type CommandBody, type OperatorCommand, type OperatorParts, operatorCommands } from './operator-commands'

/** Restricts the actions of the Operator page to operators, and records them in the audit log. */
export function operatorGate(parts: OperatorParts, owners: OwnerSessions) {
  /** Throws if the owner is not an operator, or for a write without a recent sign-in. */
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
    /** Runs one command with the request's body; `more` overrides the body. */
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
