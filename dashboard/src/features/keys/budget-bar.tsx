import type { ApiKey } from '../../api/keys.ts'
import { KEY_TEXT as TEXT } from '../../messages/keys.ts'
import { Meter } from '../../ui/charts/meter.tsx'
import { costUsd } from '../../ui/money.ts'
import { exactTime, untilWords, useNow } from '../../ui/time.tsx'

const MICROS = 1_000_000

/** What is spent of the period that runs, in words and as a bar, and when the next one begins. */
export function BudgetBar({ apiKey }: { apiKey: ApiKey }) {
  const now = useNow()
  const { budget, budget_window: window } = apiKey
  if (budget === null || window === null) return null
  const most = Math.round(budget.limit_usd * MICROS)
  const text = TEXT.spentOf(costUsd(window.spent_micros_usd), costUsd(most))
  return (
    <div className="grid max-w-xs gap-1">
      <span>{text}</span>
      <Meter label={TEXT.budget} used={window.spent_micros_usd} most={most} text={text} />
      <time dateTime={window.ends_at} title={exactTime(window.ends_at)} className="small text-muted">
        {TEXT.budgetStartsAnew(untilWords(window.ends_at, now))}
      </time>
    </div>
  )
}
