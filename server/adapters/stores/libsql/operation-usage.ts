import { gte, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { ReadOperationUsage } from '../../../core/apis/api-report'
import { micros } from '../../../core/money'
import { SLOT_MS } from './journal/group-statements'
import { usageRollup } from './schema/usage'

/** Sums of imported operations over all accounts, from the rollup. Only their names contain a dot. */
export function operationUsage(db: LibSQLDatabase, applied: () => Promise<void>): ReadOperationUsage {
  const { operation, slot, status, requests, charged } = usageRollup
  return async (from, recentFrom) => {
    await applied()
    const isRecent = sql`${slot} >= ${Math.floor(recentFrom / SLOT_MS)}`
    const isServed = sql`${status} < 400`
    const isFailed = sql`${status} >= 500`
    const rows = await db
      .select({
        operation,
        calls: sql<number>`sum(${requests})`,
        served: sql<number>`sum(iif(${isServed}, ${requests}, 0))`,
        failed: sql<number>`sum(iif(${isFailed}, ${requests}, 0))`,
        charged: sql<number>`sum(${charged})`,
        recentCalls: sql<number>`sum(iif(${isRecent}, ${requests}, 0))`,
        recentFailed: sql<number>`sum(iif(${isRecent} AND ${isFailed}, ${requests}, 0))`,
      })
      .from(usageRollup)
      .where(sql`${gte(slot, Math.floor(from / SLOT_MS))} AND instr(${operation}, '.') > 0`)
      .groupBy(operation)
    return rows.map((row) => ({ ...row, charged: micros(row.charged) }))
  }
}
