import { useQuery } from '@tanstack/react-query'
import { accountQuery } from '../../api/account.ts'
import { TIME_ZONE, usageQuery } from '../../api/usage.ts'
import { FIRST_RUN_TEXT as TEXT } from '../../messages/first-run.ts'
import { Meter } from '../../ui/charts/meter.tsx'
import { costUsd } from '../../ui/money.ts'
import { useNow } from '../../ui/time.tsx'

const HOUR_SECONDS = 3_600

/** What this hour cost, beside what there is to spend. */
export function ThisHour() {
  const start = Math.floor(useNow() / 1000 / HOUR_SECONDS) * HOUR_SECONDS
  const asked = { start_time: start, end_time: start + HOUR_SECONDS, bucket_width: '1h', timezone: TIME_ZONE } as const
  const totals = useQuery(usageQuery(asked)).data?.totals
  const balance = useQuery(accountQuery).data?.balance_micros_usd ?? 0
  if (!totals) return null
  const { requests, charged_micros_usd: cost } = totals
  const text = TEXT.thisHour(requests, costUsd(cost))
  return (
    <div className="grid max-w-xs gap-1">
      <p className="small text-muted">{text}</p>
      <Meter label={text} used={cost} most={cost + balance} text={text} />
    </div>
  )
}
