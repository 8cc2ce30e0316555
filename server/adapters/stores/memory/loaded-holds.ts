import type { AccountId, PoolId } from '../../../core/ids'
import type {
  BudgetWindow,
  HoldStore,
  PoolBudget,
  PoolSpending,
  RestorableCounters,
  StoredCounters,
} from '../../../core/ledger/hold'
import type { Money } from '../../../core/money'
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

  override load(account: AccountId, pool: PoolId | null = null): Promise<void> | null {
    const isPoolHere = pool === null || this.hasPool(pool)
    if (!this.hasAccount(account)) return this.readBoth(account, isPoolHere ? null : pool)
    return isPoolHere ? null : this.readPool(pool)
  }

  override balance(id: AccountId): ReturnType<HoldStore['balance']> {
    return this.hasAccount(id) ? super.balance(id) : this.readAccount(id).then(() => super.balance(id))
  }

  override pool(id: PoolId): ReturnType<MemoryHolds['pool']> {
    return this.hasPool(id) ? super.pool(id) : this.readPool(id).then(() => super.pool(id))
  }

  override async openAccount(id: AccountId): Promise<void> {
    await this.load(id)
    return super.openAccount(id)
  }

  override async openPool(
    id: PoolId,
    account: AccountId,
    limit: Money | null,
    parent: PoolId | null = null,
  ): Promise<void> {
    await this.knownPool(id)
    if (parent !== null) await this.knownPool(parent)
    return super.openPool(id, account, limit, parent)
  }

  override async setPoolLimit(id: PoolId, limit: Money | null): Promise<void> {
    await this.knownPool(id)
    return super.setPoolLimit(id, limit)
  }

  override async setPoolBudget(
    id: PoolId,
    budget: PoolBudget | null,
    at: number,
    spending: PoolSpending,
  ): Promise<void> {
    await this.knownPool(id)
    return super.setPoolBudget(id, budget, at, spending)
  }

  override async budget(id: PoolId, at: number): Promise<BudgetWindow | null> {
    await this.knownPool(id)
    return super.budget(id, at)
  }

  private async readBoth(account: AccountId, pool: PoolId | null): Promise<void> {
    await Promise.all([this.readAccount(account), pool && this.readPool(pool)])
  }

  private async readAccount(id: AccountId): Promise<void> {
    const account = await this.stored?.account(id)
    // Somebody else may have read it meanwhile, and changed it since.
    if (account && !this.hasAccount(id))
      this.restoreAccount(id, account.credit, account.paid, account.toppedUp, account.debt)
  }

  private async knownPool(id: PoolId): Promise<void> {
    if (!this.hasPool(id)) await this.readPool(id)
  }

  private async readPool(id: PoolId): Promise<void> {
    const pool = await this.stored?.pool(id)
    if (pool?.parentId) await this.knownPool(pool.parentId)
    if (!pool || this.hasPool(id)) return
    this.restorePool(id, pool.accountId, pool.limit, pool.spent, pool.parentId)
    const { budget: found } = pool
    if (found) this.restoreBudget(id, found.budget, found.at, found.spent, found.spentBefore)
  }
}
