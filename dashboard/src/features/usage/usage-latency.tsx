import { useQuery } from '@tanstack/react-query'
import { listState } from '../../api/client/list-state.ts'
import { type UsageFilter, type UsageReport, usageParams, usageQuery } from '../../api/usage.ts'
import type { UsageSpan } from '../../api/views/usage-range.ts'
import { operationLabel } from '../../messages/requests.ts'
import { USAGE_TEXT as TEXT } from '../../messages/usage.ts'
import { Empty } from '../../ui/feedback/states.tsx'
import { Count } from '../../ui/format/count.tsx'
import { grouped } from '../../ui/format/money.ts'
import { Card } from '../../ui/layout/card.tsx'
import { type Column, Table } from '../../ui/layout/table.tsx'

type Group = NonNullable<UsageReport['latency']>['groups'][number]

const { latencyColumns: HEADS } = TEXT

const time = (ms: number | null) => (ms === null ? '-' : TEXT.ms(grouped(ms)))

const COLUMNS: readonly Column<Group>[] = [
  { id: 'operation', head: HEADS.operation, cell: ({ operation }) => operationLabel(operation) },
  { id: 'provider', head: HEADS.provider, cell: ({ provider }) => provider ?? '-' },
  { id: 'model', head: HEADS.model, cell: ({ model }) => <span className="wrap-anywhere">{model ?? '-'}</span> },
  {
    id: 'calls',
    head: HEADS.calls,
    numeric: true,
    cell: ({ calls }) => <Count value={calls} />,
  },
  { id: 'p50', head: HEADS.p50, numeric: true, cell: (group) => time(group.p50_ms) },
  { id: 'p95', head: HEADS.p95, numeric: true, cell: (group) => time(group.p95_ms) },
  { id: 'p99', head: HEADS.p99, numeric: true, cell: (group) => time(group.p99_ms) },
]

/** How long calls took, by endpoint, provider and model. */
export function UsageLatency({ span, filter }: { span: UsageSpan; filter: UsageFilter }) {
  const report = useQuery(usageQuery(usageParams(span, filter)))
  const { data } = report
  return (
    <Card title={TEXT.latency} flush>
      <p className="small px-4 pb-3 text-muted sm:px-6">{TEXT.latencyLead}</p>
      <Table
        caption={TEXT.latencyTable}
        columns={COLUMNS}
        textOf={({ operation, provider, model }) => `${operationLabel(operation)} ${provider ?? ''} ${model ?? ''}`}
        rowKey={({ operation, provider, model }) => [operation, provider, model].join(' ')}
        state={{ rows: data && (data.latency?.groups ?? []), ...listState(report) }}
        empty={<Empty>{data?.latency === null ? TEXT.noLatencyByStatus : TEXT.none}</Empty>}
      />
    </Card>
  )
}
