import type { AccountId, KeyId, PoolId, SocialLinkId, SocialSessionId } from '../ids'
import type { SocialScope } from './scopes'

export type NetworkName = 'sandbox' | 'x'

export interface SocialUser {
  readonly id: string
  readonly username: string
  readonly name: string
}

/** The tokens of a session, sealed. */
export interface SessionTokens {
  readonly access: string
  /** Null when the network issued none. The session then ends with its access token. */
  readonly refresh: string | null
  readonly accessExpiresAt: number
}

/**
 * A linked account (spec 2.3). It belongs to the spend pool, which a key shares with its successors, so that a rotated key keeps its
 * account. Linking another account replaces it.
 */
export interface SocialSession {
  readonly id: SocialSessionId
  readonly poolId: PoolId
  readonly accountId: AccountId
  /** The key that linked it. */
  readonly keyId: KeyId
  readonly network: NetworkName
  readonly user: SocialUser
  readonly scopes: readonly SocialScope[]
  readonly tokens: SessionTokens
  readonly linkedAt: number
  readonly refreshedAt: number | null
  /** When the network reported that the grant is dead. */
  readonly revokedAt: number | null
  /** The scope that the last refused call lacked. Cleared when the account is linked again. */
  readonly missingScope: SocialScope | null
}

export type SessionState = 'linked' | 'expired' | 'revoked'

export function sessionState(session: SocialSession, now: number): SessionState {
  if (session.revokedAt !== null) return 'revoked'
  return session.tokens.refresh === null && session.tokens.accessExpiresAt <= now ? 'expired' : 'linked'
}

/** An attempt to link an account to a key. A callback, the owner, or its expiry ends it. */
export interface LinkAttempt {
  readonly id: SocialLinkId
  readonly stateHash: string
  readonly poolId: PoolId
  readonly accountId: AccountId
  readonly keyId: KeyId
  readonly scopes: readonly SocialScope[]
  /** Sealed. */
  readonly verifier: string
  readonly createdAt: number
  readonly expiresAt: number
  /** When its state was used. */
  readonly usedAt: number | null
  readonly outcome: LinkOutcome | null
}

export type LinkOutcome = 'linked' | 'denied' | 'failed' | 'cancelled'

/** An account that was approved at the network but not confirmed here. No call can use it. */
export interface SocialApproval {
  readonly session: SocialSession
  readonly linkId: SocialLinkId
  /** The hash of the proof, which only the browser that returned with the approval has. */
  readonly proofHash: string
  readonly expiresAt: number
  /** When the person confirmed. */
  readonly confirmedAt: number | null
}
