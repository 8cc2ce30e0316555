import { useNavigate } from '@tanstack/react-router'
import { useKeyLabels, useUsageSeries, VIEWER_TIME_ZONE } from '../../api/usage.ts'
import { midnight } from '../../api/views/usage-range.ts'
import { CHART_TEXT } from '../../messages/charts.ts'
import { OVERVIEW_TEXT as TEXT } from '../../messages/overview.ts'
import { chartSlots } from '../../ui/charts/chart-slots.ts'
import { MONEY_STEP, UsageChart } from '../../ui/charts/usage-chart.tsx'
import { Loading } from '../../ui/feedback/states.tsx'
import { costUsd } from '../../ui/format/money.ts'
import { useNow } from '../../ui/format/time.tsx'
import { Card } from '../../ui/layout/card.tsx'

/** The spend of each key per day over a week. */
export function SpendChart() {
  const now = useNow()
  const navigate = useNavigate()
  const span = { start: midnight(now, -6), end: midnight(now, 1), width: '1d' } as const
  const { total, buckets, series } = useUsageSeries(span, {}, 'key')
  const keyLabel = useKeyLabels()
  const spent = total.data?.totals.charged_micros_usd
  const values = (at: number) => (series ?? []).map(({ buckets: sums }) => sums[at]?.charged_micros_usd ?? 0)
  return (
    <Card title={TEXT.spendChart}>
      {spent === 0 && <p className="text-muted">{TEXT.noSpend}</p>}
      {spent === undefined && <Loading />}
      {series && spent !== undefined && spent > 0 && (
        <UsageChart
          title={TEXT.spendChart}
          slots={chartSlots(buckets, values, now)}
          series={series.map(({ name }) => (name === null ? CHART_TEXT.other : keyLabel(name)))}
          format={(value) => costUsd(Math.round(value))}
          zone={VIEWER_TIME_ZONE}
          leastStep={MONEY_STEP}
          onOther={() => void navigate({ to: '/usage', search: { range: '7d' } })}
        />
      )}
    </Card>
  )
}
