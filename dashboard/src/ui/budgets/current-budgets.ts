import { usdMicros } from '../format/money.ts'

export const BUDGET_PERIODS = ['day', 'week', 'month'] as const
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number]

/** A budget as the API has it. */
export interface Budget {
  readonly limit_usd: number
  readonly period: BudgetPeriod
  readonly timezone: string
  readonly raise?: { readonly usd: number; readonly until: string } | null
}

/** The current period of a budget. */
interface BudgetWindow {
  readonly period: BudgetPeriod
  readonly spent_micros_usd: number
  readonly remaining_micros_usd: number
  readonly ends_at: string
}

/** What has budgets: a key, a member, a workspace. */
export interface Budgeted {
  readonly budgets: readonly Budget[]
  readonly budget_windows: readonly BudgetWindow[]
}

/** A budget with its current period, and its limit with what it is raised by. */
export interface CurrentBudget {
  readonly budget: Budget
  readonly window: BudgetWindow
  readonly limit: number
}

/** The budgets in the order of their lengths. */
export function currentBudgets({ budgets, budget_windows: windows }: Budgeted): readonly CurrentBudget[] {
  return budgets.flatMap((budget) => {
    const window = windows.find(({ period }) => period === budget.period)
    return window ? [{ budget, window, limit: usdMicros(budget.limit_usd) + usdMicros(budget.raise?.usd ?? 0) }] : []
  })
}

/** The budget that has the least left; of several the one that resets last. */
export function bindingBudget(of: Budgeted): CurrentBudget | null {
  const left = ({ window }: CurrentBudget) => window.remaining_micros_usd
  return currentBudgets(of).reduce<CurrentBudget | null>(
    (least, one) => (least === null || left(one) <= left(least) ? one : least),
    null,
  )
}
