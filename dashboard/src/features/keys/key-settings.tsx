import type { ReactNode } from 'react'
import type { ApiKey } from '../../api/keys.ts'
import { Card } from '../../ui/card.tsx'
import { costUsd, grouped } from '../../ui/money.ts'
import { dayWords, exactTime, TimeAgo } from '../../ui/time.tsx'
import { KEY_WORDS as WORDS } from '../../words/keys.ts'
import { operationWords } from '../../words/requests.ts'
import { BudgetBar } from './budget-bar.tsx'

const MICROS = 1_000_000

/** How a key is set. */
export function KeySettingsCard({ apiKey }: { apiKey: ApiKey }) {
  const {
    spending_limit: limit,
    budget,
    allowed_ips: ips,
    expires_at: expires,
    rpm_limit: rpm,
    tpm_limit: tpm,
  } = apiKey
  const { allowed_endpoints: endpoints, allowed_models: models } = apiKey
  const rows: readonly (readonly [string, ReactNode])[] = [
    [WORDS.limit, limit === null ? WORDS.limitNone : costUsd(Math.round(limit * MICROS))],
    [
      WORDS.budget,
      budget === null
        ? WORDS.budgetNone
        : WORDS.budgetOf(
            costUsd(Math.round(budget.limit_usd * MICROS)),
            WORDS.budgetPeriods[budget.period],
            budget.timezone,
          ),
    ],
    ...(budget === null ? [] : [[WORDS.budgetNow, <BudgetBar key="budget" apiKey={apiKey} />] as const]),
    [WORDS.ips, ips.length === 0 ? WORDS.anyIp : <span className="code wrap-anywhere">{ips.join(', ')}</span>],
    [
      WORDS.expires,
      expires === null ? (
        WORDS.expiresNever
      ) : (
        <time dateTime={expires} title={exactTime(expires)}>
          {dayWords(expires)}
        </time>
      ),
    ],
    [WORDS.endpoints, endpoints.length === 0 ? WORDS.anyEndpoint : endpoints.map(operationWords).join(', ')],
    [
      WORDS.models,
      models.length === 0 ? WORDS.anyModel : <span className="code wrap-anywhere">{models.join(', ')}</span>,
    ],
    ...(rpm === null ? [] : [[WORDS.rpm, grouped(rpm)] as const]),
    ...(tpm === null ? [] : [[WORDS.tpm, grouped(tpm)] as const]),
    [WORDS.columns.used, <TimeAgo key="used" at={apiKey.last_used_at} />],
    [WORDS.createdAt, <TimeAgo key="created" at={apiKey.created_at} />],
  ]
  return (
    <Card title={WORDS.settings}>
      <dl className="grid gap-x-6 gap-y-3 sm:grid-cols-[minmax(0,12rem)_minmax(0,1fr)]">
        {rows.map(([name, value]) => (
          <div key={name} className="grid gap-x-6 sm:col-span-2 sm:grid-cols-subgrid">
            <dt className="text-muted">{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Card>
  )
}
