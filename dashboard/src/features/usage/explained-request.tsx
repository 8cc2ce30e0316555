import type { ReactNode } from 'react'
import type { Explained } from '../../api/requests.ts'
import { operationName, REQUEST_TEXT as TEXT } from '../../messages/requests.ts'
import { CopyButton } from '../../ui/code/copy-button.tsx'
import { costUsd } from '../../ui/format/money.ts'
import { formatDateTime } from '../../ui/format/time.tsx'
import { Card } from '../../ui/layout/card.tsx'
import { FailureCodeMeaning } from '../../ui/requests/failure-code-meaning.tsx'
import { StatusBadge } from '../../ui/requests/request-row.tsx'

type Facts = readonly (readonly [name: string, value: ReactNode])[]

/** What a request was, why it failed, where its time went, and how its charge was calculated. */
export function ExplainedRequest({ request, keyLabel }: { request: Explained; keyLabel: (id: string) => string }) {
  const { columns } = TEXT
  const { failure, times, charge } = request
  return (
    <>
      <Card title={TEXT.summary} aside={<CopyButton label={TEXT.copyId} text={request.id} />}>
        <FactList
          facts={[
            [columns.status, <StatusBadge key="status" {...request} />],
            [columns.at, formatDateTime(request.at)],
            [columns.operation, operationName(request.operation)],
            ...some(columns.model, request.model),
            [columns.key, keyLabel(request.key_id)],
            ...some(TEXT.provider, request.provider),
            ...some(columns.ip, request.ip),
            ...some(TEXT.clientId, request.client_request_id),
          ]}
        />
      </Card>
      {request.code !== null && (
        <Card title={TEXT.why}>
          {failure && <p className="font-medium wrap-anywhere">{failure.message}</p>}
          <FailureCodeMeaning code={request.code} />
          {failure && (
            <FactList
              facts={[
                ...some(TEXT.route, failure.route),
                ...some(TEXT.param, failure.param),
                ...some(TEXT.rule, failure.rule),
              ]}
            />
          )}
        </Card>
      )}
      <Card title={TEXT.times}>
        <FactList
          facts={[
            [TEXT.waiting, timeText(times.waiting_ms)],
            [TEXT.upstream, timeText(times.upstream_ms)],
            [TEXT.total, timeText(times.total_ms)],
          ]}
        />
      </Card>
      <Card title={TEXT.charge}>
        {charge ? (
          <FactList
            facts={[
              [columns.cost, costUsd(charge.charged_micros_usd)],
              [
                TEXT.arithmetic,
                <span key="sum" className="code wrap-anywhere">
                  {charge.arithmetic}
                </span>,
              ],
              [
                TEXT.priceVersion,
                <span key="version" className="code wrap-anywhere">
                  {charge.price_version}
                </span>,
              ],
            ]}
          />
        ) : (
          <p>{TEXT.notCharged}</p>
        )}
      </Card>
      <p className="small text-muted">{TEXT.noBodies}</p>
    </>
  )
}

function FactList({ facts }: { facts: Facts }) {
  return (
    <dl className="grid gap-3">
      {facts.map(([name, value]) => (
        <div key={name} className="grid gap-x-4 sm:grid-cols-[12rem_minmax(0,1fr)]">
          <dt className="text-muted">{name}</dt>
          <dd className="min-w-0">{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** A fact that not every request has. */
function some(name: string, value: string | null): Facts {
  return value
    ? [
        [
          name,
          <span key={name} className="wrap-anywhere">
            {value}
          </span>,
        ],
      ]
    : []
}

function timeText(ms: number | null): string {
  return ms === null ? '-' : TEXT.latency(ms)
}
