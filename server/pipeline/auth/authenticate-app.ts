import type { Account } from '../../core/accounts/account'
import type { AppGrant, AppGrantStore } from '../../core/accounts/app-grant'
import type { AppGrants } from '../../core/accounts/app-grants'
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
  readonly ledger: Ledger
  readonly limiter: Limiter
  readonly grants: OAuthGrants
  readonly apps: Pick<AppGrantStore, 'touch' | 'known'>
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
  const account = granted && auth.accounts.knownByUser(granted.userId)
  const grant = account && auth.apps.known(account.id, granted.clientId)
  const toppedUp = account && auth.ledger.toppedUp(account.id)
  if (!grant || toppedUp === null) return lookUpApp(auth, credential, incoming, granted)
  return isGood(granted, credential, incoming.at) ? ok(identified(granted, account, grant, toppedUp)) : err(REFUSED)
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
  const account = await auth.accounts.byUser(granted.userId)
  if (!account) return err(REFUSED)
  const grant = await auth.appGrants.of(account, granted.clientId, formatAddress(address))
  const toppedUp = auth.ledger.toppedUp(account.id) ?? (await auth.ledger.balance(account.id))?.toppedUp ?? ZERO
  return ok(identified(granted, account, grant, toppedUp))
}

function isGood({ expiresAt, audiences }: TokenGrant, { audience }: TokenCredential, at: number): boolean {
  return expiresAt > at && audiences.has(audience)
}

function identified({ scopes }: TokenGrant, account: Account, grant: AppGrant, toppedUp: Money): Identified {
  const facts = { ...account, toppedUp }
  const caller = { kind: 'app', grant, account, tier: tierOf(facts), scopes } as const
  return { caller, subjects: [{ name: grant.id, limits: limitsOf(facts) }], refused: null }
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
