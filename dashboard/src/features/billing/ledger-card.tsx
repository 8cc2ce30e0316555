import { useInfiniteQuery } from '@tanstack/react-query'
import { type LedgerLine, ledgerQuery } from '../../api/billing/billing.ts'
import { listState } from '../../api/client/list-state.ts'
import { BILLING_TEXT as TEXT } from '../../messages/billing.ts'
import { operationName } from '../../messages/requests.ts'
import { buttonClass } from '../../ui/button.tsx'
import { Empty } from '../../ui/feedback/states.tsx'
import { costUsd } from '../../ui/format/money.ts'
import { TimeAgo } from '../../ui/format/time.tsx'
import { Card } from '../../ui/layout/card.tsx'
import { type Column, Table } from '../../ui/layout/table.tsx'

const { columns: HEADS } = TEXT

const COLUMNS: readonly Column<LedgerLine>[] = [
  { id: 'at', head: HEADS.at, cell: ({ at }) => <TimeAgo at={at} /> },
  { id: 'what', head: HEADS.what, cell: (line) => <LineDescription line={line} /> },
  { id: 'amount', head: HEADS.amount, numeric: true, cell: ({ amount_micros_usd }) => costUsd(amount_micros_usd) },
  {
    id: 'after',
    head: HEADS.after,
    numeric: true,
    cell: ({ balance_after_micros_usd }) => costUsd(balance_after_micros_usd),
  },
]

function LineDescription({ line: { kind, description } }: { line: LedgerLine }) {
  const name = TEXT.kinds[kind]
  const more = kind === 'charge' ? operationName(description) : description
  return (
    <span className="grid">
      <span className="font-medium">{name}</span>
      {more !== name && <span className="small text-muted wrap-anywhere">{more}</span>}
    </span>
  )
}

/** All transactions of the account, newest first. */
export function LedgerCard() {
  const found = useInfiniteQuery(ledgerQuery)
  return (
    <Card
      title={TEXT.ledger}
      flush
      aside={
        <a href="/api/transactions.csv" download className={buttonClass()}>
          {TEXT.csv}
        </a>
      }
    >
      <Table
        caption={TEXT.ledgerTable}
        columns={COLUMNS}
        rowKey={({ id }) => id}
        state={{
          rows: found.data?.pages.flatMap(({ transactions }) => transactions),
          ...listState(found),
        }}
        card={(line) => (
          <div className="grid gap-1">
            <div className="flex items-start justify-between gap-4">
              <LineDescription line={line} />
              <span className="font-medium">{costUsd(line.amount_micros_usd)}</span>
            </div>
            <div className="small flex justify-between gap-4 text-muted">
              <TimeAgo at={line.at} />
              <span>{costUsd(line.balance_after_micros_usd)}</span>
            </div>
          </div>
        )}
        empty={<Empty>{TEXT.noLedger}</Empty>}
      />
    </Card>
  )
}
