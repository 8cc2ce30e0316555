import { and, inArray, like, not } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { identityUser } from '../schema/identity'

const USERS_AT_ONCE = 500

/** A closed account has no address. */
const HAS_ADDRESS = not(like(identityUser.email, '%.invalid'))

/** Where users get mail. Read by itself, because users are in another database than accounts once there are several (ADR 45). */
export class LibsqlUserAddresses {
  private readonly db: LibSQLDatabase

  constructor(db: LibSQLDatabase) {
    this.db = db
  }

  /** Adds the address to each row, and leaves out the users that have none. */
  async addedTo<T extends { readonly userId: string }>(
    rows: readonly T[],
  ): Promise<(Omit<T, 'userId'> & { readonly email: string })[]> {
    const { id, email } = identityUser
    const addresses = new Map<string, string>()
    for (let i = 0; i < rows.length; i += USERS_AT_ONCE) {
      const users = rows.slice(i, i + USERS_AT_ONCE).map(({ userId }) => userId)
      const found = await this.db
        .select({ id, email })
        .from(identityUser)
        .where(and(inArray(id, users), HAS_ADDRESS))
      for (const user of found) addresses.set(user.id, user.email)
    }
    return rows.flatMap(({ userId, ...row }) => {
      const address = addresses.get(userId)
      return address === undefined ? [] : [{ ...row, email: address }]
    })
  }
}
