import { eq } from 'drizzle-orm'
import { type Account, closedEmail } from '../../core/accounts/account'
import { identityUser } from '../stores/libsql/schema/identity'
import type { IdentityDatabase } from './identity-database'

/** Whether an account was closed for good: nobody can sign in to it again. */
export function closedUsers(db: IdentityDatabase) {
  return async ({ id, userId }: Account): Promise<boolean> => {
    const [user] = await db.select({ email: identityUser.email }).from(identityUser).where(eq(identityUser.id, userId))
    return user?.email === closedEmail(id)
  }
}
