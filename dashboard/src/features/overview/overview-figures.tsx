import { useQuery } from '@tanstack/react-query'
import { accountQuery } from '../../api/account.ts'
import { keyCountsQuery } from '../../api/keys.ts'
import { TIME_ZONE, usageQuery } from '../../api/usage.ts'
import { midnight } from '../../api/usage-range.ts'
import { Figure, Figures } from '../../ui/card.tsx'
import { balanceUsd, costUsd, grouped, percent, shortCount } from '../../ui/money.ts'
import { useNow } from '../../ui/time.tsx'
import { OVERVIEW_WORDS as WORDS } from '../../words/overview.ts'

/** What is left, and what today cost. "Today" is the viewer's. */
export function OverviewFigures() {
  const account = useQuery(accountQuery).data
  const counts = useQuery(keyCountsQuery).data
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
        {today && today.requests > 0 && failedWords(today.failed_requests, today.requests)}
      </Figure>
      <Figure label={WORDS.keys} value={counts ? grouped(counts.active) : '-'}>
        {counts && WORDS.ofAll(counts.active + counts.disabled + counts.expired + counts.exhausted)}
      </Figure>
    </Figures>
  )
}

function failedWords(failed: number, all: number): string {
  return failed === 0 ? WORDS.noneFailed : WORDS.failed(percent(failed, all))
}

function useToday() {
  const now = useNow()
  const asked = {
    start_time: midnight(now, 0),
    end_time: midnight(now, 1),
    bucket_width: '1d',
    timezone: TIME_ZONE,
  } as const
  return useQuery(usageQuery(asked)).data?.totals
}
