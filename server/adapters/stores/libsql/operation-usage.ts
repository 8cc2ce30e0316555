import { sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { OperationUsage, ReadOperationUsage } from '../../../core/apis/api-report'
import { micros } from '../../../core/money'
import { SLOT_MS } from './journal/group-statements'
import { usageDays, usageRollup } from './schema/usage'

const DAY_MS = 86_400_000

/** Sums of imported operations over all accounts: of whole days, and of the last quarters of an hour. Only their names contain a dot. */
export function operationUsage(db: LibSQLDatabase, applied: () => Promise<void>): ReadOperationUsage {
  return async (from, recentFrom) => {
    await applied()
    const [days, recent] = await Promise.all([
      sumsOf(db, usageDays, sql`${usageDays.day} >= ${Math.floor(from / DAY_MS)}`),
      sumsOf(db, usageRollup, sql`${usageRollup.slot} >= ${Math.floor(recentFrom / SLOT_MS)}`),
    ])
    const recentOf = new Map(recent.map((row) => [row.operation, row]))
    return days.map((row): OperationUsage => {
      const { calls = 0, failed = 0 } = recentOf.get(row.operation) ?? {}
      return { ...row, charged: micros(row.charged), recentCalls: calls, recentFailed: failed }
    })
  }
}

function sumsOf(db: LibSQLDatabase, table: typeof usageDays | typeof usageRollup, since: ReturnType<typeof sql>) {
  const { operation, status, requests, charged } = table
  return db
    .select({
      operation,
      calls: sql<number>`sum(${requests})`,
      served: sql<number>`sum(iif(${status} < 400, ${requests}, 0))`,
      failed: sql<number>`sum(iif(${status} >= 500, ${requests}, 0))`,
      charged: sql<number>`sum(${charged})`,
    })
    .from(table)
    .where(sql`${since} AND instr(${operation}, '.') > 0`)
    .groupBy(operation)
}
