import type { AccountId, KeyId } from '../ids'

/** What happened to a key's linked account, for whoever shows or sends it. It holds no secret. */
export interface SocialChange {
  readonly accountId: AccountId
  readonly keyId: KeyId
  readonly what: 'linking' | 'linked' | 'denied' | 'failed' | 'cancelled' | 'revoked' | 'unlinked' | 'scope_missing'
}

/** Told after the change is durable. It must not throw. */
export type OnSocialChange = (change: SocialChange) => void
