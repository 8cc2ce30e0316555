import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { listState } from '../../../api/client/list-state.ts'
import { newestRequestsQuery } from '../../../api/requests.ts'
import { useKeyLabels, useUsageSeries, VIEWER_TIME_ZONE } from '../../../api/usage.ts'
import { midnight } from '../../../api/views/usage-range.ts'
import { CHART_TEXT } from '../../../messages/charts.ts'
import { KEY_TEXT as TEXT } from '../../../messages/keys.ts'
import { operationLabel } from '../../../messages/requests.ts'
import { chartSlots } from '../../../ui/charts/chart-slots.ts'
import { MONEY_STEP, UsageChart } from '../../../ui/charts/usage-chart.tsx'
import { costUsd } from '../../../ui/format/money.ts'
import { useNow } from '../../../ui/format/time.tsx'
import { Card } from '../../../ui/layout/card.tsx'
import { NewestRequests } from '../../../ui/requests/newest-requests.tsx'

const ROWS = 10

/** A key's spend of the last week by endpoint, and its recent requests. */
export function KeyActivity({ id }: { id: string }) {
  const newest = useQuery(newestRequestsQuery(ROWS, id))
  const keyLabel = useKeyLabels()
  return (
    <>
      <KeySpendChart id={id} />
      <NewestRequests
        title={TEXT.requests}
        caption={TEXT.requestsTable}
        keyLabel={keyLabel}
        state={{ rows: newest.data, ...listState(newest) }}
        all={
          <Link to="/usage" search={{ key: id, tab: 'requests' }} className="text-accent">
            {TEXT.allRequests}
          </Link>
        }
      />
    </>
  )
}

function KeySpendChart({ id }: { id: string }) {
  const now = useNow()
  const navigate = useNavigate()
  const span = { start: midnight(now, -6), end: midnight(now, 1), width: '1d' } as const
  const { total, buckets, series } = useUsageSeries(span, { key: id }, 'operation')
  if (!series || !total.data || total.data.totals.charged_micros_usd === 0) return null
  const values = (at: number) => series.map(({ buckets: sums }) => sums[at]?.charged_micros_usd ?? 0)
  return (
    <Card title={TEXT.spendChart}>
      <UsageChart
        title={TEXT.spendChart}
        slots={chartSlots(buckets, values, now)}
        series={series.map(({ name }) => (name === null ? CHART_TEXT.other : operationLabel(name)))}
        format={(value) => costUsd(Math.round(value))}
        zone={VIEWER_TIME_ZONE}
        leastStep={MONEY_STEP}
        onOther={() => void navigate({ to: '/usage', search: { range: '7d', group: 'operation', key: id } })}
      />
    </Card>
  )
}
