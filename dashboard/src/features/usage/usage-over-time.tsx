import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { toApiFailure } from '../../api/client/failure.ts'
import type { UsageFilter, UsageSums } from '../../api/usage.ts'
import { NO_MODEL, usageParams, usageQuery, useKeyLabels, useUsageSeries, VIEWER_TIME_ZONE } from '../../api/usage.ts'
import { spanBefore, type UsageSpan } from '../../api/views/usage-range.ts'
import { type UsageView, viewFilter } from '../../api/views/usage-view.ts'
import { CHART_TEXT } from '../../messages/charts.ts'
import { operationLabel } from '../../messages/requests.ts'
import { USAGE_TEXT as TEXT } from '../../messages/usage.ts'
import { chartSlots } from '../../ui/charts/chart-slots.ts'
import { MONEY_STEP, UsageChart } from '../../ui/charts/usage-chart.tsx'
import { Dialog } from '../../ui/dialogs/dialog.tsx'
import { Failed } from '../../ui/feedback/failure.tsx'
import { Empty, Loading } from '../../ui/feedback/states.tsx'
import { costUsd, shortCount } from '../../ui/format/money.ts'
import { useNow } from '../../ui/format/time.tsx'
import { Card } from '../../ui/layout/card.tsx'
import { ChartControls } from './usage-controls.tsx'
import { UsageGroups } from './usage-groups.tsx'

/** The chart of a view, and the groups it consists of. */
export function UsageOverTime({ view, span, onView }: UsageOverTimeProps) {
  const { total, groups, others, buckets, series } = useUsageSeries(span, viewFilter(view), view.group)
  const before = useBefore(view, span)
  const [otherOpen, setOtherOpen] = useState(false)
  const keyLabel = useKeyLabels()
  const now = useNow()
  const label = (name: string) =>
    view.group === 'key' ? keyLabel(name) : view.group === 'operation' ? operationLabel(name) : name
  const named = (name: string) =>
    name === NO_MODEL ? TEXT.noGroup[view.group === 'tag' ? 'tag' : 'model'] : label(name)
  const rest = view.group === 'scope' ? TEXT.allRequests : CHART_TEXT.other
  const names = (series ?? []).map(({ name }) => (name === null ? rest : named(name)))
  const slots = chartSlots(
    buckets,
    (at) => (series ?? []).map(({ buckets: sums }) => measureValue(view.measure, sums[at])),
    now,
  ).map((slot, at) => (before ? { ...slot, before: measureValue(view.measure, before[at]) } : slot))
  const onNarrow = (part: UsageFilter) => onView({ ...part, tab: 'requests' })
  const title = TEXT.chartOf(TEXT.measures[view.measure], TEXT.groups[view.group])
  return (
    <>
      <Card title={title} aside={<ChartControls view={view} span={span} onView={onView} />}>
        {total.error && (
          <Failed failure={toApiFailure(total.error)} onRetry={() => void total.refetch()} isStale={!!total.data} />
        )}
        {!total.data && !total.error && <Loading rows={6} />}
        {total.data && total.data.totals.requests === 0 && <p className="text-muted">{TEXT.none}</p>}
        {series && total.data && total.data.totals.requests > 0 && (
          <UsageChart
            title={title}
            slots={slots}
            series={names}
            format={(value) => formatMeasure(view.measure, value)}
            zone={VIEWER_TIME_ZONE}
            leastStep={view.measure === 'spend' ? MONEY_STEP : 1}
            onOther={() => setOtherOpen(true)}
          />
        )}
        {view.group === 'tag' && <p className="small text-muted">{TEXT.tagsOverlap}</p>}
        {view.group === 'scope' && <p className="small text-muted">{TEXT.scopesText}</p>}
      </Card>
      <Card title={TEXT.groupsTable} flush>
        <UsageGroups
          groups={total.data ? groups : undefined}
          whole={view.group === 'tag' ? total.data?.totals : undefined}
          by={view.group}
          label={label}
          onNarrow={onNarrow}
          empty={<Empty>{TEXT.none}</Empty>}
        />
      </Card>
      {otherOpen && (
        <Dialog title={TEXT.otherOf(TEXT.groups[view.group])} wide onClose={() => setOtherOpen(false)}>
          <UsageGroups
            groups={others}
            by={view.group}
            label={label}
            onNarrow={onNarrow}
            empty={<Empty>{TEXT.none}</Empty>}
          />
        </Dialog>
      )}
    </>
  )
}

/** The buckets of the period before, if they are wanted. */
function useBefore(view: UsageView, span: UsageSpan): readonly UsageSums[] | null {
  const params = usageParams(spanBefore(span), viewFilter(view))
  const { data } = useQuery({ ...usageQuery(params), enabled: view.compare === true })
  return view.compare === true ? (data?.buckets ?? null) : null
}

type UsageOverTimeProps = { view: UsageView; span: UsageSpan; onView: (part: Partial<UsageView>) => void }

/** The value of a bucket for the selected measure. */
function measureValue(measure: UsageView['measure'], sums: UsageSums | undefined): number {
  if (!sums) return 0
  switch (measure) {
    case 'spend':
      return sums.charged_micros_usd
    case 'requests':
      return sums.requests
    case 'errors':
      return sums.failed_requests
    case 'tokens':
      return sums.input_tokens + sums.output_tokens
    case 'input':
      return sums.input_tokens
    case 'output':
      return sums.output_tokens
    case 'cached':
      return sums.cache_read_tokens
  }
}

function formatMeasure(measure: UsageView['measure'], value: number): string {
  return measure === 'spend' ? costUsd(Math.round(value)) : shortCount(Math.round(value))
}
