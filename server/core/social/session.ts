import type { AccountId, KeyId, PoolId, SocialLinkId, SocialSessionId } from '../ids'
import type { SocialScope } from './scopes'

export type NetworkName = 'sandbox' | 'x'

export interface SocialUser {
  readonly id: string
  readonly username: string
  readonly name: string
}

/** Both sealed. */
export interface SessionTokens {
  readonly access: string
  /** Null when the network gave none: the session then ends with its access token. */
  readonly refresh: string | null
  readonly accessExpiresAt: number
}

/**
 * A linked account (spec 2.3). It hangs on the spend pool, which a key shares with its successors, so that a rotated key keeps
 * its account. One per pool: linking again replaces it.
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
  /** When the network said that the grant is dead. */
  readonly revokedAt: number | null
  /** The scope that a call lacked last, until the account is linked again. */
  readonly missingScope: SocialScope | null
}

export type SessionState = 'linked' | 'expired' | 'revoked'

export function sessionState(session: SocialSession, now: number): SessionState {
  if (session.revokedAt !== null) return 'revoked'
  return session.tokens.refresh === null && session.tokens.accessExpiresAt <= now ? 'expired' : 'linked'
}

/** One try to link an account: made by a key, ended by one callback, by the owner, or by time. */
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
  /** When its state was burned. */
  readonly usedAt: number | null
  readonly outcome: LinkOutcome | null
}

export type LinkOutcome = 'linked' | 'denied' | 'failed' | 'cancelled'

/** An account that was approved at the network and waits for the person's word here. It is of no use to any call. */
export interface SocialApproval {
  readonly session: SocialSession
  readonly linkId: SocialLinkId
  /** Of what only the browser holds that came back with the approval. */
  readonly proofHash: string
  readonly expiresAt: number
  /** When its button was pressed. */
  readonly confirmedAt: number | null
}
