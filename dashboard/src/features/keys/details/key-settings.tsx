import type { ApiKey } from '../../../api/keys.ts'
import { BUDGET_TEXT } from '../../../messages/budgets.ts'
import { KEY_TEXT as TEXT } from '../../../messages/keys.ts'
import { operationLabel } from '../../../messages/requests.ts'
import { BudgetMeters } from '../../../ui/budgets/budget-meters.tsx'
import { costUsd, grouped, usdMicros } from '../../../ui/format/money.ts'
import { formatDateTime, formatDay, TimeAgo } from '../../../ui/format/time.tsx'
import { Card } from '../../../ui/layout/card.tsx'
import { FactList, type Facts } from '../../../ui/layout/fact-list.tsx'
import { KeyTags } from '../key-tags.tsx'
import { TYPED_NAMES, type TypedName } from '../typed-settings.ts'
import { useTeam } from '../use-team.ts'

/** The settings of a key. */
export function KeySettingsCard({ apiKey }: { apiKey: ApiKey }) {
  const {
    spending_limit: limit,
    scope_budget: ofScope,
    allowed_ips: ips,
    expires_at: expires,
    allowed_endpoints: endpoints,
  } = apiKey
  const { isShared } = useTeam()
  const rows: Facts = [
    [TEXT.limit, limit === null ? TEXT.limitNone : costUsd(usdMicros(limit))],
    [BUDGET_TEXT.budgets, <BudgetMeters key="budgets" of={apiKey} />],
    ...(ofScope ? [[TEXT.scope, BUDGET_TEXT.a(costUsd(usdMicros(ofScope.limit_usd)), ofScope.period)] as const] : []),
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
    ...(isShared ? [[TEXT.columns.holder, apiKey.made_by?.name ?? TEXT.ofWorkspace] as const] : []),
    ...(isShared && apiKey.created_by === null
      ? []
      : [[TEXT.createdBy, apiKey.created_by?.name ?? TEXT.actors.owner] as const]),
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
