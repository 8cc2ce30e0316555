import type { Static, TObject } from '@sinclair/typebox'
import type { Actor } from '../../core/audit'
import { type Failure, failure } from '../../core/failure'
import type { Result } from '../../core/result'
import { type OwnerSessions, SIGNED_IN_AT_ANY_TIME, SIGNED_IN_TODAY } from '../middleware/caller/owner-session'
import { readBody } from '../middleware/input/validate-body'
import { Failed, taken } from '../middleware/response/failures'
import { UNDOCUMENTED } from '../openapi/documented'
import { allowed } from '../routing/api-access'
import { type CellTarget, OperatorAccess } from './cells/cell-routing'

const REFUSALS = {
  operator: 'Only operators of this gateway can do this.',
  staff: 'Only operators and support of this gateway can do this.',
}

/**
 * Who may call a route of operators, and which cells answer it. Each needs the second factor that its caller has or must have: what
 * operators read is personal data of others. Each write also needs a recent sign-in: of today, or of the last ten minutes
 * (`SIGNED_IN_JUST_NOW`) if it cannot be undone or makes operators.
 */
export function operatorRoles(owners: OwnerSessions) {
  const accessOf = (who: 'operator' | 'staff', cells: CellTarget, withinMs = SIGNED_IN_TODAY) =>
    new OperatorAccess(who, withinMs, cells, async (context) => {
      const { method } = context.request
      const isRead = method === 'GET' || method === 'HEAD'
      const { role, actor } = await owners.staff(context, isRead ? SIGNED_IN_AT_ANY_TIME : withinMs)
      if (role !== 'operator' && (who === 'operator' || role !== 'support'))
        throw new Failed(failure('insufficient_permissions', REFUSALS[who]))
      return { actor: { ...actor, kind: 'operator' } }
    })
  return {
    operator: (cells: CellTarget, withinMs?: number) => accessOf('operator', cells, withinMs),
    /** Operators and support, for what needs neither money, prices nor secrets. */
    staff: (cells: CellTarget) => accessOf('staff', cells),
  }
}

/** A route that runs one command with the request's body, validated by its schema. A missing body counts as empty. */
export function command<T extends TObject, R, Params>(
  access: OperatorAccess,
  schema: T,
  run: (actor: Actor, form: Static<T>, params: Params) => Promise<Result<R, Failure>>,
) {
  return allowed(access, UNDOCUMENTED, async ({ actor, context }, params: Params) =>
    taken(await run(actor, await readBody(schema, context, {}), params)),
  )
}
