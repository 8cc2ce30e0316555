import { BUDGET_TEXT as TEXT } from '../../messages/budgets.ts'
import { costUsd, usdMicros } from '../format/money.ts'
import { formatDateTime, formatUntil, useNow } from '../format/time.tsx'
import { BudgetMeter } from './budget-meter.tsx'
import { type Budgeted, currentBudgets } from './current-budgets.ts'

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
