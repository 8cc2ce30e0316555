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

/** A clock that is set back finds the periods that it left; further ones are forgotten, the one farthest from now first. */
const KEPT = 8

/**
 * A pool's budget and its counters. A call belongs to the period in which it began, also when it ends in a later one, as the
 * ledger's own summary has it. Periods follow the clock wherever it goes: one call while it is far ahead changes nothing of today.
 */
export class BudgetCounter {
  readonly budget: PoolBudget
  private periods: readonly Period[]

  constructor(budget: PoolBudget, at: number, spent: Money) {
    this.budget = budget
    this.periods = [{ ...this.open(at), spent }]
  }

  /** The period that a call which began at `at` belongs to. */
  periodOf(at: number): Period {
    const known = this.periods.find(({ start, end }) => at >= start && at < end)
    if (known) return known
    const opened = this.open(at)
    this.periods = [opened, ...this.kept(at)]
    return opened
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

  /** Those with calls under way, and of the others the nearest. */
  private kept(at: number): readonly Period[] {
    const away = ({ start }: Period) => Math.abs(start - at)
    const nearest = [...this.periods].sort((one, other) => away(one) - away(other))
    return nearest.filter(({ held }, index) => held > 0 || index < KEPT - 1)
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
