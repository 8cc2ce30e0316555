import type { AuditEntry } from '../audit'
import type { AccountId, PoolId, SocialLinkId, SocialSessionId } from '../ids'
import type { SocialScope } from './scopes'
import type { LinkAttempt, LinkOutcome, NetworkName, SessionTokens, SocialApproval, SocialSession } from './session'

export interface IdleAsked {
  readonly network: NetworkName
  readonly idleSince: number
  readonly now: number
  readonly limit: number
}

/**
 * Links and sessions. Every write is one atomic batch, durable before it resolves, and seen by the next read. What is sealed
 * comes and goes sealed.
 */
export interface SocialStore {
  addLink(link: LinkAttempt, audit: AuditEntry): Promise<void>
  /** Burns a state that is open and not over: one statement, so that of many callers at once exactly one gets the link. */
  burnLink(stateHash: string, at: number): Promise<LinkAttempt | null>
  linkByState(stateHash: string): Promise<LinkAttempt | null>
  linkById(id: SocialLinkId): Promise<LinkAttempt | null>
  endLink(id: SocialLinkId, outcome: LinkOutcome): Promise<void>
  /** The newest link of each pool of the account. */
  newestLinks(account: AccountId): Promise<readonly LinkAttempt[]>
  addApproval(approval: SocialApproval): Promise<void>
  /** Marks the approval of this link and proof as confirmed: one statement, so that of many presses exactly one gets it. */
  confirmApproval(link: SocialLinkId, proofHash: string, at: number): Promise<SocialApproval | null>
  /** Those that nobody confirmed in time, and those whose confirmation never ended. */
  overdueApprovals(now: number, limit: number): Promise<readonly SocialApproval[]>
  /** Takes away the approvals of a pool that nobody confirmed, and gives them. */
  takeApprovals(pool: PoolId): Promise<readonly SocialApproval[]>
  removeApproval(id: SocialSessionId): Promise<void>
  /** Ends the link and its approval, and puts its session in the place of the pool's. */
  putSession(session: SocialSession, link: SocialLinkId, audit: AuditEntry): Promise<void>
  session(pool: PoolId): Promise<SocialSession | null>
  /** Newest first. */
  sessionsOf(account: AccountId): Promise<readonly SocialSession[]>
  /** Of every account, revoked ones too. */
  everySession(): Promise<readonly SocialSession[]>
  /** Puts other sealed forms of the same tokens in their place. False when they are not `before` any more. */
  replaceTokens(id: SocialSessionId, before: SessionTokens, after: SessionTokens): Promise<boolean>
  /**
   * Of a network, those whose tokens nobody renewed since, the longest idle first: with a refresh token, not revoked, and with a
   * key that may call at `now`.
   */
  idleSessions(asked: IdleAsked): Promise<readonly SocialSession[]>
  /** False when the session is not there any more, or was revoked: the tokens are then of no use. */
  saveTokens(id: SocialSessionId, tokens: SessionTokens, refreshedAt: number): Promise<boolean>
  /** False when it was revoked or removed already. */
  markRevoked(id: SocialSessionId, at: number, audit: AuditEntry): Promise<boolean>
  noteMissingScope(id: SocialSessionId, scope: SocialScope): Promise<void>
  /** False when it is not there. */
  removeSession(id: SocialSessionId, audit: AuditEntry): Promise<boolean>
}
