import { and, desc, eq, exists, gt, inArray, isNotNull, isNull, lte, max, or, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { AuditEntry } from '../../../core/audit'
import { MINUTE_MS } from '../../../core/clock'
import type { AccountId, PoolId, SocialLinkId, SocialSessionId } from '../../../core/ids'
import type { SocialScope } from '../../../core/social/scopes'
import type {
  LinkAttempt,
  LinkOutcome,
  SessionTokens,
  SocialApproval,
  SocialSession,
} from '../../../core/social/session'
import type { IdleQuery, SocialStore } from '../../../core/social/store'
import { auditRow } from './audit/audit-trail'
import { auditLog } from './schema/accounts'
import { keys } from './schema/keys'
import { socialApprovals, socialLinks, socialSessions } from './schema/social'

/** By then a started confirmation has finished, or its process died. */
const CONFIRMING_MS = MINUTE_MS

/** Links and sessions in the database, found by its indexes. Nothing is kept in memory. */
export class LibsqlSocial implements SocialStore {
  private readonly db: LibSQLDatabase

  constructor(db: LibSQLDatabase) {
    this.db = db
  }

  async addLink(link: LinkAttempt, audit: AuditEntry): Promise<void> {
    await this.db.batch([this.db.insert(socialLinks).values(link), this.audited(audit)])
  }

  async burnLink(stateHash: string, at: number): Promise<LinkAttempt | null> {
    const open = and(eq(socialLinks.stateHash, stateHash), isNull(socialLinks.usedAt), gt(socialLinks.expiresAt, at))
    const [link] = await this.db.update(socialLinks).set({ usedAt: at }).where(open).returning()
    return link ?? null
  }

  async linkByState(stateHash: string): Promise<LinkAttempt | null> {
    const [link] = await this.db.select().from(socialLinks).where(eq(socialLinks.stateHash, stateHash))
    return link ?? null
  }

  async linkById(id: SocialLinkId): Promise<LinkAttempt | null> {
    const [link] = await this.db.select().from(socialLinks).where(eq(socialLinks.id, id))
    return link ?? null
  }

  async endLink(id: SocialLinkId, outcome: LinkOutcome): Promise<void> {
    await this.ending(id, outcome)
  }

  async newestLinks(account: AccountId): Promise<readonly LinkAttempt[]> {
    const newest = this.db
      .select({ id: max(socialLinks.id) })
      .from(socialLinks)
      .where(eq(socialLinks.accountId, account))
      .groupBy(socialLinks.poolId)
    return this.db.select().from(socialLinks).where(inArray(socialLinks.id, newest)).orderBy(desc(socialLinks.id))
  }

  async addApproval({ session, ...approval }: SocialApproval): Promise<void> {
    await this.db.insert(socialApprovals).values({ ...rowOf(session), ...approval })
  }

  async confirmApproval(link: SocialLinkId, proofHash: string, at: number): Promise<SocialApproval | null> {
    const { linkId, confirmedAt, expiresAt } = socialApprovals
    const open = and(eq(linkId, link), eq(socialApprovals.proofHash, proofHash), isNull(confirmedAt), gt(expiresAt, at))
    const [row] = await this.db.update(socialApprovals).set({ confirmedAt: at }).where(open).returning()
    return row ? approvalOf(row) : null
  }

  async overdueApprovals(now: number, limit: number): Promise<readonly SocialApproval[]> {
    const { confirmedAt, expiresAt } = socialApprovals
    const isOver = or(and(isNull(confirmedAt), lte(expiresAt, now)), lte(expiresAt, now - CONFIRMING_MS))
    const rows = await this.db.select().from(socialApprovals).where(isOver).orderBy(expiresAt).limit(limit)
    return rows.map(approvalOf)
  }

  async takeApprovals(pool: PoolId): Promise<readonly SocialApproval[]> {
    const { poolId, confirmedAt } = socialApprovals
    const rows = await this.db
      .delete(socialApprovals)
      .where(and(eq(poolId, pool), isNull(confirmedAt)))
      .returning()
    return rows.map(approvalOf)
  }

  async removeApproval(id: SocialSessionId): Promise<void> {
    await this.db.delete(socialApprovals).where(eq(socialApprovals.id, id))
  }

  async putSession(session: SocialSession, link: SocialLinkId, audit: AuditEntry): Promise<void> {
    await this.db.batch([
      this.db.delete(socialSessions).where(eq(socialSessions.poolId, session.poolId)),
      this.db.insert(socialSessions).values(rowOf(session)),
      this.db.delete(socialApprovals).where(eq(socialApprovals.linkId, link)),
      this.ending(link, 'linked'),
      this.audited(audit),
    ])
  }

  async session(pool: PoolId): Promise<SocialSession | null> {
    const [row] = await this.db.select().from(socialSessions).where(eq(socialSessions.poolId, pool))
    return row ? sessionOf(row) : null
  }

  async sessionsOf(account: AccountId): Promise<readonly SocialSession[]> {
    const rows = await this.db
      .select()
      .from(socialSessions)
      .where(eq(socialSessions.accountId, account))
      .orderBy(desc(socialSessions.id))
    return rows.map(sessionOf)
  }

  async everySession(): Promise<readonly SocialSession[]> {
    return (await this.db.select().from(socialSessions)).map(sessionOf)
  }

  async replaceTokens(id: SocialSessionId, before: SessionTokens, after: SessionTokens): Promise<boolean> {
    const { accessToken, refreshToken } = socialSessions
    const refresh = before.refresh === null ? isNull(refreshToken) : eq(refreshToken, before.refresh)
    const changed = await this.db
      .update(socialSessions)
      .set(tokenColumns(after))
      .where(and(eq(socialSessions.id, id), eq(accessToken, before.access), refresh))
      .returning({ id: socialSessions.id })
    return changed.length > 0
  }

  async idleSessions({ network, idleSince, now, limit }: IdleQuery): Promise<readonly SocialSession[]> {
    const renewedAt = sql`coalesce(${socialSessions.refreshedAt}, ${socialSessions.linkedAt})`
    const liveKeys = this.db
      .select({ id: keys.id })
      .from(keys)
      .where(
        and(
          eq(keys.poolId, socialSessions.poolId),
          isNull(keys.revokedAt),
          or(isNull(keys.stopsAt), gt(keys.stopsAt, now)),
        ),
      )
    const rows = await this.db
      .select()
      .from(socialSessions)
      .where(
        and(
          eq(socialSessions.network, network),
          isNull(socialSessions.revokedAt),
          isNotNull(socialSessions.refreshToken),
          lte(renewedAt, idleSince),
          exists(liveKeys),
        ),
      )
      .orderBy(renewedAt)
      .limit(limit)
    return rows.map(sessionOf)
  }

  async saveTokens(id: SocialSessionId, tokens: SessionTokens, refreshedAt: number): Promise<boolean> {
    const changed = await this.db
      .update(socialSessions)
      .set({ ...tokenColumns(tokens), refreshedAt })
      .where(live(id))
      .returning({ id: socialSessions.id })
    return changed.length > 0
  }

  async markRevoked(id: SocialSessionId, at: number, audit: AuditEntry): Promise<boolean> {
    const marked = this.db
      .update(socialSessions)
      .set({ revokedAt: at })
      .where(live(id))
      .returning({ id: socialSessions.id })
    const [changed] = await this.db.batch([marked, this.audited(audit)])
    return changed.length > 0
  }

  async noteMissingScope(id: SocialSessionId, scope: SocialScope): Promise<void> {
    await this.db.update(socialSessions).set({ missingScope: scope }).where(eq(socialSessions.id, id))
  }

  async removeSession(id: SocialSessionId, audit: AuditEntry): Promise<boolean> {
    const removal = this.db.delete(socialSessions).where(eq(socialSessions.id, id)).returning({ id: socialSessions.id })
    const [removed] = await this.db.batch([removal, this.audited(audit)])
    return removed.length > 0
  }

  private ending(id: SocialLinkId, outcome: LinkOutcome) {
    return this.db.update(socialLinks).set({ outcome }).where(eq(socialLinks.id, id))
  }

  private audited(audit: AuditEntry) {
    return this.db.insert(auditLog).values(auditRow(audit))
  }
}

function live(id: SocialSessionId) {
  return and(eq(socialSessions.id, id), isNull(socialSessions.revokedAt))
}

function tokenColumns({ access, refresh, accessExpiresAt }: SessionTokens) {
  return { accessToken: access, refreshToken: refresh, accessExpiresAt }
}

function rowOf({ user, tokens, ...session }: SocialSession): typeof socialSessions.$inferInsert {
  return { ...session, userId: user.id, username: user.username, name: user.name, ...tokenColumns(tokens) }
}

function approvalOf(row: typeof socialApprovals.$inferSelect): SocialApproval {
  const { linkId, proofHash, expiresAt, confirmedAt, ...session } = row
  return { session: sessionOf(session), linkId, proofHash, expiresAt, confirmedAt }
}

function sessionOf(row: typeof socialSessions.$inferSelect): SocialSession {
  const { userId, username, name, accessToken, refreshToken, accessExpiresAt, ...session } = row
  return {
    ...session,
    user: { id: userId, username, name },
    tokens: { access: accessToken, refresh: refreshToken, accessExpiresAt },
  }
}
