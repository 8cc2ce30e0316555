import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { listState } from '../../api/list-state.ts'
import { newestRequestsQuery } from '../../api/requests.ts'
import { TIME_ZONE, useKeyLabels, useUsageSeries } from '../../api/usage.ts'
import { midnight } from '../../api/usage-range.ts'
import { Card } from '../../ui/card.tsx'
import { chartSlots } from '../../ui/chart-slots.ts'
import { costUsd } from '../../ui/money.ts'
import { NewestRequests } from '../../ui/newest-requests.tsx'
import { useNow } from '../../ui/time.tsx'
import { UsageChart } from '../../ui/usage-chart.tsx'
import { CHART_WORDS } from '../../words/charts.ts'
import { KEY_WORDS as WORDS } from '../../words/keys.ts'
import { operationWords } from '../../words/requests.ts'

const ROWS = 10

/** What a key spent in a week, by endpoint, and its last requests. */
export function KeyActivity({ id }: { id: string }) {
  const newest = useQuery(newestRequestsQuery(ROWS, id))
  const keyLabel = useKeyLabels()
  return (
    <>
      <KeySpendChart id={id} />
      <NewestRequests
        title={WORDS.requests}
        caption={WORDS.requestsTable}
        keyLabel={keyLabel}
        state={{ rows: newest.data, ...listState(newest) }}
        all={
          <Link to="/usage" search={{ key: id, tab: 'requests' }} className="text-accent">
            {WORDS.allRequests}
          </Link>
        }
      />
    </>
  )
}

function KeySpendChart({ id }: { id: string }) {
  const now = useNow()
  const span = { start: midnight(now, -6), end: midnight(now, 1), width: '1d' } as const
  const { total, buckets, series } = useUsageSeries(span, { key: id }, 'operation')
  if (!series || !total.data || total.data.totals.charged_micros_usd === 0) return null
  const values = (at: number) => series.map(({ buckets: sums }) => sums[at]?.charged_micros_usd ?? 0)
  return (
    <Card title={WORDS.spendChart}>
      <UsageChart
        title={WORDS.spendChart}
        slots={chartSlots(buckets, values, now)}
        series={series.map(({ name }) => (name === null ? CHART_WORDS.other : operationWords(name)))}
        format={(value) => costUsd(Math.round(value))}
        zone={TIME_ZONE}
      />
    </Card>
  )
}
