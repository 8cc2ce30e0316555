import type { AccountId, PoolId } from '../../../core/ids'
import type {
  BudgetWindow,
  CountedIn,
  Exhausted,
  PoolBudget,
  PoolKind,
  PoolOpening,
  PoolReading,
  PoolSpending,
  SpentWindow,
} from '../../../core/ledger/hold'
import { type Money, micros, minus, plus, ZERO } from '../../../core/money'
import { BudgetCounter } from './budget-counter'

/** The account of a pool, which may have a pool of its own. */
export interface PoolOwner {
  /** In which all of the account counts; null without budgets of its own. */
  pool: PoolCounters | null
}

/** No pool has more. */
const NONE: readonly BudgetCounter[] = []

/**
 * The counters of one pool, linked to its ancestors: what it holds and spends counts in each of them. A walk along the chain is one step of the
 * process, and allocates nothing.
 */
export class PoolCounters {
  readonly id: PoolId
  readonly accountId: AccountId
  readonly kind: PoolKind
  limit: Money | null
  spent: Money
  held: Money = ZERO
  budgets: readonly BudgetCounter[] = NONE
  parent: PoolCounters | null
  readonly owner: PoolOwner

  constructor(
    { id, account, limit, kind = 'key' }: PoolOpening,
    spent: Money,
    parent: PoolCounters | null,
    owner: PoolOwner,
  ) {
    this.id = id
    this.accountId = account
    this.limit = limit
    this.spent = spent
    this.kind = kind
    this.parent = parent
    this.owner = owner
  }

  /** The next pool of the chain. The last one is that of the account, if it has one. */
  get above(): PoolCounters | null {
    if (this.parent !== null) return this.parent
    const { pool } = this.owner
    return pool === this ? null : pool
  }

  isBelow(ancestor: PoolCounters): boolean {
    for (let pool: PoolCounters | null = this; pool !== null; pool = pool.above) if (pool === ancestor) return true
    return false
  }

  /** Why a call that began at `at` may not hold so much more: this pool first, then the nearest ancestor. Null if it may. */
  exhausted(at: number, amount: Money): Exhausted | null {
    for (let pool: PoolCounters | null = this; pool !== null; pool = pool.above) {
      const { id, kind, limit, spent, held, budgets } = pool
      if (limit !== null && spent + held + amount > limit) return { pool: id, kind, window: null }
      for (const budget of budgets) if (!budget.allows(at, amount)) return { pool: id, kind, window: budget.window(at) }
    }
    return null
  }

  hold(at: number, amount: Money): void {
    for (let pool: PoolCounters | null = this; pool !== null; pool = pool.above) pool.holdHere(at, amount)
  }

  /** In this pool alone, for a hold that its descendants had before. */
  holdHere(at: number, amount: Money): void {
    this.held = plus(this.held, amount)
    for (const budget of this.budgets) budget.hold(at, amount)
  }

  /** Ends a hold of a call that began at `at`. */
  settle(at: number, held: Money, spent: number): void {
    for (let pool: PoolCounters | null = this; pool !== null; pool = pool.above) {
      pool.held = minus(pool.held, held)
      pool.spent = micros(pool.spent + spent)
      for (const budget of pool.budgets) budget.settle(at, held, spent)
    }
  }

  /** Adds to what was spent. `at`: when the call began; without it no budget changes. */
  corrected(at: number | undefined, amount: number): void {
    for (let pool: PoolCounters | null = this; pool !== null; pool = pool.above) {
      pool.spent = micros(pool.spent + amount)
      if (at !== undefined) for (const budget of pool.budgets) budget.corrected(at, amount)
    }
  }

  /** In all, of this pool alone: no budget changes. */
  addSpent(amount: number): void {
    this.spent = micros(this.spent + amount)
  }

  /**
   * A pool that spent `inAll` comes below this one, or with -1 leaves it: budgets along the chain count what it spent in their periods at `at`.
   * `spendings`: what of that was durable, by the start of the period.
   */
  moved(at: number, sign: 1 | -1, inAll: Money, spendings: ReadonlyMap<number, PoolSpending>): void {
    for (let pool: PoolCounters | null = this; pool !== null; pool = pool.above)
      for (const budget of pool.budgets) {
        const durable = spendings.get(budget.startOf(at))
        if (durable) budget.corrected(at, sign * (durable.inPeriod + inAll - durable.inAll))
      }
  }

  /** A scope is in no table: its charges name it. */
  counted(at: number): CountedIn | null {
    if (this.kind === 'scope') return this.parent?.counted(at) ?? null
    if (this.above === null && this.budgets.length === 0) return null
    const parents: PoolId[] = []
    const windows: SpentWindow[] = []
    for (let pool: PoolCounters | null = this; pool !== null; pool = pool.above) {
      if (pool !== this) parents.push(pool.id)
      for (const budget of pool.budgets) windows.push([pool.id, budget.budget.period, budget.startOf(at)])
    }
    return { parents, windows }
  }

  /** The budgets that replace those before. Returns those whose counters are new: they have no holds yet. */
  setBudgets(budgets: readonly PoolBudget[], at: number, spendings: readonly PoolSpending[]): readonly BudgetCounter[] {
    const made: BudgetCounter[] = []
    this.budgets = budgets.map((budget, i) => {
      const known = this.budgets.find((one) => one.hasPeriodsOf(budget))
      if (known) {
        known.budget = budget
        return known
      }
      const { inPeriod, inAll } = spendings[i] ?? { inPeriod: ZERO, inAll: ZERO }
      const counter = new BudgetCounter(budget, at, plus(inPeriod, micros(this.spent - inAll)))
      made.push(counter)
      return counter
    })
    return made
  }

  reading(at: number): PoolReading {
    const { id, accountId, limit, spent, held } = this
    const windows = this.budgets.map((budget) => budget.window(at))
    return { id, accountId, limit, spent, held, windows, remaining: this.left(null), available: this.left(at) }
  }

  /** The least that is left of the limits of the chain; and at `at` of its budgets too, without what is held. Null without any. */
  private left(at: number | null): Money | null {
    let least = Number.POSITIVE_INFINITY
    const take = ({ limit, spent, held }: Pick<BudgetWindow, 'limit' | 'spent' | 'held'>) => {
      least = Math.min(least, Math.max(0, limit - spent - (at === null ? 0 : held)))
    }
    for (let pool: PoolCounters | null = this; pool !== null; pool = pool.above) {
      const { limit, spent, held } = pool
      if (limit !== null) take({ limit, spent, held })
      if (at !== null) for (const budget of pool.budgets) take(budget.window(at))
    }
    return Number.isFinite(least) ? micros(least) : null
  }
}
