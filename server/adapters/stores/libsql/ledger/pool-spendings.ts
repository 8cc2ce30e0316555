import { sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { PoolId } from '../../../../core/ids'
import type { PoolSpending } from '../../../../core/ledger/hold'
import { micros } from '../../../../core/money'
import { QUARTER_HOUR_MS } from '../../../../core/usage/reports'

/**
 * The spending of pools, each since its own start time and in all, in the order asked for. What it spent since then is what the keys and apps below
 * it were charged, from the summary that every charge updates: a key is at most three steps below. Pools that do not exist are left out. One
 * statement, so all of it is of one moment.
 */
export async function poolSpendings(
  db: LibSQLDatabase,
  windows: readonly (readonly [PoolId, number])[],
): Promise<readonly (PoolSpending & { readonly id: PoolId })[]> {
  const asked = JSON.stringify(windows.map(([pool, from]) => [pool, Math.floor(from / QUARTER_HOUR_MS)]))
  const rows = await db.all<{ id: PoolId; inAll: number; inPeriod: number }>(sql`
    SELECT p.id AS id, p.spent AS inAll, (
      SELECT coalesce(sum(u.charged), 0) FROM (
        SELECT key_id, sum(charged) AS charged FROM usage_rollup
        WHERE account_id = p.account_id AND slot >= w.value->>1 GROUP BY key_id) u
      WHERE p.kind = 'account' OR EXISTS (
        SELECT 1 FROM pools c LEFT JOIN pools g ON g.id = c.parent_id
        WHERE c.id = coalesce((SELECT pool_id FROM keys WHERE id = u.key_id), (SELECT pool_id FROM connections WHERE id = u.key_id))
          AND p.id IN (c.id, c.parent_id, g.parent_id))) AS inPeriod
    FROM json_each(${asked}) w JOIN pools p ON p.id = w.value->>0 ORDER BY w.key`)
  return rows.map(({ id, inAll, inPeriod }) => ({ id, inAll: micros(inAll), inPeriod: micros(inPeriod) }))
}
