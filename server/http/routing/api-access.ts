import type { Context } from 'elysia'
import type { FailureCode } from '../../core/failure'
import type { AccountId } from '../../core/ids'
import {
  type Asked,
  type Owner,
  type OwnerSessions,
  SIGNED_IN_AT_ANY_TIME,
  SIGNED_IN_TODAY,
  type SignedInUser,
} from '../middleware/caller/owner-session'
import type { RequestContext } from '../middleware/request-context'
import { type Access, type Callers, declaring, type Hook, readDeclaration } from '../openapi/documented'
import { type FreeEndpoint, type MountedHandler, served } from './endpoint'

/** The callers of a route. `Known`: the facts that its handler gets about the caller. */
export interface RouteAccess<Known extends object> {
  /** Throws for everybody else. Runs before the body is read. */
  admit(context: RequestContext): Known | Promise<Known>
  /** The endpoint of a path that takes credentials: its calls are authenticated before they are admitted. Otherwise the access itself. */
  readonly callers: ApiAccess<Known> | FreeEndpoint
}

/** The callers of a route below `/api`. The documented security and failures derive from it. */
export class ApiAccess<Known extends object = object> implements RouteAccess<Known>, Callers {
  /** `staff`: operators and support. `console`: only the control socket. */
  readonly who: 'owner' | 'operator' | 'staff' | 'console' | 'anybody'
  /**
   * The maximum age of the sign-in, in milliseconds, which then also needs the second factor; for operators and staff, the age only of
   * writes. Null: any, without.
   */
  readonly withinMs: number | null
  readonly admit: RouteAccess<Known>['admit']
  /** What an owner's route asks of the caller's role in the workspace. */
  readonly asked: Asked

  constructor(
    who: ApiAccess['who'],
    withinMs: number | null,
    admit: RouteAccess<Known>['admit'],
    asked: Asked = 'member',
  ) {
    this.who = who
    this.withinMs = withinMs
    this.admit = admit
    this.asked = asked
  }

  private get isForStaff(): boolean {
    return this.who === 'operator' || this.who === 'staff'
  }

  /** Whether a call with this method needs a sign-in that is not older than `withinMs`. */
  asksForRecent(method: string): boolean {
    return this.asksForSecondFactor && this.withinMs !== SIGNED_IN_AT_ANY_TIME && !(this.isForStaff && method === 'GET')
  }

  /** Whether it needs the second factor that its caller has or must have. */
  get asksForSecondFactor(): boolean {
    return this.withinMs !== null
  }

  get callers(): this {
    return this
  }

  get access(): Access {
    return this.who === 'anybody' ? 'anybody' : 'session'
  }

  refusals(method: string): FailureCode[] {
    if (this.who === 'anybody') return []
    const codes: FailureCode[] = ['missing_session', 'account_suspended', 'internal_error', 'service_unavailable']
    if (this.who === 'owner') codes.push('not_a_member')
    if (method !== 'GET') codes.push('foreign_origin')
    if (this.isForStaff || this.asked !== 'member') codes.push('insufficient_permissions')
    if (this.asksForRecent(method)) codes.push('recent_sign_in_required')
    if (this.asksForSecondFactor) codes.push('second_factor_required')
    return codes
  }
}

/** The access that a mounted route below `/api` declares, or null. */
export function declaredAccess(hooks: unknown): ApiAccess | null {
  const { callers } = readDeclaration(hooks)
  return callers instanceof ApiAccess ? callers : null
}

/** Without a sign-in. */
export const ANYBODY = new ApiAccess('anybody', null, () => ({}))

/** The same for a write that must come from the gateway's own pages. */
export function ownPages(owners: OwnerSessions): ApiAccess<{ readonly actor: { readonly address: string } }> {
  return new ApiAccess('anybody', null, (context) => ({ actor: owners.signedOutActor(context) }))
}

/** The caller of an owner's route. An app calls some of them on behalf of its owner. */
export interface KnownOwner<O extends { readonly accountId: AccountId } = Owner> {
  readonly owner: O
  readonly accountId: AccountId
}

/** A signed-in member with a right in the workspace. `withinMs`: the maximum age of the sign-in. */
export function signedIn(owners: Pick<OwnerSessions, 'owner'>, asked: Asked, withinMs?: number): ApiAccess<KnownOwner> {
  const admit = async (context: RequestContext) => knownOwner(await owners.owner(context, asked, withinMs))
  return new ApiAccess('owner', withinMs ?? null, admit, asked)
}

function knownOwner<O extends { readonly accountId: AccountId }>(owner: O): KnownOwner<O> {
  return { owner, accountId: owner.accountId }
}

/** An owner who changes the sign-in or lets an app in. `isSettingUp`: also one who must have a second factor and has none. */
export function signedInUser(
  owners: OwnerSessions,
  withinMs?: number,
  isSettingUp?: boolean,
): ApiAccess<{ readonly user: SignedInUser }> {
  return new ApiAccess('owner', withinMs ?? null, async (context) => ({
    user: await owners.user(context, withinMs, isSettingUp),
  }))
}

/** Access to routes that owners have below `/api`, and apps on their behalf below `/v1`. */
export interface MirroredAccess<O extends { readonly accountId: AccountId }> {
  readonly read: RouteAccess<KnownOwner<O>>
  readonly write: RouteAccess<KnownOwner<O>>
  /** To write, signed in today. An app always has a token that an owner gave it. */
  readonly recent: RouteAccess<KnownOwner<O>>
}

export function ownersAccess(owners: OwnerSessions, right: 'keys' | 'money' | 'settings'): MirroredAccess<Owner> {
  return {
    read: signedIn(owners, `${right}:read`),
    write: signedIn(owners, `${right}:write`),
    recent: signedIn(owners, `${right}:write`, SIGNED_IN_TODAY),
  }
}

/** `ownerOf`: throws if the caller is no app. */
export function appsAccess<O extends { readonly accountId: AccountId }>(
  endpoint: FreeEndpoint,
  ownerOf: (context: RequestContext) => O | Promise<O>,
): MirroredAccess<O> {
  const app: RouteAccess<KnownOwner<O>> = {
    admit: async (context) => knownOwner(await ownerOf(context)),
    callers: endpoint,
  }
  return { read: app, write: app, recent: app }
}

/** The arguments of every handler. `set`: the status and the headers of its answer. */
interface Call {
  readonly context: RequestContext
  readonly set: Context['set']
}

/** Of a path with `:id`. */
export interface Id {
  readonly id: string
}

/**
 * The declaration and handler of a route, to mount after its path: `.get('/billing', ...allowed(signedIn(owners), documented(DOCS),
 * handler))`. The handler runs only for callers who were admitted. It reads the body itself.
 */
export function allowed<Known extends object, R, Params>(
  access: RouteAccess<Known>,
  documentation: Hook,
  handler: (call: Known & Call, params: Params) => R | Promise<R>,
): readonly [MountedHandler<Promise<R>, Params>, Hook & { readonly parse: 'none' }] {
  const { callers } = access
  const admitted = async ({ context, params, set }: Call & { readonly params: Params }): Promise<R> =>
    handler({ ...(await access.admit(context)), context, set }, params)
  if (!(callers instanceof ApiAccess)) return served(callers, documentation, admitted)
  return [admitted, { parse: 'none', ...declaring(documentation, { callers }) }]
}
