import { useQuery } from '@tanstack/react-query'
import { keyLimitsQuery } from '../../../api/billing/limits.ts'
import type { ApiKey } from '../../../api/keys.ts'
import { usageQuery, VIEWER_TIME_ZONE } from '../../../api/usage.ts'
import { KEY_TEXT as TEXT } from '../../../messages/keys.ts'
import { costUsd, grouped, shortCount } from '../../../ui/format/money.ts'
import { useNow } from '../../../ui/format/time.tsx'
import { Figure, Figures } from '../../../ui/layout/card.tsx'
import { KeySpend, useKeyRemaining } from '../key-facts.tsx'

const HOUR_SECONDS = 3_600

/** A key's spend, remaining amount, requests of the last day, and current rates. */
export function KeyFigures({ apiKey }: { apiKey: ApiKey }) {
  const end = (Math.floor(useNow() / 1000 / HOUR_SECONDS) + 1) * HOUR_SECONDS
  const params = {
    start_time: end - 24 * HOUR_SECONDS,
    end_time: end,
    bucket_width: '1h',
    timezone: VIEWER_TIME_ZONE,
    key: apiKey.id,
  } as const
  const left = useKeyRemaining(apiKey)
  const day = useQuery(usageQuery(params)).data?.totals
  const live = useQuery(keyLimitsQuery(apiKey.id)).data
  const rates = live && [
    { name: TEXT.rates.requests, used: live.requests.limit - live.requests.remaining, most: live.requests.limit },
    { name: TEXT.rates.tokens, used: live.tokens.limit - live.tokens.remaining, most: live.tokens.limit },
    {
      name: TEXT.rates.concurrency,
      used: live.concurrency.limit - live.concurrency.remaining,
      most: live.concurrency.limit,
    },
  ]
  return (
    <Figures>
      <Figure label={TEXT.columns.spent} value={costUsd(apiKey.spent_micros_usd)}>
        {apiKey.spending_limit !== null && <KeySpend apiKey={apiKey} />}
      </Figure>
      <Figure label={TEXT.columns.left} value={left.amount}>
        {left.bound}
      </Figure>
      <Figure
        label={TEXT.requests24h}
        value={day ? shortCount(day.requests) : '-'}
        {...(day && { title: grouped(day.requests) })}
      >
        {day && costUsd(day.charged_micros_usd)}
      </Figure>
      <Figure label={TEXT.rate} value={rates?.[0] ? grouped(rates[0].used) : '-'}>
        {rates?.map(({ name, used, most }) => (
          <span key={name} className="block">
            {name}: {TEXT.rateOf(grouped(used), shortCount(most))}
          </span>
        ))}
      </Figure>
    </Figures>
  )
}
