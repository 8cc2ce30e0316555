import { BUDGET_TEXT as TEXT } from '../../messages/budgets.ts'
import { LabeledMeter } from '../charts/meter.tsx'
import { costUsd } from '../format/money.ts'
import type { CurrentBudget } from './current-budgets.ts'

/** How much of a budget its current period has used, as text and as a bar. */
export function BudgetMeter({ current: { budget, window, limit } }: { current: CurrentBudget }) {
  const text = TEXT.spentOf(costUsd(window.spent_micros_usd), costUsd(limit), budget.period)
  return <LabeledMeter label={TEXT.periods[budget.period]} used={window.spent_micros_usd} max={limit} text={text} />
}
