import { useQuery } from '@tanstack/react-query'
import { accountQuery } from '../../api/account/account.ts'
import { keyCountsQuery } from '../../api/keys.ts'
import { usageQuery, VIEWER_TIME_ZONE } from '../../api/usage.ts'
import { midnight } from '../../api/views/usage-range.ts'
import { OVERVIEW_TEXT as TEXT } from '../../messages/overview.ts'
import { lazyPart } from '../../ui/feedback/lazy-part.tsx'
import { balanceUsd, costUsd, grouped, percent, shortCount } from '../../ui/format/money.ts'
import { useNow } from '../../ui/format/time.tsx'
import { Figure, Figures } from '../../ui/layout/card.tsx'

// Later than the first figures: it asks for the spend of a week.
const BalanceForecast = lazyPart(
  () => import('./balance-forecast.tsx').then(({ BalanceForecast }) => BalanceForecast),
  { failure: () => null },
)

/** The balance and today's figures. "Today" is in the viewer's time zone. */
export function OverviewFigures() {
  const account = useQuery(accountQuery).data
  const counts = useQuery(keyCountsQuery).data
  const report = useToday()
  const { totals: today, refunded_micros_usd: refunded = 0 } = report ?? {}
  return (
    <Figures>
      <Figure
        label={TEXT.balance}
        value={account ? balanceUsd(account.balance_micros_usd) : '-'}
        {...(account && { title: costUsd(account.balance_micros_usd) })}
      >
        {account && account.held_micros_usd > 0 && TEXT.held(costUsd(account.held_micros_usd))}
        {account && <BalanceForecast availableMicros={account.balance_micros_usd - account.held_micros_usd} />}
      </Figure>
      <Figure label={TEXT.spendToday} value={today ? costUsd(today.charged_micros_usd) : '-'}>
        {refunded > 0 && TEXT.refunded(costUsd(refunded))}
      </Figure>
      <Figure
        label={TEXT.requestsToday}
        value={today ? shortCount(today.requests) : '-'}
        {...(today && { title: grouped(today.requests) })}
      >
        {today && today.requests > 0 && failedLabel(today.failed_requests, today.requests)}
      </Figure>
      <Figure label={TEXT.keys} value={counts ? grouped(counts.active) : '-'}>
        {counts && TEXT.ofAll(counts.active + counts.disabled + counts.expired + counts.exhausted)}
      </Figure>
    </Figures>
  )
}

function failedLabel(failed: number, all: number): string {
  return failed === 0 ? TEXT.noneFailed : TEXT.failed(percent(failed, all))
}

function useToday() {
  const now = useNow()
  const params = {
    start_time: midnight(now, 0),
    end_time: midnight(now, 1),
    bucket_width: '1d',
    timezone: VIEWER_TIME_ZONE,
  } as const
  return useQuery(usageQuery(params)).data
}
