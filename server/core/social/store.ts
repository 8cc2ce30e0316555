import type { AuditEntry } from '../audit'
import type { AccountId, PoolId, SocialLinkId, SocialSessionId } from '../ids'
import type { SocialScope } from './scopes'
import type { LinkAttempt, LinkOutcome, NetworkName, SessionTokens, SocialApproval, SocialSession } from './session'

export interface IdleQuery {
  readonly network: NetworkName
  readonly idleSince: number
  readonly now: number
  readonly limit: number
}

/**
 * Stores links and sessions. Every write is one atomic batch, durable when it resolves, and visible to the next read. Sealed values
 * stay sealed.
 */
export interface SocialStore {
  addLink(link: LinkAttempt, audit: AuditEntry): Promise<void>
  /** Uses up a valid state in one statement, so that exactly one of several concurrent callers gets the link. */
  burnLink(stateHash: string, at: number): Promise<LinkAttempt | null>
  linkByState(stateHash: string): Promise<LinkAttempt | null>
  linkById(id: SocialLinkId): Promise<LinkAttempt | null>
  endLink(id: SocialLinkId, outcome: LinkOutcome): Promise<void>
  /** The newest link of each pool of the account. */
  newestLinks(account: AccountId): Promise<readonly LinkAttempt[]>
  addApproval(approval: SocialApproval): Promise<void>
  /** Confirms the approval of this link and proof in one statement, so that exactly one of several concurrent calls gets it. */
  confirmApproval(link: SocialLinkId, proofHash: string, at: number): Promise<SocialApproval | null>
  /** Approvals that were not confirmed in time, and those whose confirmation did not finish. */
  overdueApprovals(now: number, limit: number): Promise<readonly SocialApproval[]>
  /** Removes and returns the unconfirmed approvals of a pool. */
  takeApprovals(pool: PoolId): Promise<readonly SocialApproval[]>
  removeApproval(id: SocialSessionId): Promise<void>
  /** Ends the link and its approval, and replaces the pool's session. */
  putSession(session: SocialSession, link: SocialLinkId, audit: AuditEntry): Promise<void>
  session(pool: PoolId): Promise<SocialSession | null>
  /** Newest first. */
  sessionsOf(account: AccountId): Promise<readonly SocialSession[]>
  /** The sessions of all accounts, including revoked ones. */
  everySession(): Promise<readonly SocialSession[]>
  /** Replaces tokens with another sealed form of the same tokens. Returns false when they are no longer `before`. */
  replaceTokens(id: SocialSessionId, before: SessionTokens, after: SessionTokens): Promise<boolean>
  /**
   * Sessions of a network whose tokens were not renewed since, longest idle first. Only those with a refresh token that are not
   * revoked and whose key may call at `now`.
   */
  idleSessions(query: IdleQuery): Promise<readonly SocialSession[]>
  /** Returns false when the session was removed or revoked. */
  saveTokens(id: SocialSessionId, tokens: SessionTokens, refreshedAt: number): Promise<boolean>
  /** Returns false when it was already revoked or removed. */
  markRevoked(id: SocialSessionId, at: number, audit: AuditEntry): Promise<boolean>
  noteMissingScope(id: SocialSessionId, scope: SocialScope): Promise<void>
  /** Returns false when it does not exist. */
  removeSession(id: SocialSessionId, audit: AuditEntry): Promise<boolean>
}
