import { and, desc, eq, sql } from 'drizzle-orm'
import type { Identity } from '../../core/accounts/identity'
import { identityUser } from '../stores/libsql/schema/identity'
import type { IdentityDatabase } from './identity-database'

const { id, email, name, emailVerified, createdAt } = identityUser

/** Looks up users in the library's own table. */
export function userDirectory(db: IdentityDatabase): Pick<Identity, 'user' | 'userByEmail' | 'search'> {
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

    async search(text, limit, after) {
      const pattern = `%${text.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`
      return db
        .select({ id, email, name })
        .from(identityUser)
        .where(
          and(
            sql`(lower(${email}) LIKE ${pattern} ESCAPE '\\' OR lower(${name}) LIKE ${pattern} ESCAPE '\\')`,
            after === null
              ? undefined
              : sql`(${createdAt}, ${id}) < (SELECT ${createdAt}, ${id} FROM ${identityUser} WHERE ${id} = ${after})`,
          ),
        )
        .orderBy(desc(createdAt), desc(id))
        .limit(limit)
    },
  }
}
