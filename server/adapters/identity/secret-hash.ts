import { createHmac } from 'node:crypto'
import { eq, like, not, sql } from 'drizzle-orm'
import type { BatchItem } from 'drizzle-orm/batch'
import { identitySession } from '../stores/libsql/schema/identity'
import { oauthDeviceCode } from '../stores/libsql/schema/oauth'
import type { IdentityDatabase } from './identity-database'

/** The columns, by the library's names, whose secrets the library would store in plain text. */
export const SECRET_FIELDS: Readonly<Record<string, readonly string[]>> = {
  session: ['token'],
  deviceCode: ['deviceCode', 'userCode'],
}

/** The stored form of a secret: a keyed hash, so that not even an eight-letter code can be guessed without the gateway's key. */
export type SecretHash = (model: string, field: string, secret: string) => string

/** No token or code of the library starts with this. */
const PREFIX = 'hmac:'
const ROWS_AT_ONCE = 500

export function secretHash(key: string): SecretHash {
  return (model, field, secret) =>
    PREFIX + createHmac('sha256', key).update(`${model}.${field}\n${secret}`).digest('base64url')
}

/** Hashes secrets that an earlier version stored in plain text. Users stay signed in. Idempotent. */
export async function hashStoredSecrets(db: IdentityDatabase, key: string): Promise<void> {
  const hash = secretHash(key)
  const { id, token, updatedAt } = identitySession
  await inPages(
    () => db.select({ id, token }).from(identitySession).where(isPlain(token)).limit(ROWS_AT_ONCE),
    (row) => {
      const set = { token: hash('session', 'token', row.token), updatedAt: sql`${updatedAt}` }
      return db.update(identitySession).set(set).where(eq(id, row.id))
    },
    db,
  )
  const codes = oauthDeviceCode
  await inPages(
    () => db.select().from(codes).where(isPlain(codes.deviceCode)).limit(ROWS_AT_ONCE),
    (row) => {
      const deviceCode = hash('deviceCode', 'deviceCode', row.deviceCode)
      const userCode = hash('deviceCode', 'userCode', row.userCode)
      return db.update(codes).set({ deviceCode, userCode }).where(eq(codes.id, row.id))
    },
    db,
  )
}

/** Each page is one batch; rows that it changed do not appear on the next page. */
async function inPages<R>(
  page: () => PromiseLike<R[]>,
  change: (row: R) => BatchItem<'sqlite'>,
  db: IdentityDatabase,
): Promise<void> {
  for (;;) {
    const [first, ...rest] = (await page()).map(change)
    if (!first) return
    await db.batch([first, ...rest])
  }
}

function isPlain(column: typeof identitySession.token | typeof oauthDeviceCode.deviceCode) {
  return not(like(column, `${PREFIX}%`))
}
