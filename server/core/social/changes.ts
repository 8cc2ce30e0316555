import type { AccountId, KeyId, SocialSessionId } from '../ids'
import type { SocialScope } from './scopes'

/** A change of a key's linked account. Contains no secrets. */
export interface SocialChange {
  readonly accountId: AccountId
  readonly keyId: KeyId
  readonly what: 'linking' | 'linked' | 'denied' | 'failed' | 'cancelled' | 'revoked' | 'unlinked' | 'scope_missing'
}

/** Calls of a key fail although its account is linked, until somebody links it again. Contains no secrets. */
export interface SocialFailing {
  readonly accountId: AccountId
  readonly keyId: KeyId
  readonly session: SocialSessionId
  readonly user: string
  readonly reason: 'missing_scope' | 'expired' | 'unreadable'
  /** The scope that the calls need and the user did not grant. */
  readonly scope: SocialScope | null
}

/** Called for each such call. Must not throw. */
export type OnSocialFailing = (failing: SocialFailing) => void

/** Called after the change is durable. Must not throw. */
export type OnSocialChange = (change: SocialChange) => void
