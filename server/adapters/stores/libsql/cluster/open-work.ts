import { sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { IS_UNFINISHED, payments } from '../schema/payments'
import { keptHolds } from '../schema/usage'

/** Unfinished work in a cell: holds of streams, and payments. */
export async function openWork(
  db: LibSQLDatabase,
): Promise<{ readonly keptHolds: number; readonly unfinishedPayments: number }> {
  const [row] = await db.all<{ holds: number; unfinished: number }>(
    sql`SELECT (SELECT count(*) FROM ${keptHolds}) AS holds, (SELECT count(*) FROM ${payments} WHERE (${IS_UNFINISHED})) AS unfinished`,
  )
  return { keptHolds: row?.holds ?? 0, unfinishedPayments: row?.unfinished ?? 0 }
}
