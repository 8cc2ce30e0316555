import { sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { PoolId } from '../../../../core/ids'
import type { PoolSpending } from '../../../../core/ledger/hold'
import { micros } from '../../../../core/money'
import { QUARTER_HOUR_MS } from '../../../../core/usage/reports'

/**
 * The spending of pools, each since its own start time and in all, in the order asked for, from the summary that every charge updates. Pools that do not
 * exist are left out. One statement, so all of it is of one moment.
 */
export async function poolSpendings(
  db: LibSQLDatabase,
  pools: readonly (readonly [PoolId, number])[],
): Promise<readonly (PoolSpending & { readonly id: PoolId })[]> {
  const windows = JSON.stringify(pools.map(([pool, from]) => [pool, Math.floor(from / QUARTER_HOUR_MS)]))
  const rows = await db.all<{ id: PoolId; inAll: number; inPeriod: number }>(sql`
    SELECT p.id AS id, p.spent AS inAll, (
      SELECT coalesce(sum(u.charged), 0) FROM keys k
      JOIN usage_rollup u ON u.account_id = k.account_id AND u.slot >= w.value->>1 AND u.key_id = k.id
      WHERE k.account_id = p.account_id AND k.pool_id = p.id) AS inPeriod
    FROM json_each(${windows}) w JOIN pools p ON p.id = w.value->>0 ORDER BY w.key`)
  return rows.map(({ id, inAll, inPeriod }) => ({ id, inAll: micros(inAll), inPeriod: micros(inPeriod) }))
}
