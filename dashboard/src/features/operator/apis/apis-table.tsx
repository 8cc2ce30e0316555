import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { type ApiReport, type ApiSummary, apiReportQuery, apisQuery } from '../../../api/apis.ts'
import { listState } from '../../../api/client/list-state.ts'
import { API_TEXT as TEXT } from '../../../messages/apis.ts'
import { Empty } from '../../../ui/feedback/states.tsx'
import { grouped, shortCount } from '../../../ui/format/money.ts'
import { BareCard } from '../../../ui/layout/card.tsx'
import { type Column, Table } from '../../../ui/layout/table.tsx'
import { HealthBadge, marginOf, revenueText, SaleBadge, upstreamCostText } from './api-facts.tsx'

const { columns: HEADS } = TEXT

interface Row {
  readonly api: ApiSummary
  /** Missing until the report has loaded. */
  readonly figures: ApiReport | undefined
}

/** All APIs with what they earned and how they do. */
export function ApisTable({ action }: { action: ReactNode }) {
  const apis = useQuery(apisQuery)
  const report = useQuery(apiReportQuery).data?.apis
  const rows = apis.data?.map((api) => ({ api, figures: report?.find(({ name }) => name === api.name) }))
  return (
    <BareCard>
      <Table
        caption={TEXT.table}
        columns={COLUMNS}
        rowKey={({ api }) => api.name}
        textOf={({ api }) => api.name}
        state={{ rows, ...listState(apis) }}
        empty={<Empty action={action}>{TEXT.none}</Empty>}
      />
    </BareCard>
  )
}

const COLUMNS: readonly Column<Row>[] = [
  { id: 'name', head: HEADS.name, cell: ({ api }) => <Name api={api} /> },
  { id: 'state', card: 'aside', head: HEADS.state, cell: ({ api }) => <SaleBadge enabled={api.enabled} /> },
  { id: 'operations', head: HEADS.operations, numeric: true, cell: ({ api }) => onSale(api) },
  { id: 'calls', head: HEADS.calls, numeric: true, cell: ({ figures }) => <Calls figures={figures} /> },
  { id: 'revenue', head: HEADS.revenue, numeric: true, cell: ({ figures }) => revenueText(figures) },
  { id: 'cost', head: HEADS.cost, numeric: true, cell: ({ figures }) => upstreamCostText(figures) },
  { id: 'margin', head: HEADS.margin, numeric: true, cell: ({ figures }) => marginOf(figures) },
  { id: 'errors', head: HEADS.errors, cell: ({ figures }) => <HealthBadge figures={figures} /> },
]

function onSale({ enabled_operations: enabled, operations }: ApiSummary): string {
  return TEXT.onSale(enabled, operations)
}

function Calls({ figures }: { figures: ApiReport | undefined }) {
  return figures ? <span title={grouped(figures.calls)}>{shortCount(figures.calls)}</span> : '-'
}

function Name({ api }: { api: ApiSummary }) {
  return (
    <div className="grid min-w-40">
      <Link
        to="/operator/apis/$name"
        params={{ name: api.name }}
        className="font-medium text-text wrap-anywhere hover:underline"
      >
        {api.title}
      </Link>
      <span className="code text-muted wrap-anywhere">{api.name}</span>
    </div>
  )
}
