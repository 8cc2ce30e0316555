import type { Static, TObject } from '@sinclair/typebox'
import type { Account } from '../../core/accounts/account'
import type { Identity } from '../../core/accounts/identity'
import type { AccountStore } from '../../core/accounts/store'
import { type Actor, CONSOLE } from '../../core/audit'
import { type Failure, failure } from '../../core/failure'
import type { AccountId } from '../../core/ids'
import { err, ok, type Result } from '../../core/result'
import { type OwnerSessions, SIGNED_IN_AT_ANY_TIME, SIGNED_IN_TODAY } from '../middleware/caller/owner-session'
import type { BodySize } from '../middleware/input/json-body'
import { readBody } from '../middleware/input/validate-body'
import { Failed, taken } from '../middleware/response/failures'
import { UNDOCUMENTED } from '../openapi/documented'
import { ApiAccess, allowed, type Id } from '../routing/api-access'
import { UNKNOWN_ENDPOINT } from '../routing/endpoint-table'

const REFUSALS = {
  operator: 'Only operators of this gateway can do this.',
  staff: 'Only operators and support of this gateway can do this.',
}

/** The caller of a route of operators. */
type OperatorAccess = ApiAccess<{ readonly actor: Actor }>

export type CommandResult<T> = Promise<Result<T, Failure>>

/**
 * Who may call a route of operators: the control socket, and people who are signed in. Each of these needs the second factor that its
 * caller has or must have, because operators read personal data of others. Each write also needs a recent sign-in: of today, or of the
 * last ten minutes (`SIGNED_IN_JUST_NOW`) if it cannot be undone or makes operators.
 */
export function operatorRoles(owners: OwnerSessions) {
  const accessOf = (who: 'operator' | 'staff', withinMs = SIGNED_IN_TODAY): OperatorAccess =>
    new ApiAccess(who, withinMs, async (context) => {
      if (context.origin.isConsole) return { actor: CONSOLE }
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

/** Of routes that reach files or secrets of the machine. Over the network they are unknown; a wrong method of theirs is a 405, as anywhere. */
export const CONSOLE_ONLY: OperatorAccess = new ApiAccess('console', null, ({ origin }) => {
  if (!origin.isConsole) throw new Failed(UNKNOWN_ENDPOINT.failure)
  return { actor: CONSOLE }
})

/** A route that runs one command with the request's body, validated by its schema. A missing body counts as empty. */
export function command<T extends TObject, R, Params>(
  access: OperatorAccess,
  schema: T,
  run: (actor: Actor, form: Static<T>, params: Params) => Promise<Result<R, Failure>>,
  size?: BodySize,
) {
  return allowed(access, UNDOCUMENTED, async ({ actor, context }, params: Params) =>
    taken(await run(actor, await readBody(schema, context, {}, size), params)),
  )
}

export interface AccountParts {
  readonly accounts: AccountStore
  readonly identity: Identity
}

/** The same for a command about the account that the path names. */
export function accountCommand<T extends TObject, R, Params extends Id>(
  parts: AccountParts,
  access: OperatorAccess,
  schema: T,
  run: (actor: Actor, account: Account, form: Static<T>, params: Params) => Promise<Result<R, Failure>>,
) {
  return command(access, schema, async (actor, form, params: Params) => {
    const account = await findAccount(parts, params.id)
    return account.ok ? run(actor, account.value, form, params) : account
  })
}

/** An account by its id, or by its confirmed email address: anybody can sign up with another person's address. */
export async function findAccount({ accounts, identity }: AccountParts, name: string): CommandResult<Account> {
  const byId = await accounts.byId(name as AccountId) // any text: an id that does not exist is found nowhere
  if (byId) return ok(byId)
  const user = name.includes('@') ? await identity.userByEmail(name) : null
  const account = user && (await accounts.byUser(user.id))
  if (!account) return err(failure('resource_not_found', `The account ${name.slice(0, 100)} does not exist.`))
  if (user.emailConfirmed) return ok(account)
  const rule = 'This email address was never confirmed, so it does not prove whose account this is'
  return err(
    failure('invalid_parameter', `${rule}. If you know that ${account.id} is the right one, use that id.`, {
      param: 'account',
    }),
  )
}
