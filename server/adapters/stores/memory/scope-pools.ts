import { MAX_SCOPES, type PoolBudget, type StoredBudget } from '../../../core/ledger/hold'
import { ZERO } from '../../../core/money'
import { BudgetCounter } from './budget-counter'
import { PoolCounters } from './pool-counters'

/** More than these leave memory while nothing is held for them: they are read again. */
const RESIDENT = 2_000

/** The budget scopes of one key's pool: what a call names is counted below it, each in a pool of its own, which is in no table. */
export class ScopePools {
  budget: PoolBudget
  private readonly key: PoolCounters
  /** The least recently read first. */
  private readonly live = new Map<string, PoolCounters>()
  /** How many with spending in the period that ends then have left memory. */
  private gone = 0
  private periodEnd = 0
  private sweepAt = RESIDENT
  /** How often any left memory: what was read before is not believed after. */
  departures = 0

  constructor(key: PoolCounters, budget: PoolBudget) {
    this.key = key
    this.budget = budget
  }

  get(scope: string): PoolCounters | null {
    return this.live.get(scope) ?? null
  }

  /** A scope as the tables have it. Null if it is new, and the key may name no further one in this period. */
  add(scope: string, { at, spent, spentBefore }: Omit<StoredBudget, 'budget'>): PoolCounters | null {
    if (at >= this.periodEnd) this.nextPeriod(at)
    if (spent === 0 && this.isFull()) return null
    const { id, accountId: account } = this.key
    const pool = new PoolCounters({ id, account, limit: null, kind: 'scope' }, spent, this.key, this.key.owner)
    pool.budgets = [new BudgetCounter(this.budget, at, spent, spentBefore)]
    if (spent > 0) this.gone = Math.max(0, this.gone - 1)
    if (this.live.size >= this.sweepAt) {
      this.leave(RESIDENT / 2, () => true)
      // What is held stays, and is not looked at again for each new name.
      this.sweepAt = Math.max(RESIDENT, 2 * this.live.size)
    }
    this.live.set(scope, pool)
    return pool
  }

  /** Another amount of the same period. */
  change(budget: PoolBudget): void {
    this.budget = budget
    for (const { budgets } of this.live.values()) for (const counter of budgets) counter.budget = budget
  }

  private isFull(): boolean {
    if (this.live.size + this.gone < MAX_SCOPES) return false
    this.leave(0, (pool) => pool.spent === 0)
    return this.live.size + this.gone >= MAX_SCOPES
  }

  /** `spent` of a scope is what its period has spent, since it is read once in it. */
  private nextPeriod(at: number): void {
    this.leave(0, () => true)
    this.gone = 0
    this.periodEnd = new BudgetCounter(this.budget, at, ZERO).window(at).endsAt
  }

  /** Those leave that hold nothing and match, until so many are left. */
  private leave(left: number, matches: (pool: PoolCounters) => boolean): void {
    for (const [scope, pool] of this.live) {
      if (this.live.size <= left) return
      if (pool.held > 0 || !matches(pool)) continue
      this.live.delete(scope)
      this.departures++
      if (pool.spent > 0) this.gone++
    }
  }
}
