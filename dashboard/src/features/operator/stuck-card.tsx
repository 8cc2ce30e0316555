import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { listState } from '../../api/client/list-state.ts'
import { type StuckLine, stuckQuery } from '../../api/operator.ts'
import { OPERATOR_TEXT } from '../../messages/operator.ts'
import { Button } from '../../ui/button.tsx'
import { lazyPart } from '../../ui/feedback/lazy-part.tsx'
import { costUsd } from '../../ui/format/money.ts'
import { TimeAgo } from '../../ui/format/time.tsx'
import { Card } from '../../ui/layout/card.tsx'
import { type Column, Table } from '../../ui/layout/table.tsx'

const StuckDialog = lazyPart(() => import('./stuck-dialogs.tsx').then(({ StuckDialog }) => StuckDialog))

const { stuck: TEXT } = OPERATOR_TEXT

/** Records of the ledger that the tables refuse, and what an operator decides about them. Nothing while there are none. */
export function StuckCard() {
  const stuck = useInfiniteQuery(stuckQuery)
  const [deciding, setDeciding] = useState<{ how: 'retry' | 'discard'; record: StuckLine } | null>(null)
  const rows = stuck.data?.pages.flatMap(({ records }) => records)
  if (!rows || (rows.length === 0 && !deciding)) return null
  const actions = (record: StuckLine) => (
    <div className="flex justify-end gap-2">
      {record.due && (
        <Button aria-label={`${TEXT.retry}: ${record.id}`} onClick={() => setDeciding({ how: 'retry', record })}>
          {TEXT.retry}
        </Button>
      )}
      <Button aria-label={`${TEXT.discard}: ${record.id}`} onClick={() => setDeciding({ how: 'discard', record })}>
        {TEXT.discard}
      </Button>
    </div>
  )
  const columns: readonly Column<StuckLine>[] = [
    { id: 'who', head: TEXT.columns.who, cell: ({ account }) => <Code text={account ?? '-'} /> },
    {
      id: 'what',
      card: 'title',
      head: TEXT.columns.what,
      cell: ({ kind, operation }) => `${TEXT.kinds[kind]}, ${operation ?? '-'}`,
    },
    {
      id: 'usd',
      card: 'aside',
      head: TEXT.columns.usd,
      numeric: true,
      cell: ({ amount_micros_usd: amount }) => costUsd(amount),
    },
    { id: 'why', card: 'below', head: TEXT.columns.why, cell: ({ reason }) => <Code text={reason} /> },
    { id: 'at', head: TEXT.columns.at, cell: ({ at }) => <TimeAgo at={at} /> },
    { id: 'act', card: 'below', head: TEXT.columns.act, silent: true, cell: actions },
  ]
  return (
    <Card title={TEXT.title} flush>
      <p className="px-4 pb-3 text-muted sm:px-6">{TEXT.lead}</p>
      <Table
        caption={TEXT.table}
        columns={columns}
        rowKey={({ id }) => id}
        state={{ rows, ...listState(stuck) }}
        empty={null}
      />
      {deciding && <StuckDialog how={deciding.how} record={deciding.record} onClose={() => setDeciding(null)} />}
    </Card>
  )
}

function Code({ text }: { text: string }) {
  return <span className="code wrap-anywhere">{text}</span>
}
