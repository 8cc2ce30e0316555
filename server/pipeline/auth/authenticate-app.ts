import type { Account } from '../../core/accounts/account'
import type { AppGrant, AppGrantStore } from '../../core/accounts/app-grant'
import type { AppGrants } from '../../core/accounts/app-grants'
import { type MemberStore, type Membership, roleIn } from '../../core/accounts/members'
import { scopesOf } from '../../core/accounts/roles'
import type { AccountStore } from '../../core/accounts/store'
import { type Address, formatAddress, limitSubject } from '../../core/credentials/address'
import type { OAuthGrants, TokenGrant } from '../../core/credentials/oauth-grant'
import { type Failure, failure } from '../../core/failure'
import type { Ledger } from '../../core/ledger/ledger'
import type { Limiter } from '../../core/limits/limiter'
import { type Limits, limitsOf, tierOf } from '../../core/limits/tier'
import { type Money, ZERO } from '../../core/money'
import { err, ok, type Result } from '../../core/result'
import type { AppCaller, Credential, Identified, IncomingCall, Route } from '../call'

/** What `authenticate` needs to identify an app by its access token. */
export interface AppAuthDeps {
  readonly accounts: AccountStore
  readonly members: Pick<MemberStore, 'known' | 'of'>
  readonly ledger: Ledger
  readonly limiter: Limiter
  readonly grants: OAuthGrants
  readonly apps: Pick<AppGrantStore, 'touch' | 'known' | 'live'>
  readonly appGrants: Pick<AppGrants, 'of'>
  /** Limits of callers without an account, per address. */
  readonly anonymousLimits: Limits
  /** Units per minute of what all keys and apps of an account do for free. */
  readonly freeUnitsPerMinute: number
}

type TokenCredential = Extract<Credential, { kind: 'oauth_token' }>

const REFUSED = failure(
  'invalid_token',
  'This access token is not valid here: it is unknown, expired or revoked, or was issued for another audience.',
)

/**
 * Finds the app's grant and its owner's account: at once, if all of it is in memory. A lookup sees every revocation that was confirmed
 * before the lookup began.
 */
export function identifyApp(
  auth: AppAuthDeps,
  credential: TokenCredential,
  incoming: Pick<IncomingCall, 'address' | 'at'>,
): Result<Identified, Failure> | Promise<Result<Identified, Failure>> {
  const granted = auth.grants.inMemory(credential.hash)
  const grant = granted && auth.apps.known(granted.userId, granted.clientId)
  const account = grant && auth.accounts.known(grant.accountId)
  const memberships = account && auth.members.known(grant.userId)
  const toppedUp = account && auth.ledger.toppedUp(account.id)
  if (!memberships || toppedUp === null) return lookUpApp(auth, credential, incoming, granted)
  if (!isGood(granted, credential, incoming.at)) return err(REFUSED)
  return identified(granted, account, grant, memberships, toppedUp)
}

async function lookUpApp(
  auth: AppAuthDeps,
  credential: TokenCredential,
  { address, at }: Pick<IncomingCall, 'address' | 'at'>,
  remembered: TokenGrant | null,
): Promise<Result<Identified, Failure>> {
  const { hash } = credential
  // A lookup costs a query, so a caller who guesses tokens is stopped by the window of its address first. A known app is not.
  if (!remembered && !auth.grants.wasGood(hash) && isAddressFull(auth, address)) return err(REFUSED)
  const granted = remembered ?? (await auth.grants.byHash(hash))
  if (!granted || !isGood(granted, credential, at)) return err(REFUSED)
  const grant = await appGrantOf(auth, granted, address)
  const account = grant && (await auth.accounts.byId(grant.accountId))
  if (!account) return err(REFUSED)
  const memberships = await auth.members.of(grant.userId)
  const toppedUp = auth.ledger.toppedUp(account.id) ?? (await auth.ledger.balance(account.id))?.toppedUp ?? ZERO
  return identified(granted, account, grant, memberships, toppedUp)
}

/** An app whose owner did not say for which workspace calls for the owner's own. */
async function appGrantOf(
  auth: AppAuthDeps,
  { userId, clientId }: TokenGrant,
  address: Address,
): Promise<AppGrant | null> {
  const known = await auth.apps.live(userId, clientId)
  const own = known ? null : await auth.accounts.byUser(userId)
  return own ? auth.appGrants.of({ id: own.id, userId, clientId }, formatAddress(address)) : known
}

function isGood({ expiresAt, audiences }: TokenGrant, { audience }: TokenCredential, at: number): boolean {
  return expiresAt > at && audiences.has(audience)
}

/** Refused, if the member who let the app in has left the workspace. */
function identified(
  granted: TokenGrant,
  account: Account,
  grant: AppGrant,
  memberships: readonly Membership[],
  toppedUp: Money,
): Result<Identified, Failure> {
  const role = roleIn(memberships, account.id)
  if (role === null) return err(REFUSED)
  const facts = { ...account, toppedUp }
  const scopes = scopesOf(role, granted.scopes)
  return ok({
    caller: { kind: 'app', grant, account, tier: tierOf(facts), scopes, role },
    subjects: [{ name: grant.id, limits: limitsOf(facts) }],
    refused: null,
  })
}

/** Whether strangers at this address have used up their window: then no credential is looked up for them. */
export function isAddressFull(
  { limiter, anonymousLimits }: Pick<AppAuthDeps, 'limiter' | 'anonymousLimits'>,
  address: Address,
): boolean {
  const { requests } = limiter.read([{ name: limitSubject(address), limits: anonymousLimits }])
  return requests.remaining === 0
}

export function scopeProblem({ scopes }: AppCaller, route: Route): Failure | null {
  if (route.kind === 'unmatched' || route.kind === 'public') return null
  if (route.scope === 'any') return null
  const also = route.kind === 'priced' ? route.alsoScope : undefined
  const missing = scopes.has(route.scope) ? also : route.scope
  if (missing === undefined || scopes.has(missing)) return null
  return failure(
    'insufficient_scope',
    `This app was not granted ${missing}. Request the scope and have the owner approve it.`,
    { param: missing },
  )
}
