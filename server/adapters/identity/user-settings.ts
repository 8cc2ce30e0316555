import { createHash } from 'node:crypto'
import { and, eq, ne, sql } from 'drizzle-orm'
import type { IdentitySettings } from '../../core/accounts/identity'
import {
  identityAccount,
  identityPasskey,
  identitySession,
  identityTwoFactor,
  identityUser,
  identityVerification,
} from '../stores/libsql/schema/identity'
import type { IdentityDatabase } from './identity-database'

/** The library's provider of passwords. */
const PASSWORD = 'credential'

/** Changes by owners to the library's own rows, where it has no route or one that would expose tokens. */
export function userSettings(
  db: IdentityDatabase,
  onSessionEnd: (userId: string) => Promise<void>,
): Pick<
  IdentitySettings,
  'rename' | 'changeEmail' | 'confirmEmail' | 'passwordMark' | 'identities' | 'unlinkIdentity' | 'forget'
> {
  return {
    async rename(userId, name) {
      await db.update(identityUser).set({ name }).where(eq(identityUser.id, userId))
    },

    async changeEmail({ userId, from, to, confirmed }) {
      const taken = await db.select({ id: identityUser.id }).from(identityUser).where(eq(identityUser.email, to))
      if (taken.length > 0) return 'taken'
      try {
        const changed = await db
          .update(identityUser)
          .set({ email: to, emailVerified: confirmed })
          .where(and(eq(identityUser.id, userId), eq(identityUser.email, from)))
          .returning({ id: identityUser.id })
        return changed.length > 0 ? 'changed' : 'stale'
      } catch (error) {
        if (isTakenEmail(error)) return 'taken'
        throw error
      }
    },

    async confirmEmail(userId, email) {
      const confirmed = await db
        .update(identityUser)
        .set({ emailVerified: true })
        .where(and(eq(identityUser.id, userId), eq(identityUser.email, email)))
        .returning({ id: identityUser.id })
      return confirmed.length > 0
    },

    async passwordMark(userId) {
      const [row] = await db
        .select({ password: identityAccount.password })
        .from(identityAccount)
        .where(and(eq(identityAccount.userId, userId), eq(identityAccount.providerId, PASSWORD)))
      return row?.password ? createHash('sha256').update(row.password).digest('base64url').slice(0, 22) : null
    },

    async identities(userId) {
      const { id, providerId, createdAt } = identityAccount
      const rows = await db
        .select({ id, provider: providerId, createdAt })
        .from(identityAccount)
        .where(and(eq(identityAccount.userId, userId), ne(providerId, PASSWORD)))
        .orderBy(createdAt)
      return rows.map((row) => ({ id: row.id, provider: row.provider, linkedAt: row.createdAt.getTime() }))
    },

    async unlinkIdentity(userId, id) {
      const isTheirs = and(
        eq(identityAccount.id, id),
        eq(identityAccount.userId, userId),
        ne(identityAccount.providerId, PASSWORD),
      )
      // One statement, so that two at once do not leave the user without a way in.
      const others = sql`(SELECT count(*) FROM identity_account AS other WHERE other.user_id = ${userId}) > 1`
      const removed = await db
        .delete(identityAccount)
        .where(and(isTheirs, others))
        .returning({ id: identityAccount.id })
      if (removed.length > 0) return 'unlinked'
      return (await db.select({ id: identityAccount.id }).from(identityAccount).where(isTheirs)).length > 0
        ? 'last'
        : 'unknown'
    },

    async forget(userId, email) {
      // The password first: from here on the old one signs in no more.
      await db.delete(identityAccount).where(eq(identityAccount.userId, userId))
      // A link to a new password that was sent before would make a new one.
      await db.delete(identityVerification).where(eq(identityVerification.value, userId))
      await db.delete(identityTwoFactor).where(eq(identityTwoFactor.userId, userId))
      await db.delete(identityPasskey).where(eq(identityPasskey.userId, userId))
      await db.delete(identitySession).where(eq(identitySession.userId, userId))
      await db.update(identityUser).set({ name: 'Deleted account', email }).where(eq(identityUser.id, userId))
      await onSessionEnd(userId)
    },
  }
}

/** Another user took the email between the check and the update. */
export function isTakenEmail(error: unknown): boolean {
  let at = error
  while (at instanceof Error && at.cause instanceof Error) at = at.cause
  return at instanceof Error && at.message.includes('UNIQUE constraint failed: identity_user.email')
}
