import { Link } from '@tanstack/react-router'
import { BILLING_TEXT as TEXT } from '../../messages/billing.ts'
import { operationLabel } from '../../messages/requests.ts'
import { Empty } from '../feedback/states.tsx'
import { costUsd, grouped } from '../format/money.ts'
import { localDay, TimeAgo } from '../format/time.tsx'
import { type Column, Table, type TableState } from '../layout/table.tsx'

const { columns: HEADS } = TEXT

/** A transaction of an account. */
interface LedgerLine {
  readonly id: string
  readonly at: string
  readonly kind: keyof typeof TEXT.kinds
  readonly description: string
  readonly amount_micros_usd: number
  readonly balance_after_micros_usd: number
  /** How many charges of a day it adds up. */
  readonly charges?: number | null
}

const COLUMNS: readonly Column<LedgerLine>[] = [
  { id: 'at', head: HEADS.at, cell: ({ at }) => <TimeAgo at={at} /> },
  { id: 'what', card: 'title', head: HEADS.what, cell: (line) => <LineDescription line={line} /> },
  {
    id: 'amount',
    card: 'aside',
    head: HEADS.amount,
    numeric: true,
    cell: ({ amount_micros_usd }) => costUsd(amount_micros_usd),
  },
  {
    id: 'after',
    head: HEADS.after,
    numeric: true,
    cell: ({ balance_after_micros_usd }) => costUsd(balance_after_micros_usd),
  },
]

/** Transactions of one account, newest first. */
export function LedgerTable({ state }: { state: TableState<LedgerLine> }) {
  return (
    <Table
      caption={TEXT.ledgerTable}
      columns={COLUMNS}
      rowKey={({ id }) => id}
      state={state}
      empty={<Empty>{TEXT.noLedger}</Empty>}
    />
  )
}

function LineDescription({ line: { at, kind, description, charges = null } }: { line: LedgerLine }) {
  if (charges !== null && charges > 1) {
    const day = localDay(at)
    return (
      <Link
        to="/usage"
        search={{ range: 'custom', from: day, to: day, tab: 'requests' }}
        className="font-medium text-accent hover:underline"
      >
        {TEXT.requestsOf(grouped(charges))}
      </Link>
    )
  }
  const name = TEXT.kinds[kind]
  const more = kind === 'charge' ? operationLabel(description) : description
  return (
    <span className="grid">
      <span className="font-medium">{name}</span>
      {more !== name && <span className="small text-muted wrap-anywhere">{more}</span>}
    </span>
  )
}
