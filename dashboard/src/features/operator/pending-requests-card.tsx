import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { listState } from '../../api/client/list-state.ts'
import { type PendingLimitRequest, pendingRequestsQuery } from '../../api/operator.ts'
import { OPERATOR_TEXT as TEXT } from '../../messages/operator.ts'
import { Button } from '../../ui/button.tsx'
import { lazyPart } from '../../ui/feedback/lazy-part.tsx'
import { Empty } from '../../ui/feedback/states.tsx'
import { grouped } from '../../ui/format/money.ts'
import { TimeAgo } from '../../ui/format/time.tsx'
import { Card } from '../../ui/layout/card.tsx'
import { type Column, Table } from '../../ui/layout/table.tsx'

const DecisionDialog = lazyPart(() => import('./decision-dialogs.tsx').then(({ DecisionDialog }) => DecisionDialog))

const { waitingColumns: HEADS } = TEXT

/** The requests that await the operator's decision. */
export function PendingRequestsCard() {
  const waiting = useInfiniteQuery(pendingRequestsQuery)
  const [deciding, setDeciding] = useState<{ how: 'approve' | 'decline'; request: PendingLimitRequest } | null>(null)
  const answer = (request: PendingLimitRequest) => (
    <div className="flex justify-end gap-2">
      <Button
        aria-label={`${TEXT.approveShort}: ${request.email}`}
        onClick={() => setDeciding({ how: 'approve', request })}
      >
        {TEXT.approveShort}
      </Button>
      <Button
        aria-label={`${TEXT.declineShort}: ${request.email}`}
        onClick={() => setDeciding({ how: 'decline', request })}
      >
        {TEXT.declineShort}
      </Button>
    </div>
  )
  const asks = ({ peak_rpm: rpm, peak_tpm: tpm }: PendingLimitRequest) => TEXT.asks(grouped(rpm), grouped(tpm))
  const columns: readonly Column<PendingLimitRequest>[] = [
    {
      id: 'who',
      head: HEADS.who,
      cell: ({ email, workspace_id: id }) => <span className="font-medium wrap-anywhere">{email ?? id}</span>,
    },
    { id: 'asks', head: HEADS.asks, cell: (request) => <span className="whitespace-nowrap">{asks(request)}</span> },
    {
      id: 'use',
      card: 'below',
      head: HEADS.use,
      cell: ({ use_case: use }) => <span className="line-clamp-2 max-w-md min-w-48 wrap-anywhere">{use}</span>,
    },
    { id: 'at', head: HEADS.at, cell: ({ created_at: at }) => <TimeAgo at={at} /> },
    { id: 'act', card: 'below', head: HEADS.act, silent: true, cell: answer },
  ]
  return (
    <Card title={TEXT.waiting} flush>
      <Table
        caption={TEXT.waitingTable}
        columns={columns}
        rowKey={({ id }) => id}
        state={{
          rows: waiting.data?.pages.flatMap(({ requests }) => requests),
          ...listState(waiting),
        }}
        empty={<Empty>{TEXT.noneWaiting}</Empty>}
      />
      {deciding && <DecisionDialog how={deciding.how} request={deciding.request} onClose={() => setDeciding(null)} />}
    </Card>
  )
}
