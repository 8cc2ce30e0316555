import { BUDGET_TEXT as TEXT } from '../../messages/budgets.ts'
import { LabeledMeter } from '../charts/meter.tsx'
import { costUsd, usdMicros } from '../format/money.ts'
import { formatDateTime, formatUntil, useNow } from '../format/time.tsx'
import { type Budgeted, type CurrentBudget, currentBudgets } from './budget-values.ts'

/** How much of a budget its current period has used, as text and as a bar. */
export function BudgetMeter({ current: { budget, window, limit } }: { current: CurrentBudget }) {
  const text = TEXT.spentOf(costUsd(window.spent_micros_usd), costUsd(limit), budget.period)
  return <LabeledMeter label={TEXT.periods[budget.period]} used={window.spent_micros_usd} max={limit} text={text} />
}

/** All budgets, each with its current period, when it resets, and until when it is raised. */
export function BudgetMeters({ of }: { of: Budgeted }) {
  const now = useNow()
  const all = currentBudgets(of)
  if (all.length === 0) return TEXT.none
  return (
    <ul className="grid max-w-xs gap-3">
      {all.map((current) => {
        const { raise, period, timezone } = current.budget
        const { ends_at: end } = current.window
        return (
          <li key={period} className="grid gap-1">
            <BudgetMeter current={current} />
            <span className="small text-muted">
              <time dateTime={end} title={formatDateTime(end)}>
                {TEXT.resets(formatUntil(end, now), timezone)}
              </time>
              {raise && (
                <span className="block">{TEXT.raised(costUsd(usdMicros(raise.usd)), formatDateTime(raise.until))}</span>
              )}
            </span>
          </li>
        )
      })}
    </ul>
  )
}
