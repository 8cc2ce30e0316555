import { useQuery } from '@tanstack/react-query'
import { accountQuery } from '../../api/account.ts'
import { TIME_ZONE, usageQuery } from '../../api/usage.ts'
import { Figure, Figures } from '../../ui/card.tsx'
import { balanceUsd, costUsd, grouped, percent, shortCount } from '../../ui/money.ts'
import { useNow } from '../../ui/time.tsx'
import { OVERVIEW_WORDS as WORDS } from '../../words/overview.ts'

/** What is left, and what today cost. "Today" is the viewer's. */
export function OverviewFigures() {
  const account = useQuery(accountQuery).data
  const today = useToday()
  return (
    <Figures>
      <Figure
        label={WORDS.balance}
        value={account ? balanceUsd(account.balance_micros_usd) : '-'}
        {...(account && { title: costUsd(account.balance_micros_usd) })}
      >
        {account && account.held_micros_usd > 0 && WORDS.held(costUsd(account.held_micros_usd))}
      </Figure>
      <Figure label={WORDS.spendToday} value={today ? costUsd(today.charged_micros_usd) : '-'} />
      <Figure
        label={WORDS.requestsToday}
        value={today ? shortCount(today.requests) : '-'}
        {...(today && { title: grouped(today.requests) })}
      >
        {today &&
          today.requests > 0 &&
          (today.failed_requests === 0
            ? WORDS.noneFailed
            : WORDS.failed(percent(today.failed_requests, today.requests)))}
      </Figure>
    </Figures>
  )
}

function useToday() {
  const midnight = new Date(useNow())
  midnight.setHours(0, 0, 0, 0)
  const start = Math.floor(midnight.getTime() / 1000)
  const next = new Date(midnight)
  next.setDate(next.getDate() + 1)
  const asked = {
    start_time: start,
    end_time: Math.floor(next.getTime() / 1000),
    bucket_width: '1d',
    timezone: TIME_ZONE,
  } as const
  return useQuery(usageQuery(asked)).data?.totals
}
