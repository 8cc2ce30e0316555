import type { Static, TObject } from '@sinclair/typebox'
import type { Actor } from '../../core/audit'
import { type Failure, failure } from '../../core/failure'
import type { Result } from '../../core/result'
import {
  type OwnerSessions,
  SIGNED_IN_JUST_NOW,
  SIGNED_IN_TODAY,
  type SignedInUser,
} from '../middleware/caller/owner-session'
import { readBody } from '../middleware/input/validate-body'
import type { RequestContext } from '../middleware/request-context'
import { Failed, taken } from '../middleware/response/failures'

type Gate = (context: RequestContext) => Promise<SignedInUser>

/** Restricts the actions of the operator's pages to operators or to all staff, and records them in the audit log. */
export function operatorGate(owners: OwnerSessions) {
  /** Throws if the owner is not an operator, or for a write without a recent sign-in. */
  const operator = async (context: RequestContext, writesWithinMs = SIGNED_IN_TODAY): Promise<SignedInUser> => {
    const asking = await signedIn(owners, context, writesWithinMs)
    if (asking.role !== 'operator')
      throw new Failed(failure('insufficient_permissions', 'Only operators of this gateway can do this.'))
    return asking
  }
  /** The same for operators and support, for what needs neither money, prices nor secrets. */
  const staff: Gate = async (context) => {
    const asking = await signedIn(owners, context, SIGNED_IN_TODAY)
    if (asking.role !== 'operator' && asking.role !== 'support')
      throw new Failed(failure('insufficient_permissions', 'Only operators and support of this gateway can do this.'))
    return asking
  }
  return {
    operator,
    /** The operator, as the actor of what the route does. */
    actorOf: async (context: RequestContext) => asOperator(await operator(context)),
    staff,
    order: commandOf((context) => operator(context)),
    /** A command that also support may run. */
    staffOrder: commandOf(staff),
    /** A command that cannot be undone, or that makes operators: it needs a sign-in of the last ten minutes. */
    graveOrder: commandOf((context) => operator(context, SIGNED_IN_JUST_NOW)),
  }
}

function signedIn(owners: OwnerSessions, context: RequestContext, writesWithinMs: number): Promise<SignedInUser> {
  const { method } = context.request
  return owners.staff(context, method === 'GET' || method === 'HEAD' ? undefined : writesWithinMs)
}

function asOperator({ actor }: SignedInUser): Actor {
  return { ...actor, kind: 'operator' }
}

/** Runs one command with the request's body, validated by its schema. A missing body counts as empty. */
function commandOf(gate: Gate) {
  return async <T extends TObject, R>(
    context: RequestContext,
    schema: T,
    run: (actor: Actor, form: Static<T>) => Promise<Result<R, Failure>>,
  ): Promise<R> => {
    const actor = asOperator(await gate(context))
    const form = await readBody(schema, context, {})
    return taken(await run(actor, form))
  }
}
