import type { ConnectionStore } from '../../core/accounts/connection'
import type { Connections } from '../../core/accounts/connections'
import type { AccountStore } from '../../core/accounts/store'
import { type Address, formatAddress, limitSubject } from '../../core/credentials/address'
import type { OAuthGrants, Scope } from '../../core/credentials/oauth-grant'
import { type Failure, failure } from '../../core/failure'
import type { Ledger } from '../../core/ledger/ledger'
import type { Limiter } from '../../core/limits/limiter'
import { type Limits, limitsOf } from '../../core/limits/tier'
import { ZERO } from '../../core/money'
import { no, ok, type Result } from '../../core/result'
import type { AppCaller, Credential, Destination, Identified } from '../call'
import { neededScope } from './needed-scope'

/** What the door needs to know an app by its access token. */
export interface AppDoor {
  readonly accounts: AccountStore
  readonly ledger: Ledger
  readonly limiter: Limiter
  readonly grants: OAuthGrants
  readonly apps: Pick<ConnectionStore, 'touch'>
  readonly connections: Pick<Connections, 'of'>
  /** Caps of a caller without an account, per address. */
  readonly anonymousLimits: Limits
}

type TokenCredential = Extract<Credential, { kind: 'oauth_token' }>

const REFUSED = failure(
  'invalid_token',
  'This access token is not valid here: it is unknown, expired or revoked, or was issued for another audience.',
)

/** Finds the app, its owner's account and its connection; every look-up sees a revocation that was answered before it began. */
export async function identifyApp(
  door: AppDoor,
  { token, audience }: TokenCredential,
  { address, at }: { address: Address; at: number },
): Promise<Result<Identified, Failure>> {
  // A look-up costs a query. Whoever guesses tokens runs into the address's window before it; an app that is known does not.
  if (!door.grants.wasGood(token)) {
    const { requests } = await door.limiter.read([{ name: limitSubject(address), limits: door.anonymousLimits }])
    if (requests.remaining === 0) return no(REFUSED)
  }
  const grant = await door.grants.byToken(token)
  if (!grant || grant.expiresAt <= at || !grant.audiences.has(audience)) return no(REFUSED)
  const account = await door.accounts.byUser(grant.userId)
  if (!account) return no(REFUSED)
  const connection = await door.connections.of(account, grant.clientId, formatAddress(address))
  const balance = await door.ledger.balance(account.id)
  const limits = limitsOf({ ...account, toppedUp: balance?.toppedUp ?? ZERO })
  const caller: AppCaller = { kind: 'app', connection, account, scopes: grant.scopes }
  return ok({ caller, subjects: [{ name: connection.id, limits }], refused: null })
}

/** Why the owner's word does not reach there, or null. */
export function scopeProblem({ scopes }: AppCaller, destination: Destination): Failure | null {
  const needed = neededScope(destination)
  if (needed === 'any' || (needed !== 'none' && scopes.has(needed))) return null
  if (needed === 'none') return failure('insufficient_permissions', 'This route takes API keys only.')
  return lacking(needed)
}

function lacking(scope: Scope): Failure {
  return failure('insufficient_scope', `The owner did not allow this app ${scope}. Ask for it and come back.`, {
    param: scope,
  })
}
