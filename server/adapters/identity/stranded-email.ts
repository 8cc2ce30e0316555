import { and, eq, lt, notExists } from 'drizzle-orm'
import { identityAccount, identityUser } from '../stores/libsql/schema/identity'
import type { IdentityDatabase } from './identity-database'

/** Longer than the time between the two writes of a sign-up in progress. */
const UNDER_WAY_MS = 10_000

/**
 * Frees the email of a sign-up that crashed between its two writes (user, then password; they share no transaction). Such a
 * user could neither sign in nor sign up again, and nothing else refers to it: onSignUp runs after both writes.
 */
export async function freeStrandedEmail(db: IdentityDatabase, body: unknown, nowMs: number): Promise<void> {
  if (typeof body !== 'object' || body === null || !('email' in body) || typeof body.email !== 'string') return
  const password = db
    .select({ id: identityAccount.id })
    .from(identityAccount)
    .where(eq(identityAccount.userId, identityUser.id))
  await db
    .delete(identityUser)
    .where(
      and(
        eq(identityUser.email, body.email.toLowerCase()),
        lt(identityUser.createdAt, new Date(nowMs - UNDER_WAY_MS)),
        notExists(password),
      ),
    )
}
