import type { ApiKey } from '../../../api/keys.ts'
import { KEY_TEXT as TEXT } from '../../../messages/keys.ts'
import { operationLabel } from '../../../messages/requests.ts'
import { Meter } from '../../../ui/charts/meter.tsx'
import { costUsd, grouped, MICROS_PER_USD } from '../../../ui/format/money.ts'
import { formatDateTime, formatDay, formatUntil, TimeAgo, useNow } from '../../../ui/format/time.tsx'
import { Card } from '../../../ui/layout/card.tsx'
import { FactList, type Facts } from '../../../ui/layout/fact-list.tsx'
import { KeyTags } from '../key-tags.tsx'
import { TYPED_NAMES, type TypedName } from '../typed-settings.ts'

/** The settings of a key. */
export function KeySettingsCard({ apiKey }: { apiKey: ApiKey }) {
  const { spending_limit: limit, budget, allowed_ips: ips, expires_at: expires, allowed_endpoints: endpoints } = apiKey
  const rows: Facts = [
    [TEXT.limit, limit === null ? TEXT.limitNone : costUsd(Math.round(limit * MICROS_PER_USD))],
    [
      TEXT.budget,
      budget === null
        ? TEXT.budgetNone
        : TEXT.budgetOf(
            costUsd(Math.round(budget.limit_usd * MICROS_PER_USD)),
            TEXT.budgetPeriods[budget.period],
            budget.timezone,
          ),
    ],
    ...(budget === null ? [] : [[TEXT.budgetNow, <BudgetBar key="budget" apiKey={apiKey} />] as const]),
    [TEXT.ips, ips.length === 0 ? TEXT.anyIp : <span className="code wrap-anywhere">{ips.join(', ')}</span>],
    [
      TEXT.expires,
      expires === null ? (
        TEXT.expiresNever
      ) : (
        <time dateTime={expires} title={formatDateTime(expires)}>
          {formatDay(expires)}
        </time>
      ),
    ],
    [TEXT.endpoints, endpoints.length === 0 ? TEXT.anyEndpoint : endpoints.map(operationLabel).join(', ')],
    ...TYPED_NAMES.flatMap((name) => typedRow(apiKey, name)),
    [TEXT.columns.used, <TimeAgo key="used" at={apiKey.last_used_at} />],
    [TEXT.createdAt, <TimeAgo key="created" at={apiKey.created_at} />],
    [TEXT.createdBy, apiKey.created_by?.name ?? TEXT.actors.owner],
  ]
  return (
    <Card title={TEXT.settings}>
      <FactList facts={rows} />
    </Card>
  )
}

/** A setting that is typed; a row only where it is set, or where there is a word for none. */
function typedRow(apiKey: ApiKey, name: TypedName): Facts {
  const { label, none } = TEXT.typed[name]
  const value = apiKey[name]
  if (name === 'tags') return apiKey.tags.length === 0 ? [] : [[label, <KeyTags key={name} tags={apiKey.tags} />]]
  if (value === null || (typeof value === 'object' && value.length === 0)) return none === null ? [] : [[label, none]]
  if (typeof value === 'number') return [[label, grouped(value)]]
  if (typeof value === 'string')
    return [
      [
        label,
        <span key={name} className="wrap-anywhere whitespace-pre-wrap">
          {value}
        </span>,
      ],
    ]
  return [
    [
      label,
      <span key={name} className="code wrap-anywhere">
        {value.join(', ')}
      </span>,
    ],
  ]
}

/** How much of the current budget period is used, as text and as a bar, and when it resets. */
function BudgetBar({ apiKey }: { apiKey: ApiKey }) {
  const now = useNow()
  const { budget, budget_window: window } = apiKey
  if (budget === null || window === null) return null
  const limitMicros = Math.round(budget.limit_usd * MICROS_PER_USD)
  const text = TEXT.spentOf(costUsd(window.spent_micros_usd), costUsd(limitMicros))
  return (
    <div className="grid max-w-xs gap-1">
      <span>{text}</span>
      <Meter label={TEXT.budget} used={window.spent_micros_usd} max={limitMicros} text={text} />
      <time dateTime={window.ends_at} title={formatDateTime(window.ends_at)} className="small text-muted">
        {TEXT.budgetStartsAnew(formatUntil(window.ends_at, now))}
      </time>
    </div>
  )
}
