import { useQuery } from '@tanstack/react-query'
import { type TopUp, topUpsQuery } from '../../api/billing/billing.ts'
import { listState } from '../../api/client/list-state.ts'
import { methodName, BILLING_TEXT as TEXT } from '../../messages/billing.ts'
import { Badge } from '../../ui/badge.tsx'
import { Empty } from '../../ui/feedback/states.tsx'
import { costUsd } from '../../ui/format/money.ts'
import { TimeAgo } from '../../ui/format/time.tsx'
import { Card } from '../../ui/layout/card.tsx'
import { type Column, Table } from '../../ui/layout/table.tsx'

const { columns: HEADS } = TEXT
const TONES = { pending: 'warn', paid: 'ok', failed: 'bad' } as const

const COLUMNS: readonly Column<TopUp>[] = [
  { id: 'at', head: HEADS.at, cell: ({ created_at }) => <TimeAgo at={created_at} /> },
  { id: 'state', head: HEADS.state, cell: ({ state }) => <Badge tone={TONES[state]}>{TEXT.states[state]}</Badge> },
  { id: 'method', card: 'title', head: HEADS.method, cell: ({ method }) => methodName(method) },
  {
    id: 'reference',
    head: HEADS.reference,
    cell: ({ reference }) => <code className="code wrap-anywhere">{reference ?? '-'}</code>,
  },
  {
    id: 'amount',
    card: 'aside',
    head: HEADS.amount,
    numeric: true,
    cell: ({ amount_micros_usd }) => costUsd(amount_micros_usd),
  },
]

/** Top-ups with their status. A paid one with its reference serves as the receipt. */
export function TopUpsCard() {
  const found = useQuery(topUpsQuery)
  return (
    <Card title={TEXT.topUps} flush>
      <Table
        caption={TEXT.topUpsTable}
        columns={COLUMNS}
        rowKey={({ id }) => id}
        state={{
          rows: found.data?.topups,
          ...listState(found),
        }}
        empty={<Empty>{TEXT.noTopUps}</Empty>}
      />
    </Card>
  )
}
