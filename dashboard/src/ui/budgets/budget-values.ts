import { BUDGET_TEXT as TEXT } from '../../messages/budgets.ts'
import { limitUsd } from '../format/money.ts'
import { localDay } from '../format/time.tsx'
import { BUDGET_PERIODS, type Budget, type BudgetPeriod } from './current-budgets.ts'

/** One budget as entered. Without an amount there is none. */
interface TypedBudget {
  readonly amount: string
  readonly raise: string
  /** The last day of the raise, as date fields have it. */
  readonly until: string
}
export type TypedBudgets = Readonly<Record<BudgetPeriod, TypedBudget>>

export function typedBudgets(budgets: readonly Budget[]): TypedBudgets {
  const of = (wanted: BudgetPeriod): TypedBudget => {
    const { limit_usd: limit, raise } = budgets.find(({ period }) => period === wanted) ?? {}
    return {
      amount: limit?.toString() ?? '',
      raise: raise?.usd.toString() ?? '',
      until: raise ? localDay(raise.until) : '',
    }
  }
  return { day: of('day'), week: of('week'), month: of('month') }
}

export function isAmountWrong({ amount }: TypedBudget): boolean {
  return amount.trim() !== '' && limitUsd(amount) === null
}

export function isRaiseWrong({ amount, raise, until }: TypedBudget): boolean {
  if (amount.trim() === '' || (raise.trim() === '' && until === '')) return false
  return limitUsd(raise) === null || !(endOf(until) > Date.now())
}

/** What is wrong with the first of them; undefined if nothing is. */
export function budgetsError(typed: TypedBudgets): string | undefined {
  for (const period of BUDGET_PERIODS) {
    if (isAmountWrong(typed[period])) return TEXT.wrong(period)
    if (isRaiseWrong(typed[period])) return TEXT.raiseWrong(period)
  }
  return undefined
}

/** The budgets to send. A budget keeps the time zone that it had, and a raise its end if its day is the same. */
export function toBudgets(typed: TypedBudgets, before: readonly Budget[], zone: string): Budget[] {
  return BUDGET_PERIODS.flatMap((wanted) => {
    const { amount, raise, until } = typed[wanted]
    const limit = limitUsd(amount)
    const by = limitUsd(raise)
    if (limit === null) return []
    const old = before.find(({ period }) => period === wanted)
    const timezone = old?.timezone ?? before[0]?.timezone ?? zone
    return [
      {
        limit_usd: limit,
        period: wanted,
        timezone,
        ...(by !== null && { raise: { usd: by, until: raiseEnd(until, old?.raise?.until) } }),
      },
    ]
  })
}

function raiseEnd(day: string, before: string | undefined): string {
  return before !== undefined && localDay(before) === day ? before : new Date(endOf(day)).toISOString()
}

function endOf(day: string): number {
  return Date.parse(`${day}T23:59:59`)
}
