import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { builtOnce } from '../../../../core/built-once'
import type { Clock } from '../../../../core/clock'
import type { Budget } from '../../../../core/credentials/api-key'
import { GatheredLookups } from '../../../../core/gathered-lookups'
import type { AccountId, PoolId } from '../../../../core/ids'
import type { StoredAccount, StoredBudget, StoredCounters, StoredPool } from '../../../../core/ledger/hold'
import { poolBudget, scopeBudget } from '../../../../core/ledger/pool-budget'
import { micros, ZERO } from '../../../../core/money'
import { periodAround } from '../../../../core/usage/calendar'
import { amongAll, asList } from '../driver/among-all'
import { accounts } from '../schema/accounts'
import { budgetsOf, pools } from '../schema/keys'
import { poolSpendings } from './pool-spendings'
import { type ScopeSpending, scopeName, scopeSpendings } from './scope-spendings'

type PoolRow = Pick<
  typeof pools.$inferSelect,
  'id' | 'accountId' | 'limit' | 'spent' | 'budgets' | 'parentId' | 'kind' | 'scopeBudget'
>

/**
 * Balances and pools as the tables have them. They may lack what is only in the log, so this is for what has not changed since the log was last
 * applied as a whole. Counters asked for at the same time are read together.
 */
export class LibsqlStoredCounters implements StoredCounters {
  private readonly db: LibSQLDatabase
  private readonly clock: Clock
  private readonly queries: ReturnType<typeof queries>
  private readonly accounts: GatheredLookups<StoredAccount>
  private readonly pools: GatheredLookups<StoredPool>
  private readonly scopes: GatheredLookups<ScopeSpending>

  /** `applied` resolves when the tables contain every acknowledged charge. */
  constructor(db: LibSQLDatabase, clock: Clock, applied: () => Promise<void>) {
    this.db = db
    this.clock = clock
    this.queries = queries(db)
    this.accounts = new GatheredLookups((ids) => this.readAccounts(ids))
    this.pools = new GatheredLookups((ids) => this.readPools(ids))
    this.scopes = new GatheredLookups(async (names) => {
      await applied()
      return scopeSpendings(db, names, clock.now())
    })
  }

  account(id: AccountId): Promise<StoredAccount | null> {
    return this.accounts.of(id)
  }

  pool(id: PoolId): Promise<StoredPool | null> {
    return this.pools.of(id)
  }

  /** A scope leaves memory, and may have been charged before. */
  async scope(pool: PoolId, scope: string, period: Budget['period']): Promise<ScopeSpending> {
    const found = await this.scopes.of(scopeName(pool, scope, period))
    return found ?? { at: this.clock.now(), spent: ZERO, spentBefore: ZERO }
  }

  private async readAccounts(ids: readonly string[]): Promise<ReadonlyMap<string, StoredAccount>> {
    const rows = await this.queries.accounts().all({ ids: asList(ids) })
    return new Map(rows.map((row) => [row.id, row]))
  }

  private async readPools(ids: readonly string[]): Promise<ReadonlyMap<string, StoredPool>> {
    const rows = await this.queries.pools().all({ ids: asList(ids) })
    const budgets = await this.budgetsOf(rows)
    return new Map(
      rows.map((row) => [
        row.id,
        { ...row, budgets: budgets.get(row.id) ?? [], scopeBudget: scopeBudget(row.scopeBudget) },
      ]),
    )
  }

  /** The budgets of those that have one. Nothing is charged to a pool while it is read here, so what it spent agrees with its row. */
  private async budgetsOf(rows: readonly PoolRow[]): Promise<ReadonlyMap<PoolId, StoredBudget[]>> {
    const at = this.clock.now()
    const periodsOf = periodStarts(at)
    const limited = rows.flatMap(({ id, budgets }) =>
      budgetsOf(budgets).map((budget) => ({ id, budget, ...periodsOf(budget) })),
    )
    if (limited.length === 0) return new Map()
    const asked = limited.flatMap(({ id, start, startBefore }) => [[id, start] as const, [id, startBefore] as const])
    const spendings = await poolSpendings(this.db, asked)
    const found = new Map<PoolId, StoredBudget[]>()
    for (const [i, { id, budget }] of limited.entries()) {
      const [current, since] = [spendings[i * 2], spendings[i * 2 + 1]]
      if (current?.id !== id || since?.id !== id) throw new Error(`the spending of ${id} was not read`)
      const [spent, spentBefore] = [current.inPeriod, micros(since.inPeriod - current.inPeriod)]
      found.set(id, [...(found.get(id) ?? []), { budget: poolBudget(budget), at, spent, spentBefore }])
    }
    return found
  }
}

/** When the period of a budget at `at` starts, and the one before. Building a calendar is expensive, and most budgets share a few time zones. */
function periodStarts(at: number) {
  const known = new Map<string, { readonly start: number; readonly startBefore: number }>()
  return ({ period, timezone }: Budget) => {
    const name = `${period} ${timezone}`
    const found = known.get(name)
    if (found) return found
    const { start } = periodAround(at, period, timezone)
    const starts = { start, startBefore: periodAround(start - 1, period, timezone).start }
    known.set(name, starts)
    return starts
  }
}

function queries(db: LibSQLDatabase) {
  const { id, credit, paid, toppedUp, debt } = accounts
  const { id: pool, accountId, limit, spent, budgets, parentId, kind, scopeBudget: ofScopes } = pools
  return {
    accounts: builtOnce(() =>
      db.select({ id, credit, paid, toppedUp, debt }).from(accounts).where(amongAll(id, 'ids')).prepare(),
    ),
    pools: builtOnce(() =>
      db
        .select({ id: pool, accountId, limit, spent, budgets, parentId, kind, scopeBudget: ofScopes })
        .from(pools)
        .where(amongAll(pool, 'ids'))
        .prepare(),
    ),
  }
}
