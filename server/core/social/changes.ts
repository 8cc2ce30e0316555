import type { AccountId, KeyId } from '../ids'

/** A change of a key's linked account. Contains no secrets. */
export interface SocialChange {
  readonly accountId: AccountId
  readonly keyId: KeyId
  readonly what: 'linking' | 'linked' | 'denied' | 'failed' | 'cancelled' | 'revoked' | 'unlinked' | 'scope_missing'
}

/** Called after the change is durable. Must not throw. */
export type OnSocialChange = (change: SocialChange) => void
