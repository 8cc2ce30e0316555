import type { BudgetWindow, PoolBudget } from '../../../core/ledger/hold'
import { type Money, micros, minus, plus, ZERO } from '../../../core/money'
import { periodAround } from '../../../core/usage/calendar'

/** One period of a budget: what was spent in it, and what calls that began in it may still spend. */
export interface Period {
  readonly start: number
  readonly end: number
  spent: Money
  held: Money
}

/**
 * A pool's budget and its counters. A call belongs to the period in which it began, also when it ends in a later one, as the
 * ledger's own summary has it; so the period before is kept for calls that were on their way when it ended.
 */
export class BudgetCounter {
  readonly budget: PoolBudget
  private current: Period
  private before: Period | null = null

  constructor(budget: PoolBudget, at: number, spent: Money) {
    this.budget = budget
    this.current = this.open(at)
    this.current.spent = spent
  }

  /** The period that a call which began at `at` belongs to. A clock that goes back opens no period again. */
  periodOf(at: number): Period {
    if (at >= this.current.end) {
      this.before = this.current
      this.current = this.open(at)
    }
    return at < this.current.start && this.before ? this.before : this.current
  }

  allows(period: Period, amount: Money): boolean {
    return period.spent + period.held + amount <= this.budget.limit
  }

  window(at: number): BudgetWindow {
    const { start, end, spent, held } = this.periodOf(at)
    return { limit: this.budget.limit, startsAt: start, endsAt: end, spent, held }
  }

  /** A charge that went back. */
  returned(at: number, amount: Money): void {
    const period = this.periodOf(at)
    period.spent = period.spent < amount ? ZERO : minus(period.spent, amount)
  }

  private open(at: number): Period {
    return { ...periodAround(at, this.budget.period, this.budget.timezone), spent: ZERO, held: ZERO }
  }
}

export function hold(period: Period, amount: Money): void {
  period.held = plus(period.held, amount)
}

export function settle(period: Period, held: Money, spent: number): void {
  period.held = minus(period.held, held)
  period.spent = micros(period.spent + spent)
}
