import { useQuery } from '@tanstack/react-query'
import { Download } from 'lucide-react'
import { useState } from 'react'
import { toApiFailure } from '../../../api/client/failure.ts'
import { listState } from '../../../api/client/list-state.ts'
import {
  type RevenueAsked,
  type RevenueGrouping,
  type RevenueReport,
  type RevenueRow,
  revenueCsv,
  revenueQuery,
} from '../../../api/money.ts'
import { MONEY_TEXT as TEXT } from '../../../messages/money.ts'
import { operationLabel } from '../../../messages/requests.ts'
import { buttonClass } from '../../../ui/button.tsx'
import { chartSlots } from '../../../ui/charts/chart-slots.ts'
import { MONEY_STEP, UsageChart } from '../../../ui/charts/usage-chart.tsx'
import { Failed } from '../../../ui/feedback/failure.tsx'
import { Empty, Loading } from '../../../ui/feedback/states.tsx'
import { Field, Select } from '../../../ui/field.tsx'
import { costUsd, grouped, percent } from '../../../ui/format/money.ts'
import { useNow } from '../../../ui/format/time.tsx'
import { Card, Figure, Figures } from '../../../ui/layout/card.tsx'
import { FactList } from '../../../ui/layout/fact-list.tsx'
import { type Column, Table } from '../../../ui/layout/table.tsx'

const DAY_MS = 86_400_000
const GROUPS = ['operation', 'model', 'account', 'rail', 'day'] as const
const DAYS_SHOWN = 30

/** Revenue and cost of calls: figures, a chart by day, and a table by the chosen group. */
export function RevenueView() {
  const today = dateOf(useNow())
  const [span, setSpan] = useState({ from: dateOf(Date.parse(today) - (DAYS_SHOWN - 1) * DAY_MS), to: today })
  const [group, setGroup] = useState<RevenueGrouping>('operation')
  const days = useQuery(revenueQuery({ ...span, group_by: 'day' }))
  return (
    <div className="grid min-w-0 gap-6">
      <div className="flex flex-wrap items-end gap-2">
        {(['from', 'to'] as const).map((name) => (
          <Field key={name} label={TEXT[name]}>
            {(control) => (
              <input
                {...control}
                type="date"
                required
                value={span[name]}
                onChange={({ target }) => target.value && setSpan({ ...span, [name]: target.value })}
              />
            )}
          </Field>
        ))}
      </div>
      {days.error && (
        <Failed failure={toApiFailure(days.error)} onRetry={() => void days.refetch()} isStale={!!days.data} />
      )}
      {!days.data && !days.error && <Loading rows={6} />}
      {days.data && (
        <>
          <RevenueFigures report={days.data} />
          <RevenueChart report={days.data} />
        </>
      )}
      <RevenueTable asked={{ ...span, group_by: group }} onGroup={setGroup} />
      {days.data && <CreditCard report={days.data} />}
    </div>
  )
}

function RevenueFigures({ report: { totals, to, owed_to_customers_micros_usd: owed } }: { report: RevenueReport }) {
  const { calls, revenue_micros_usd: revenue, upstream_cost_micros_usd: cost, margin_micros_usd: margin } = totals
  const unknown = totals.unknown_cost_calls
  return (
    <Figures>
      <Figure label={TEXT.total} value={costUsd(revenue)}>
        {TEXT.charged(grouped(calls))}
      </Figure>
      <Figure label={TEXT.cost} value={costUsd(cost ?? 0)}>
        {unknown > 0 ? TEXT.costUnknown(grouped(unknown), grouped(calls)) : TEXT.costKnown}
      </Figure>
      <Figure label={TEXT.margin} value={margin === null ? TEXT.noMargin : costUsd(margin)}>
        {margin === null ? TEXT.noMarginText : TEXT.ofRevenue(percent(margin, revenue))}
      </Figure>
      <Figure label={TEXT.owed} value={costUsd(owed)}>
        {TEXT.owedOn(to)}
      </Figure>
    </Figures>
  )
}

function RevenueChart({ report: { rows, from, to } }: { report: RevenueReport }) {
  const now = useNow()
  const byDay = new Map(rows.map((row) => [row.name, row.revenue_micros_usd]))
  const count = Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1
  const days = Array.from({ length: count }, (_, at) => Date.parse(from) + at * DAY_MS)
  const slots = chartSlots(
    days.map((day) => ({ start_time: day / 1000, end_time: (day + DAY_MS) / 1000 })),
    (at) => [byDay.get(dateOf(days[at] ?? 0)) ?? 0],
    now,
    'UTC',
  )
  return (
    <Card title={TEXT.perDay}>
      {rows.length === 0 ? (
        <p className="text-muted">{TEXT.none}</p>
      ) : (
        <UsageChart
          title={TEXT.perDay}
          slots={slots}
          series={[TEXT.revenue]}
          format={(value) => costUsd(Math.round(value))}
          zone="UTC"
          leastStep={MONEY_STEP}
        />
      )}
    </Card>
  )
}

function RevenueTable({ asked, onGroup }: { asked: RevenueAsked; onGroup: (group: RevenueGrouping) => void }) {
  const query = useQuery(revenueQuery(asked))
  const { group_by: group } = asked
  const named = (row: RevenueRow) => groupName(row, group)
  const columns: readonly Column<RevenueRow>[] = [
    { id: 'name', head: TEXT.groups[group], cell: (row) => <span className="wrap-anywhere">{named(row)}</span> },
    { id: 'calls', head: TEXT.columns.calls, numeric: true, cell: ({ calls }) => grouped(calls) },
    {
      id: 'revenue',
      card: 'aside',
      head: TEXT.columns.revenue,
      numeric: true,
      cell: (row) => <RevenueCell row={row} />,
    },
    { id: 'cost', head: TEXT.columns.cost, numeric: true, cell: (row) => <CostCell row={row} /> },
    {
      id: 'margin',
      head: TEXT.columns.margin,
      numeric: true,
      cell: ({ margin_micros_usd: margin }) => (margin === null ? '-' : costUsd(margin)),
    },
  ]
  return (
    <Card
      title={TEXT.by(TEXT.groups[group])}
      flush
      aside={
        <div className="flex flex-wrap items-center gap-2">
          <Select
            label={TEXT.group}
            options={GROUPS.map((value) => ({ value, text: TEXT.groups[value] }))}
            value={group}
            onChange={({ target }) => onGroup(GROUPS.find((name) => name === target.value) ?? 'operation')}
          />
          <a href={revenueCsv(asked)} download className={buttonClass()}>
            <Download size={16} aria-hidden />
            {TEXT.csv}
          </a>
        </div>
      }
    >
      <Table
        caption={TEXT.table(TEXT.groups[group])}
        columns={columns}
        rowKey={({ name }) => name}
        state={{ rows: query.data?.group_by === group ? query.data.rows : undefined, ...listState(query) }}
        empty={<Empty>{TEXT.none}</Empty>}
      />
      {query.data && query.data.rows_left_out > 0 && (
        <p className="px-4 py-3 text-muted sm:px-6">{TEXT.rowsLeftOut(grouped(query.data.rows_left_out))}</p>
      )}
    </Card>
  )
}

function RevenueCell({ row }: { row: RevenueRow }) {
  return (
    <span className="grid">
      <span>{costUsd(row.revenue_micros_usd)}</span>
      {row.refunded_micros_usd > 0 && (
        <span className="small text-muted">{TEXT.refunded(costUsd(row.refunded_micros_usd))}</span>
      )}
    </span>
  )
}

function CostCell({ row: { upstream_cost_micros_usd: cost, unknown_cost_calls: unknown } }: { row: RevenueRow }) {
  return (
    <span className="grid">
      <span>{cost === null ? '-' : costUsd(cost)}</span>
      {unknown > 0 && <span className="small text-muted">{TEXT.unknownCost(grouped(unknown))}</span>}
    </span>
  )
}

function CreditCard({ report: { credit, overruns_micros_usd: overruns } }: { report: RevenueReport }) {
  const rows = [
    [TEXT.creditRows.signup, credit.signup_credit_given_micros_usd],
    [TEXT.creditRows.grants, credit.grants_given_micros_usd],
    [TEXT.creditRows.debits, credit.debited_micros_usd],
    [TEXT.creditRows.used, credit.used_micros_usd],
    [TEXT.creditRows.overruns, overruns],
  ] as const
  return (
    <Card title={TEXT.credit}>
      <FactList facts={rows.map(([label, amount]) => [label, costUsd(amount)])} />
    </Card>
  )
}

function groupName({ name, email }: RevenueRow, group: RevenueGrouping): string {
  if (name === '') return TEXT.unnamed[group]
  if (group === 'account') return email ?? name
  if (group === 'rail') return TEXT.rails[name] ?? name
  return group === 'operation' ? operationLabel(name) : name
}

function dateOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}
