import type { BudgetWindow, PoolBudget } from '../../../core/ledger/hold'
import { type Money, micros, minus, plus, ZERO } from '../../../core/money'
import { periodAround } from '../../../core/usage/calendar'

/** A period of a budget: what was spent in it, and what is held by calls that began in it. */
interface Period {
  readonly start: number
  readonly end: number
  spent: Money
  held: Money
}

/** The number of periods to keep, so that a clock that is set back finds them again. The ones farthest from now are dropped first. */
const KEPT_PERIODS = 8

/**
 * A pool's budget and its counters. A call belongs to the period in which it began, even if it ends in a later one, as in the ledger's
 * own summary. Periods follow the clock: a call while the clock is far ahead does not affect today's period.
 */
export class BudgetCounter {
  /** Its period and its time zone stay. */
  budget: PoolBudget
  private periods: readonly Period[]

  /** `spent`: in the period at `at`; `spentBefore`: in the one before, if a call may still belong to it. */
  constructor(budget: PoolBudget, at: number, spent: Money, spentBefore = ZERO) {
    this.budget = budget
    const current = { ...this.open(at), spent }
    this.periods = spentBefore === 0 ? [current] : [current, { ...this.open(current.start - 1), spent: spentBefore }]
  }

  /** Whether it counts in the same periods. */
  hasPeriodsOf({ period, timezone }: PoolBudget): boolean {
    return this.budget.period === period && this.budget.timezone === timezone
  }

  /** Whether a call that began at `at` may hold so much more. */
  allows(at: number, amount: Money): boolean {
    const { spent, held } = this.periodOf(at)
    return spent + held + amount <= this.limitAt(at)
  }

  hold(at: number, amount: Money): void {
    const period = this.periodOf(at)
    period.held = plus(period.held, amount)
  }

  /** Ends a hold. */
  settle(at: number, held: Money, spent: number): void {
    const period = this.periodOf(at)
    period.held = minus(period.held, held)
    period.spent = micros(period.spent + spent)
  }

  /** Adds to what was spent, at least down to nothing. */
  corrected(at: number, amount: number): void {
    const period = this.periodOf(at)
    period.spent = micros(Math.max(0, period.spent + amount))
  }

  startOf(at: number): number {
    return this.periodOf(at).start
  }

  window(at: number): BudgetWindow {
    const { start, end, spent, held } = this.periodOf(at)
    return { period: this.budget.period, limit: this.limitAt(at), startsAt: start, endsAt: end, spent, held }
  }

  private limitAt(at: number): Money {
    const { limit, raise } = this.budget
    return raise && at < raise.until ? plus(limit, raise.amount) : limit
  }

  /** The period that a call which began at `at` belongs to. One with open calls is the same until they have ended. */
  private periodOf(at: number): Period {
    for (const known of this.periods) if (at >= known.start && at < known.end) return known
    const opened = this.open(at)
    this.periods = [opened, ...this.nearestPeriods(at)]
    return opened
  }

  /** Periods with open calls, and the nearest of the others. */
  private nearestPeriods(at: number): readonly Period[] {
    const away = ({ start }: Period) => Math.abs(start - at)
    const nearest = [...this.periods].sort((one, other) => away(one) - away(other))
    return nearest.filter(({ held }, index) => held > 0 || index < KEPT_PERIODS - 1)
  }

  private open(at: number): Period {
    return { ...periodAround(at, this.budget.period, this.budget.timezone), spent: ZERO, held: ZERO }
  }
}
