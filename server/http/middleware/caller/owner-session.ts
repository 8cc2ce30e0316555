import { type Account, roleFlags, type StaffRole, staffRole, suspensionProblem } from '../../../core/accounts/account'
import type { Identity, OwnerSession, SecondFactorPolicy } from '../../../core/accounts/identity'
import type { KeyOwner } from '../../../core/accounts/keys'
import { type MemberStore, roleIn } from '../../../core/accounts/members'
import { type ActingMember, mayDo, type Right, type Role } from '../../../core/accounts/roles'
import type { SignUp } from '../../../core/accounts/sign-up'
import type { AccountStore } from '../../../core/accounts/store'
import type { Actor } from '../../../core/audit'
import { HOUR_MS, MINUTE_MS } from '../../../core/clock'
import { formatAddress } from '../../../core/credentials/address'
import { failure } from '../../../core/failure'
import type { AccountId } from '../../../core/ids'
import type { Ledger } from '../../../core/ledger/ledger'
import { ZERO } from '../../../core/money'
import type { RequestContext } from '../request-context'
import { Failed } from '../response/failures'
import type { RequestBudgets } from './request-budgets'

/** A signed-in member of a workspace. */
export interface Owner extends KeyOwner {
  /** The workspace. It has a staff role only for the user whose own it is. */
  readonly account: Account
  readonly member: ActingMember
  readonly email: string
  readonly name: string
  readonly sessionId: string
}

/** Somebody who is signed in to the dashboard, customer or staff. */
export interface SignedInUser {
  readonly userId: string
  readonly sessionId: string
  /** The user's own. */
  readonly accountId: AccountId
  readonly email: string
  readonly name: string
  /** Null for a customer. */
  readonly role: StaffRole | null
  readonly signedInAt: number
  readonly secondFactor: boolean
  readonly actor: Actor
}

/** Maximum age of a sign-in, in milliseconds: to create keys and act as operator, and to change how the owner signs in. */
export const SIGNED_IN_TODAY = 12 * HOUR_MS
export const SIGNED_IN_JUST_NOW = 10 * MINUTE_MS
/** Only the second factor is asked for. */
export const SIGNED_IN_AT_ANY_TIME = Number.POSITIVE_INFINITY

/** Names the workspace that a request is about, in place of the one that the session shows. */
const WORKSPACE_HEADER = 'x-workspace'
const NOT_A_MEMBER = failure('not_a_member', 'You are not a member of this workspace.')

interface OwnerSessionParts {
  readonly identity: Identity
  readonly signUp: SignUp
  readonly accounts: Pick<AccountStore, 'byId' | 'byUser'>
  readonly members: Pick<MemberStore, 'of'>
  readonly ledger: Ledger
  readonly ownOrigins: ReadonlySet<string>
  readonly secondFactors: SecondFactorPolicy
  readonly budgets: RequestBudgets
}

/** What a route asks of the caller's role: a right, or only to be a member. */
export type Asked = Right | 'member'

/** Finds the member behind a dashboard request: the user of the session cookie, the workspace that it is about, and the role there. */
export class OwnerSessions {
  private readonly parts: OwnerSessionParts

  constructor(parts: OwnerSessionParts) {
    this.parts = parts
  }

  /**
   * Throws `missing_session`, `foreign_origin` for a write caused by another site, `not_a_member` of a workspace that the request names,
   * `insufficient_permissions` if the role in the workspace lacks what is asked, or `recent_sign_in_required` if the sign-in is older
   * than `withinMs`. Where that is asked, a sign-in without the second factor that the user has or must have is
   * `second_factor_required`. Ignores API keys.
   */
  async owner(context: RequestContext, asked: Asked = 'member', withinMs?: number): Promise<Owner> {
    const session = await this.sessionOf(context)
    const address = formatAddress(context.address)
    const { account, role } = await this.workspaceOf(session, context)
    refuseRole(role, asked)
    requireRecent(session.sessionCreatedAt, context, withinMs)
    if (withinMs !== undefined) await this.requireSecondFactor(session, await this.staffFlags(session))
    context.countOn(account.id)
    this.parts.budgets.countOn(context, account.id)
    const balance = await this.parts.ledger.balance(account.id)
    return {
      account,
      accountId: account.id,
      member: { userId: session.userId, role },
      sessionId: session.id,
      email: session.email,
      name: session.name,
      tier: { ...account, toppedUp: balance?.toppedUp ?? ZERO },
      actor: { kind: 'owner', id: session.userId, address },
    }
  }

  /**
   * The same for routes that read no balance: of operators, and to change how an owner signs in or to connect an app. `isSettingUp`: who
   * has no second factor may set up the first.
   */
  async user(context: RequestContext, withinMs?: number, isSettingUp = false): Promise<SignedInUser> {
    const user = await this.signedInUser(context)
    requireRecent(user.signedInAt, context, withinMs)
    if (withinMs !== undefined) await this.requireSecondFactor(user, roleFlags(user.role), isSettingUp)
    context.countOn(user.accountId)
    this.parts.budgets.countOn(context, user.accountId)
    return user
  }

  private async signedInUser(context: RequestContext): Promise<SignedInUser> {
    const session = await this.sessionOf(context)
    const account = await this.accountOf(session, context)
    const { userId, email, name, sessionCreatedAt: signedInAt, secondFactor } = session
    return {
      userId,
      sessionId: session.id,
      accountId: account.id,
      email,
      name,
      role: staffRole(account),
      signedInAt,
      secondFactor,
      actor: { kind: 'owner', id: userId, address: formatAddress(context.address) },
    }
  }

  private async sessionOf(context: RequestContext): Promise<OwnerSession> {
    const { request } = context
    // Of a route that is not counted, such as `/ready`, a session still costs a look-up.
    this.parts.budgets.count(context, 1)
    if (request.method !== 'GET' && request.method !== 'HEAD') this.refuseForeign(request.headers)
    const session = await this.parts.identity.session(request.headers)
    if (session) return session
    this.parts.budgets.forget(context)
    throw new Failed(failure('missing_session', 'You are not signed in. Sign in and try again.'))
  }

  /** The workspace that the request names, or that the session shows, or the user's own, which is opened if it is missing. */
  private async workspaceOf(
    session: OwnerSession,
    context: RequestContext,
  ): Promise<{ readonly account: Account; readonly role: Role }> {
    const named = context.request.headers.get(WORKSPACE_HEADER)
    const memberships = await this.parts.members.of(session.userId)
    const of = (id: string | null) => memberships.find(({ accountId }) => accountId === id)
    const chosen = named === null ? (of(session.workspace) ?? memberships[0]) : of(named)
    if (named !== null && !chosen) throw new Failed(NOT_A_MEMBER)
    const account = chosen && (await this.parts.accounts.byId(chosen.accountId))
    if (!account) return { account: await this.accountOf(session, context), role: 'owner' }
    const suspended = suspensionProblem(account)
    if (suspended) throw new Failed(suspended)
    const isOwn = account.userId === session.userId
    return { account: isOwn ? account : { ...account, ...roleFlags(null) }, role: chosen.role }
  }

  private async staffFlags({ userId }: OwnerSession): Promise<Pick<Account, 'operator' | 'support'>> {
    return (await this.parts.accounts.byUser(userId)) ?? roleFlags(null)
  }

  /** A user's own account, which is opened if it is missing. Throws if it is suspended. */
  private async accountOf({ userId }: OwnerSession, context: RequestContext): Promise<Account> {
    const { isFromThisMachine } = context
    const account = await this.parts.signUp.openAccount(userId, {
      address: formatAddress(context.address),
      isFromThisMachine,
    })
    if (!account)
      throw new Failed(
        failure('service_unavailable', 'Your account could not be loaded. Try again.', { retryAfterSeconds: 1 }),
      )
    const suspended = suspensionProblem(account)
    if (suspended) throw new Failed(suspended)
    return account
  }

  requiresSecondFactor(account: Pick<Account, 'operator' | 'support'>): boolean {
    return (
      this.parts.secondFactors === 'all' || (this.parts.secondFactors === 'operators' && staffRole(account) !== null)
    )
  }

  private async requireSecondFactor(
    session: Pick<OwnerSession, 'userId' | 'secondFactor'>,
    account: Pick<Account, 'operator' | 'support'>,
    isSettingUp = false,
  ): Promise<void> {
    if (session.secondFactor) return
    const { app, passkeys } = await this.parts.identity.secondFactors(session.userId)
    const hasOne = app || passkeys > 0
    if (!hasOne && (isSettingUp || !this.requiresSecondFactor(account))) return
    const message = hasOne
      ? 'This action requires a sign-in with your second factor. Sign in again with it, then retry.'
      : 'This action requires a second factor. Set one up in Settings, then retry.'
    throw new Failed(failure('second_factor_required', message))
  }

  /** The client address of a write without a session. Throws `foreign_origin` if another site caused it. */
  signedOutActor({ request, address }: RequestContext): { readonly address: string } {
    this.refuseForeign(request.headers)
    return { address: formatAddress(address) }
  }

  /** Whether the session of the request is still valid and its user's account not suspended. Throws if the database is not responding. */
  async isSignedIn({ request }: RequestContext): Promise<boolean> {
    const session = await this.parts.identity.session(request.headers)
    const account = session && (await this.parts.accounts.byUser(session.userId))
    return session !== null && !account?.suspension
  }

  /** The same, and whether the user has this role in the workspace, which is not suspended. */
  async isStill({ request }: RequestContext, accountId: AccountId, role: Role): Promise<boolean> {
    const session = await this.parts.identity.session(request.headers)
    if (!session || roleIn(await this.parts.members.of(session.userId), accountId) !== role) return false
    return !(await this.parts.accounts.byId(accountId))?.suspension
  }

  /** Browsers always send one of these headers with a write, so a request without either comes from a script (spec D3). */
  private refuseForeign(headers: Headers): void {
    const origin = headers.get('origin')
    const site = headers.get('sec-fetch-site')
    const own =
      origin === null ? site === null || site === 'same-origin' || site === 'none' : this.parts.ownOrigins.has(origin)
    if (!own)
      throw new Failed(
        failure(
          'foreign_origin',
          'This request was refused because it came from another site. Open the dashboard at its own address.',
        ),
      )
  }
}

/** Throws `insufficient_permissions` if the role lacks what is asked. */
export function refuseRole(role: Role, asked: Asked): void {
  if (asked === 'member' || mayDo(role, asked)) return
  throw new Failed(
    failure(
      'insufficient_permissions',
      `Your role in this workspace, ${role}, does not allow this. Ask one of its admins.`,
      { param: asked },
    ),
  )
}

/** Written so that a time which is no number is too old. */
function requireRecent(signedInAt: number, { at }: RequestContext, withinMs: number | undefined): void {
  if (withinMs === undefined || at - signedInAt <= withinMs) return
  throw new Failed(
    failure('recent_sign_in_required', 'This action requires a recent sign-in. Sign in again, then retry.'),
  )
}
