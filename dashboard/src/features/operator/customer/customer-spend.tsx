import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { toApiFailure } from '../../../api/client/failure.ts'
import { listState } from '../../../api/client/list-state.ts'
import { type CustomerUsage, customerLedgerQuery, customerUsageQuery } from '../../../api/customer.ts'
import { CUSTOMER_TEXT as TEXT } from '../../../messages/customer.ts'
import { operationLabel } from '../../../messages/requests.ts'
import { chartSlots } from '../../../ui/charts/chart-slots.ts'
import { MONEY_STEP, UsageChart } from '../../../ui/charts/usage-chart.tsx'
import { Failed } from '../../../ui/feedback/failure.tsx'
import { Empty, Loading } from '../../../ui/feedback/states.tsx'
import { costUsd, grouped } from '../../../ui/format/money.ts'
import { useNow } from '../../../ui/format/time.tsx'
import { Card } from '../../../ui/layout/card.tsx'
import { type Column, staticRows, Table } from '../../../ui/layout/table.tsx'
import { LedgerTable } from '../../../ui/requests/ledger-table.tsx'

type OperationSpend = NonNullable<CustomerUsage['groups']>[number]

const { spendColumns: HEADS } = TEXT
const COLUMNS: readonly Column<OperationSpend>[] = [
  { id: 'operation', head: HEADS.operation, cell: ({ name }) => operationLabel(String(name)) },
  { id: 'calls', head: HEADS.calls, numeric: true, cell: ({ requests }) => grouped(requests) },
  { id: 'failed', head: HEADS.failed, numeric: true, cell: ({ failed_requests: failed }) => grouped(failed) },
  { id: 'spend', card: 'aside', head: HEADS.spend, numeric: true, cell: ({ charged_micros_usd: usd }) => costUsd(usd) },
]

/** A customer's spending of the last 30 days, by day and by operation. */
export function SpendCard({ id }: { id: string }) {
  const now = useNow()
  const query = useQuery(customerUsageQuery(id, Math.ceil(now / 86_400_000) * 86_400))
  const { data } = query
  const used = data && data.totals.requests > 0 ? data : null
  return (
    <Card title={TEXT.spend} flush>
      <div className="grid gap-4 px-4 pb-4 sm:px-6">
        {query.error && (
          <Failed failure={toApiFailure(query.error)} onRetry={() => void query.refetch()} isStale={!!data} />
        )}
        {!data && !query.error && <Loading rows={6} />}
        {used && (
          <UsageChart
            title={TEXT.spend}
            slots={chartSlots(used.buckets, (at) => [used.buckets[at]?.charged_micros_usd ?? 0], now, 'UTC')}
            series={[HEADS.spend]}
            format={(value) => costUsd(Math.round(value))}
            zone="UTC"
            leastStep={MONEY_STEP}
          />
        )}
      </div>
      {data && (
        <Table
          caption={TEXT.spendByOperation}
          columns={COLUMNS}
          rowKey={({ name }) => String(name)}
          state={staticRows(data.groups ?? [])}
          empty={<Empty>{TEXT.noSpend}</Empty>}
        />
      )}
    </Card>
  )
}

/** The transactions of a customer, newest first. */
export function TransactionsCard({ id }: { id: string }) {
  const found = useInfiniteQuery(customerLedgerQuery(id))
  return (
    <Card title={TEXT.transactions} flush>
      <LedgerTable
        state={{ rows: found.data?.pages.flatMap(({ transactions }) => transactions), ...listState(found) }}
      />
    </Card>
  )
}
