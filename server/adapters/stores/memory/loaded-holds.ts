import type { AccountId, PoolId } from '../../../core/ids'
import { accountPool } from '../../../core/ids'
import type {
  HoldStore,
  PoolBudget,
  PoolOpening,
  PoolSpending,
  RestorableCounters,
  StoredCounters,
  StoredPool,
} from '../../../core/ledger/hold'
import type { Money } from '../../../core/money'
import { ZERO } from '../../../core/money'
import { MemoryHolds } from './holds'

/**
 * Counters that are read from the tables at their first use, so that a start serves at once, however many accounts there are (ADR 60). A row in memory
 * stays there and is never read again. Rows not in memory are unchanged since this process became the owner, because every change needs them there
 * first: so the tables are right about them.
 */
export class LoadedHolds extends MemoryHolds implements RestorableCounters {
  private stored: StoredCounters | null = null

  readFrom(stored: StoredCounters): void {
    this.stored = stored
  }

  override load(
    account: AccountId,
    pool: PoolId | null = null,
    scope: string | null = null,
    at = 0,
  ): Promise<void> | null {
    const lacksPool = pool !== null && !this.hasPool(pool)
    if (lacksPool || !this.hasAccount(account)) return this.readAll(account, pool, scope, at)
    return pool === null || scope === null || !this.lacksScope(pool, scope) ? null : this.readScope(pool, scope, at)
  }

  override balance(id: AccountId): ReturnType<HoldStore['balance']> {
    return this.hasAccount(id) ? super.balance(id) : this.readAccount(id).then(() => super.balance(id))
  }

  override pool(id: PoolId, at: number): ReturnType<MemoryHolds['pool']> {
    return this.hasPool(id) ? super.pool(id, at) : this.readPool(id).then(() => super.pool(id, at))
  }

  override async openAccount(id: AccountId): Promise<void> {
    await this.load(id)
    return super.openAccount(id)
  }

  override async openPool(opening: PoolOpening): Promise<void> {
    await this.load(opening.account, opening.id)
    if (opening.parent) await this.knownPool(opening.parent)
    return super.openPool(opening)
  }

  override async setPoolLimit(id: PoolId, limit: Money | null): Promise<void> {
    await this.knownPool(id)
    return super.setPoolLimit(id, limit)
  }

  override async setPoolBudgets(
    id: PoolId,
    budgets: readonly PoolBudget[],
    at: number,
    spendings: readonly PoolSpending[],
  ): Promise<void> {
    await this.knownPool(id)
    return super.setPoolBudgets(id, budgets, at, spendings)
  }

  override async movePool(
    id: PoolId,
    parent: PoolId | null,
    at: number,
    spendings: ReadonlyMap<number, PoolSpending>,
  ): Promise<void> {
    await this.knownPool(id)
    if (parent !== null) await this.knownPool(parent)
    return super.movePool(id, parent, at, spendings)
  }

  /** Until what was read is still true: a scope may have been read, charged and left meanwhile. */
  private async readScope(pool: PoolId, scope: string, at: number): Promise<void> {
    for (;;) {
      const scopes = this.scopesOf(pool)
      if (scopes === null) return
      const { departures, budget } = scopes
      const found = (await this.stored?.scope(pool, scope, budget.period)) ?? { at, spent: ZERO, spentBefore: ZERO }
      if (this.scopesOf(pool) !== scopes || scopes.departures !== departures) continue
      if (this.lacksScope(pool, scope)) this.addScope(pool, scope, found)
      return
    }
  }

  /** The scope last: its pool says whether there are any. */
  private async readAll(account: AccountId, pool: PoolId | null, scope: string | null, at: number): Promise<void> {
    const isPoolHere = pool === null || this.hasPool(pool)
    const [row] = await Promise.all([
      isPoolHere ? null : this.stored?.pool(pool),
      this.hasAccount(account) ? null : this.readAccount(account),
    ])
    if (!isPoolHere) await this.place(pool, row)
    if (pool !== null && scope !== null && this.lacksScope(pool, scope)) await this.readScope(pool, scope, at)
  }

  /** With its own pool, so that nothing of the account is ever held without it. */
  private async readAccount(id: AccountId): Promise<void> {
    const own = accountPool(id)
    const [account, pool] = await Promise.all([this.stored?.account(id), this.stored?.pool(own)])
    // Somebody else may have read it meanwhile, and changed it since.
    if (!account || this.hasAccount(id)) return
    this.restoreAccount(id, account.credit, account.paid, account.toppedUp, account.debt)
    if (pool) this.restore(own, pool)
  }

  private async knownPool(id: PoolId): Promise<void> {
    if (!this.hasPool(id)) await this.readPool(id)
  }

  private async readPool(id: PoolId): Promise<void> {
    await this.place(id, await this.stored?.pool(id))
  }

  /** After its account and its parent. */
  private async place(id: PoolId, pool: StoredPool | null | undefined): Promise<void> {
    if (!pool || this.hasPool(id)) return
    if (!this.hasAccount(pool.accountId)) await this.readAccount(pool.accountId)
    if (pool.parentId) await this.knownPool(pool.parentId)
    if (!this.hasPool(id)) this.restore(id, pool)
  }

  private restore(
    id: PoolId,
    { accountId: account, limit, spent, parentId: parent, kind, budgets, scopeBudget }: StoredPool,
  ): void {
    this.restorePool({ id, account, limit, parent, kind }, spent, budgets, scopeBudget)
  }
}
