import { useQuery } from '@tanstack/react-query'
import { accountQuery } from '../../api/account/account.ts'
import { type OnePayment, paymentsQuery } from '../../api/billing/billing.ts'
import { listState } from '../../api/client/list-state.ts'
import { methodName, BILLING_TEXT as TEXT } from '../../messages/billing.ts'
import { Badge } from '../../ui/badge.tsx'
import { Empty } from '../../ui/feedback/states.tsx'
import { costUsd } from '../../ui/format/money.ts'
import { TimeAgo } from '../../ui/format/time.tsx'
import { Card } from '../../ui/layout/card.tsx'
import { type Column, Table } from '../../ui/layout/table.tsx'

const { columns: HEADS } = TEXT
const TONES = {
  working: 'neutral',
  released: 'bad',
  settling: 'warn',
  settled: 'ok',
  served: 'ok',
  paid_unserved: 'warn',
} as const

const COLUMNS: readonly Column<OnePayment>[] = [
  { id: 'at', head: HEADS.at, cell: ({ created_at }) => <TimeAgo at={created_at} /> },
  { id: 'state', head: HEADS.state, cell: (payment) => <State payment={payment} /> },
  { id: 'what', card: 'title', head: HEADS.what, cell: what },
  { id: 'payer', head: HEADS.payer, cell: ({ payer }) => <code className="code wrap-anywhere">{payer}</code> },
  {
    id: 'request',
    head: HEADS.request,
    cell: ({ request_id }) => <code className="code wrap-anywhere">{request_id}</code>,
  },
  {
    id: 'amount',
    card: 'aside',
    head: HEADS.amount,
    numeric: true,
    cell: ({ amount_micros_usd }) => costUsd(amount_micros_usd),
  },
]

function what({ operation, method }: OnePayment): string {
  return `${operation} · ${methodName(method)}`
}

function State({ payment: { state, error } }: { payment: OnePayment }) {
  return (
    <span className="grid justify-items-start gap-1">
      <Badge tone={TONES[state]}>{TEXT.paymentStates[state]}</Badge>
      {error && <span className="small text-muted wrap-anywhere">{error}</span>}
    </span>
  )
}

/** Pay-per-request payments, for operators. */
export function PaymentsCard() {
  const { data: account } = useQuery(accountQuery)
  const found = useQuery({ ...paymentsQuery, enabled: account?.operator === true })
  if (account?.operator !== true) return null
  return (
    <Card title={TEXT.payments} flush>
      <p className="px-4 pb-3 text-muted sm:px-6">{TEXT.paymentsText}</p>
      <Table
        caption={TEXT.paymentsTable}
        columns={COLUMNS}
        rowKey={({ id }) => id}
        state={{
          rows: found.data?.payments,
          ...listState(found),
        }}
        empty={<Empty>{TEXT.noPayments}</Empty>}
      />
    </Card>
  )
}
