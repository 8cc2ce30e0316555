import { asFailure } from '../../api/failure.ts'
import { NO_MODEL, TIME_ZONE, useKeyLabels, useUsageSeries } from '../../api/usage.ts'
import type { UsageSpan } from '../../api/views/usage-range.ts'
import { type UsageView, viewFilter } from '../../api/views/usage-view.ts'
import { CHART_TEXT } from '../../messages/charts.ts'
import { operationWords } from '../../messages/requests.ts'
import { USAGE_TEXT as TEXT } from '../../messages/usage.ts'
import { Card } from '../../ui/card.tsx'
import { chartSlots } from '../../ui/charts/chart-slots.ts'
import { UsageChart } from '../../ui/charts/usage-chart.tsx'
import { Empty, Failed, Loading } from '../../ui/states.tsx'
import { useNow } from '../../ui/time.tsx'
import { measured, measureWords } from './measures.ts'
import { ChartControls } from './usage-controls.tsx'
import { UsageGroups } from './usage-groups.tsx'

/** The chart of a view and the groups that it is made of. */
export function UsageOverTime({ view, span, onView }: UsageOverTimeProps) {
  const { total, groups, buckets, series } = useUsageSeries(span, viewFilter(view), view.group)
  const keyLabel = useKeyLabels()
  const now = useNow()
  const label = (name: string) =>
    view.group === 'key' ? keyLabel(name) : view.group === 'operation' ? operationWords(name) : name
  const named = (name: string) => (name === NO_MODEL ? TEXT.noModel : label(name))
  const names = (series ?? []).map(({ name }) => (name === null ? CHART_TEXT.other : named(name)))
  const slots = chartSlots(
    buckets,
    (at) => (series ?? []).map(({ buckets: sums }) => measured(view.measure, sums[at])),
    now,
  )
  const title = TEXT.chartOf(TEXT.measures[view.measure], TEXT.groups[view.group])
  return (
    <>
      <Card title={title} aside={<ChartControls view={view} onView={onView} />}>
        {total.error && (
          <Failed failure={asFailure(total.error)} onTryAgain={() => void total.refetch()} oldShown={!!total.data} />
        )}
        {!total.data && !total.error && <Loading rows={6} />}
        {total.data && total.data.totals.requests === 0 && <p className="text-muted">{TEXT.none}</p>}
        {series && total.data && total.data.totals.requests > 0 && (
          <UsageChart
            title={title}
            slots={slots}
            series={names}
            format={(value) => measureWords(view.measure, value)}
            zone={TIME_ZONE}
          />
        )}
      </Card>
      <Card title={TEXT.groupsTable} flush>
        <UsageGroups
          groups={total.data ? groups : undefined}
          by={view.group}
          label={label}
          onNarrow={(part) => onView({ ...part, tab: 'requests' })}
          empty={<Empty>{TEXT.none}</Empty>}
        />
      </Card>
    </>
  )
}

type UsageOverTimeProps = { view: UsageView; span: UsageSpan; onView: (part: Partial<UsageView>) => void }
