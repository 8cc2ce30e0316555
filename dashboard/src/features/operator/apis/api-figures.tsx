import { useQuery } from '@tanstack/react-query'
import { apiReportQuery } from '../../../api/apis.ts'
import { API_TEXT as TEXT } from '../../../messages/apis.ts'
import { grouped, percent, shortCount } from '../../../ui/format/money.ts'
import { Figure, Figures } from '../../../ui/layout/card.tsx'
import { HealthBadge, marginOf, revenueText, upstreamCostText } from './api-facts.tsx'

/** The earnings and the health of an API. */
export function ApiFiguresRow({ name }: { name: string }) {
  const figures = useQuery(apiReportQuery).data?.apis.find((api) => api.name === name)
  const { calls = 0, failed = 0 } = figures ?? {}
  const isUnknown = figures?.upstream_cost_micros_usd === null
  return (
    <Figures>
      <Figure label={TEXT.figures.calls} value={figures ? shortCount(calls) : '-'} title={grouped(calls)}>
        <span className="flex flex-wrap items-center gap-2">
          {calls > 0 && TEXT.failedShare(percent(failed, calls))} <HealthBadge figures={figures} />
        </span>
      </Figure>
      <Figure label={TEXT.figures.revenue} value={revenueText(figures)}>
        {TEXT.days}
      </Figure>
      <Figure label={TEXT.figures.cost} value={upstreamCostText(figures)}>
        {isUnknown ? TEXT.unknownCostHint : TEXT.days}
      </Figure>
      <Figure label={TEXT.figures.margin} value={marginOf(figures)}>
        {TEXT.days}
      </Figure>
    </Figures>
  )
}
