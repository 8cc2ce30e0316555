import { sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { DAY_MS } from '../../../../core/clock'
import type { Budget } from '../../../../core/credentials/api-key'
import type { PoolId } from '../../../../core/ids'
import type { StoredBudget } from '../../../../core/ledger/hold'
import { micros } from '../../../../core/money'
import { periodAround } from '../../../../core/usage/calendar'

export type ScopeSpending = Omit<StoredBudget, 'budget'>

/** A lookup of what a scope of a pool spent. */
export function scopeName(pool: PoolId, scope: string, period: Budget['period']): string {
  return [period, pool, scope].join(' ')
}

/** What scopes spent in the period at `at`, and in the one before, by their names. Those that spent nothing are missing. One statement. */
export async function scopeSpendings(
  db: LibSQLDatabase,
  names: readonly string[],
  at: number,
): Promise<ReadonlyMap<string, ScopeSpending>> {
  const asked = names.map((name) => {
    const [period, pool, scope] = name.split(' ') as [Budget['period'], PoolId, string] // by `scopeName`
    const { start } = periodAround(at, period, 'UTC')
    return [name, pool, scope, start / DAY_MS, periodAround(start - 1, period, 'UTC').start / DAY_MS]
  })
  const rows = await db.all<{ name: string; spent: number; spentBefore: number }>(sql`
    SELECT w.value->>0 AS name, sum(iif(u.day >= w.value->>3, u.charged, 0)) AS spent,
      sum(iif(u.day < w.value->>3, u.charged, 0)) AS spentBefore
    FROM json_each(${JSON.stringify(asked)}) w JOIN pools p ON p.id = w.value->>1
    JOIN usage_scopes u ON u.account_id = p.account_id AND u.scope = w.value->>2 AND u.day >= w.value->>4
    JOIN keys k ON k.id = u.key_id AND k.pool_id = p.id GROUP BY w.key`)
  return new Map(
    rows.map(({ name, spent, spentBefore }) => [name, { at, spent: micros(spent), spentBefore: micros(spentBefore) }]),
  )
}
