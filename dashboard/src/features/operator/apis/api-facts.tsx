import type { ApiFigures } from '../../../api/apis.ts'
import { API_TEXT as TEXT } from '../../../messages/apis.ts'
import { Badge } from '../../../ui/badge.tsx'
import { costUsd, percent } from '../../../ui/format/money.ts'

/** `waits`: it will be on sale once its API is. */
export function SaleBadge({ enabled, waits = false }: { enabled: boolean; waits?: boolean }) {
  const isOn = enabled && !waits
  return <Badge tone={isOn ? 'ok' : 'neutral'}>{TEXT.states[isOn ? 'on' : enabled ? 'ready' : 'off']}</Badge>
}

/** A share of failed calls from which an API counts as failing. */
const FAILING_SHARE = 0.1

/** Whether the upstream works, by the calls of the last 24 hours. */
export function HealthBadge({ figures }: { figures: ApiFigures | undefined }) {
  if (!figures) return null
  const { recent_calls: calls, recent_failed: failed } = figures
  if (calls === 0) return <span className="text-muted">{TEXT.health.idle}</span>
  const isFailing = failed / calls >= FAILING_SHARE
  return (
    <span title={TEXT.errorsOf(failed, calls)}>
      <Badge tone={isFailing ? 'bad' : 'ok'}>
        {isFailing ? `${TEXT.health.failing} (${percent(failed, calls)})` : TEXT.health.ok}
      </Badge>
    </span>
  )
}

export function revenueText(figures: ApiFigures | undefined): string {
  return figures ? costUsd(figures.revenue_micros_usd) : '-'
}

/** The upstream cost; it is known only if the cost of every operation that was called is. */
export function upstreamCostText(figures: ApiFigures | undefined): string {
  if (!figures) return '-'
  const { upstream_cost_micros_usd: cost } = figures
  return cost === null ? TEXT.unknownCost : costUsd(cost)
}

export function marginOf(figures: ApiFigures | undefined): string {
  if (!figures) return '-'
  const { upstream_cost_micros_usd: cost, revenue_micros_usd: revenue } = figures
  return cost === null ? TEXT.unknownCost : costUsd(revenue - cost)
}
