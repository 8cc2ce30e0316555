import { desc, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { LastTimes } from '../../../core/ledger/clock-check'
import { auditLog } from './schema/accounts'
import { entries } from './schema/ledger'

/** When the data was last written to, by the order of writing: a row of a wrong time counts only while it is the last one. */
export async function lastTimes(db: LibSQLDatabase): Promise<LastTimes> {
  const [entry] = await db.select({ at: entries.at }).from(entries).orderBy(desc(entries.seq)).limit(1)
  const [audit] = await db.select({ at: auditLog.at }).from(auditLog).orderBy(sql`rowid DESC`).limit(1)
  return { entry: entry?.at ?? null, audit: audit?.at ?? null }
}
