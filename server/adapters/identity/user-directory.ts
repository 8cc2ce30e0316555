import { eq } from 'drizzle-orm'
import type { Identity } from '../../core/accounts/identity'
import { identityUser } from '../stores/libsql/schema/identity'
import type { IdentityDatabase } from './identity-database'

const { id, email, name, emailVerified } = identityUser

/** Looks up users in the library's own table. */
export function userDirectory(db: IdentityDatabase): Pick<Identity, 'user' | 'userByEmail'> {
  return {
    async user(wanted) {
      const rows = await db.select({ id, email, name }).from(identityUser).where(eq(id, wanted))
      return rows[0] ?? null
    },

    async userByEmail(wanted) {
      // Addresses are stored in lower case, under a unique index.
      const rows = await db
        .select({ id, email, name, emailConfirmed: emailVerified })
        .from(identityUser)
        .where(eq(email, wanted.toLowerCase()))
      return rows[0] ?? null
    },
  }
}
