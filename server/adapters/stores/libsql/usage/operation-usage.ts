import { sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { OperationUsage, ReadOperationUsage } from '../../../../core/apis/api-report'
import { DAY_MS } from '../../../../core/clock'
import { micros, ZERO } from '../../../../core/money'
import { QUARTER_HOUR_MS } from '../../../../core/usage/reports'
import { entries, IS_REFUND } from '../schema/ledger'
import { IS_IMPORTED_SALE, payments } from '../schema/payments'
import { requests, usageDays, usageRollup } from '../schema/usage'

/**
 * Sums of imported operations over all accounts and callers without one: of whole days, and of the last quarters of an hour. Only their names
 * contain a dot.
 */
export function operationUsage(db: LibSQLDatabase, applied: () => Promise<void>): ReadOperationUsage {
  return async (from, recentFrom) => {
    await applied()
    const [days, recent, sales, refunds] = await Promise.all([
      sumsOf(db, usageDays, sql`${usageDays.day} >= ${Math.floor(from / DAY_MS)}`),
      sumsOf(db, usageRollup, sql`${usageRollup.quarterHour} >= ${Math.floor(recentFrom / QUARTER_HOUR_MS)}`),
      salesOf(db, Math.floor(from / DAY_MS) * DAY_MS, Math.floor(recentFrom / QUARTER_HOUR_MS) * QUARTER_HOUR_MS),
      refundsOf(db, Math.floor(from / DAY_MS) * DAY_MS),
    ])
    const recentOf = new Map(recent.map((row) => [row.operation, row]))
    const used = days.map((row): OperationUsage => {
      const { calls = 0, failed = 0 } = recentOf.get(row.operation) ?? {}
      return { ...row, charged: micros(row.charged), refunded: ZERO, recentCalls: calls, recentFailed: failed }
    })
    return joined(used, [...sales, ...refunds])
  }
}

const NO_USE = { calls: 0, served: 0, failed: 0, charged: ZERO, refunded: ZERO, recentCalls: 0, recentFailed: 0 }

/** Both, by operation. */
function joined(used: readonly OperationUsage[], sales: readonly OperationUsage[]): readonly OperationUsage[] {
  const all = new Map(used.map((row) => [row.operation, row]))
  for (const sale of sales) {
    const row = all.get(sale.operation)
    all.set(sale.operation, row ? plus(row, sale) : sale)
  }
  return [...all.values()]
}

function plus(row: OperationUsage, sale: OperationUsage): OperationUsage {
  return {
    ...row,
    calls: row.calls + sale.calls,
    served: row.served + sale.served,
    charged: micros(row.charged + sale.charged),
    refunded: micros(row.refunded + sale.refunded),
    recentCalls: row.recentCalls + sale.recentCalls,
  }
}

/** Calls that were paid for one by one. They have no account, so they are in no sums of usage; those that failed were not paid. */
async function salesOf(db: LibSQLDatabase, from: number, recentFrom: number): Promise<readonly OperationUsage[]> {
  const { operation, amount, createdAt } = payments
  const rows = await db
    .select({
      operation,
      calls: sql<number>`count(*)`,
      charged: sql<number>`sum(${amount})`,
      recentCalls: sql<number>`sum(iif(${createdAt} >= ${recentFrom}, 1, 0))`,
    })
    .from(payments)
    .where(sql`${createdAt} >= ${from} AND ${IS_IMPORTED_SALE}`)
    .groupBy(operation)
  return rows.map((row) => ({ ...NO_USE, ...row, served: row.calls, charged: micros(row.charged) }))
}

async function refundsOf(db: LibSQLDatabase, from: number): Promise<readonly OperationUsage[]> {
  const rows = await db.all<{ operation: string; refunded: number }>(sql`
    SELECT r.operation AS operation, sum(e.amount) AS refunded FROM ${entries} e CROSS JOIN ${requests} r ON r.id = e.request_id
    WHERE ${IS_REFUND} AND e.at >= ${from} AND instr(r.operation, '.') > 0 GROUP BY 1`)
  return rows.map(({ operation, refunded }) => ({ ...NO_USE, operation, refunded: micros(refunded) }))
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
