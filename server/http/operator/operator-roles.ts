import type { Static, TObject } from '@sinclair/typebox'
import type { Actor } from '../../core/audit'
import { type Failure, failure } from '../../core/failure'
import type { Result } from '../../core/result'
import { type OwnerSessions, SIGNED_IN_AT_ANY_TIME, SIGNED_IN_TODAY } from '../middleware/caller/owner-session'
import { readBody } from '../middleware/input/validate-body'
import { Failed, taken } from '../middleware/response/failures'
import { UNDOCUMENTED } from '../openapi/documented'
import { ApiAccess, allowed } from '../routing/api-access'

const REFUSALS = {
  operator: 'Only operators of this gateway can do this.',
  staff: 'Only operators and support of this gateway can do this.',
}

/**
 * Who may call a route of operators. Each needs the second factor that its caller has or must have: what
 * operators read is personal data of others. Each write also needs a recent sign-in: of today, or of the last ten minutes
 * (`SIGNED_IN_JUST_NOW`) if it cannot be undone or makes operators.
 */
export function operatorRoles(owners: OwnerSessions) {
  const accessOf = (who: 'operator' | 'staff', withinMs = SIGNED_IN_TODAY) =>
    new ApiAccess<{ readonly actor: Actor }>(who, withinMs, async (context) => {
      const { method } = context.request
      const isRead = method === 'GET' || method === 'HEAD'
      const { role, actor } = await owners.user(context, isRead ? SIGNED_IN_AT_ANY_TIME : withinMs)
      if (role !== 'operator' && (who === 'operator' || role !== 'support'))
        throw new Failed(failure('insufficient_permissions', REFUSALS[who]))
      return { actor: { ...actor, kind: 'operator' } }
    })
  return {
    operator: (withinMs?: number) => accessOf('operator', withinMs),
    /** Operators and support, for what needs neither money, prices nor secrets. */
    staff: () => accessOf('staff'),
  }
}

/** A route that runs one command with the request's body, validated by its schema. A missing body counts as empty. */
export function command<T extends TObject, R, Params>(
  access: ApiAccess<{ readonly actor: Actor }>,
  schema: T,
  run: (actor: Actor, form: Static<T>, params: Params) => Promise<Result<R, Failure>>,
) {
  return allowed(access, UNDOCUMENTED, async ({ actor, context }, params: Params) =>
    taken(await run(actor, await readBody(schema, context, {}), params)),
  )
}
