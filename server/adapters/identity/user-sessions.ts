import { and, desc, eq, gt, ne, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import type { IdentitySettings } from '../../core/accounts/identity'
import { builtOnce } from '../../core/built-once'
import { MINUTE_MS } from '../../core/clock'
import { identityPasskey, identitySession, identityTwoFactor, identityUser } from '../stores/libsql/schema/identity'
import type { IdentityDatabase } from './identity-database'

const SEEN_EVERY_MS = MINUTE_MS
const MAX_SEEN = 50_000

interface SeenSessions {
  /** Notes that a session is in use, at most once a minute. Does not wait for the write. */
  seen(sessionId: string, at: number): void
  /** From now on the session counts as begun with a second factor. */
  strengthenSession(sessionId: string): Promise<void>
}

/** The sessions of users. */
export function userSessions(
  db: IdentityDatabase,
  onSessionEnd: (userId: string) => Promise<void>,
): Pick<IdentitySettings, 'sessions' | 'endSessions'> & SeenSessions {
  const { seen, seenAt } = sessionUses(db)
  return {
    seen,

    async strengthenSession(sessionId) {
      await db
        .update(identitySession)
        .set({ secondFactor: true, updatedAt: sql`${identitySession.updatedAt}` })
        .where(eq(identitySession.id, sessionId))
    },

    async sessions(userId) {
      const rows = await db
        .select()
        .from(identitySession)
        // The library measures a session's lifetime by the system clock.
        .where(and(eq(identitySession.userId, userId), gt(identitySession.expiresAt, new Date())))
        .orderBy(desc(identitySession.createdAt))
      return rows.map(({ id, createdAt, ipAddress, userAgent, lastSeenAt, secondFactor }) => ({
        id,
        signedInAt: createdAt.getTime(),
        // The last note may not be written yet.
        lastSeenAt: seenAt.get(id) ?? lastSeenAt?.getTime() ?? null,
        secondFactor: secondFactor === true,
        address: ipAddress || null,
        userAgent,
      }))
    },

    async endSessions(userId, which) {
      const chosen =
        'only' in which
          ? eq(identitySession.id, which.only)
          : 'allBut' in which
            ? ne(identitySession.id, which.allBut)
            : undefined
      const ended = await db
        .delete(identitySession)
        .where(and(eq(identitySession.userId, userId), chosen))
        .returning({ id: identitySession.id })
      if (ended.length > 0) await onSessionEnd(userId)
      return ended.length
    },
  }
}

/** The second factors that sessions begin with. */
export function userSecondFactors(
  db: IdentityDatabase,
  onSessionEnd: (userId: string) => Promise<void>,
): Pick<IdentitySettings, 'secondFactors' | 'resetSecondFactors'> {
  const factors = builtOnce(() => factorQuery(db))
  return {
    async secondFactors(userId) {
      const [found] = await factors().all({ userId })
      const stored = found?.codes ?? null
      const codes: unknown = stored === null ? [] : JSON.parse(stored)
      return {
        app: stored !== null,
        recoveryCodes: Array.isArray(codes) ? codes.length : 0,
        passkeys: found?.passkeys ?? 0,
      }
    },

    async resetSecondFactors(userId) {
      const [app, passkeys] = await db.batch([
        db.select({ id: identityTwoFactor.id }).from(identityTwoFactor).where(eq(identityTwoFactor.userId, userId)),
        db.select({ id: identityPasskey.id }).from(identityPasskey).where(eq(identityPasskey.userId, userId)),
      ])
      // A refusal must not end a session.
      if (app.length + passkeys.length === 0) return false
      await db.batch([
        db.delete(identityTwoFactor).where(eq(identityTwoFactor.userId, userId)),
        db.delete(identityPasskey).where(eq(identityPasskey.userId, userId)),
        db.update(identityUser).set({ twoFactorEnabled: false }).where(eq(identityUser.id, userId)),
        db.delete(identitySession).where(eq(identitySession.userId, userId)),
      ])
      await onSessionEnd(userId)
      return true
    },
  }
}

function sessionUses(db: IdentityDatabase) {
  const seenAt = new Map<string, number>()
  return {
    seenAt,
    seen(sessionId: string, at: number): void {
      if (at - (seenAt.get(sessionId) ?? 0) < SEEN_EVERY_MS) return
      if (seenAt.size >= MAX_SEEN) seenAt.clear()
      seenAt.set(sessionId, at)
      // Best effort: nothing depends on it, and the next minute writes again.
      void db
        .update(identitySession)
        .set({ lastSeenAt: new Date(at), updatedAt: sql`${identitySession.updatedAt}` })
        .where(eq(identitySession.id, sessionId))
        .catch(() => undefined)
    },
  }
}

function factorQuery(db: IdentityDatabase) {
  const ofUser = (userId: SQLiteColumn) => sql`${userId} = ${identityUser.id}`
  return db
    .select({
      codes: identityTwoFactor.backupCodes,
      passkeys: sql<number>`(SELECT count(*) FROM ${identityPasskey} WHERE ${ofUser(identityPasskey.userId)})`,
    })
    .from(identityUser)
    .leftJoin(identityTwoFactor, and(ofUser(identityTwoFactor.userId), eq(identityTwoFactor.verified, true)))
    .where(eq(identityUser.id, sql.placeholder('userId')))
    .prepare()
}
