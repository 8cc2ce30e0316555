import type { Static, TObject } from '@sinclair/typebox'
import type { Actor } from '../../core/audit'
import { type Failure, failure } from '../../core/failure'
import type { Result } from '../../core/result'
import { Failed, taken } from '../middleware/failures'
import { type Owner, type OwnerSessions, SIGNED_IN_TODAY } from '../middleware/owner-session'
import type { RequestContext } from '../middleware/request-context'
import { readBody } from '../middleware/validate-body'

/** Restricts the actions of the Operator page to operators, and records them in the audit log. */
export function operatorGate(owners: OwnerSessions) {
  /** Throws if the owner is not an operator, or for a write without a recent sign-in. */
  const operator = async (context: RequestContext, writesWithinMs = SIGNED_IN_TODAY): Promise<Owner> => {
    const { request } = context
    const writes = request.method !== 'GET' && request.method !== 'HEAD'
    const owner = await owners.owner(context, writes ? writesWithinMs : undefined)
    if (!owner.account.operator)
      throw new Failed(failure('insufficient_permissions', 'Only operators of this gateway can do this.'))
    return owner
  }
  return {
    operator,
    /** Runs one command with the request's body, validated by its schema. A missing body counts as empty. */
    async order<T extends TObject, R>(
      context: RequestContext,
      schema: T,
      run: (actor: Actor, form: Static<T>) => Promise<Result<R, Failure>>,
    ): Promise<R> {
      const { actor } = await operator(context)
      const form = await readBody(schema, context, {})
      return taken(await run({ ...actor, kind: 'operator' }, form))
    },
  }
}
