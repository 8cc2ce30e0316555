import { useInfiniteQuery } from '@tanstack/react-query'
import { type LimitRequest, limitRequestsQuery } from '../../api/billing/limits.ts'
import { listState } from '../../api/client/list-state.ts'
import { LIMIT_TEXT as TEXT } from '../../messages/limits.ts'
import { Badge } from '../../ui/badge.tsx'
import { Empty } from '../../ui/feedback/states.tsx'
import { grouped } from '../../ui/format/money.ts'
import { TimeAgo } from '../../ui/format/time.tsx'
import { Card } from '../../ui/layout/card.tsx'
import { type Column, Table } from '../../ui/layout/table.tsx'
import { LimitRequestForm } from './limit-request-form.tsx'

const TONES = { pending: 'warn', approved: 'ok', declined: 'bad' } as const

const { requestColumns: HEADS } = TEXT

const COLUMNS: readonly Column<LimitRequest>[] = [
  { id: 'asked', head: HEADS.asked, cell: (request) => <Asked {...request} /> },
  { id: 'status', head: HEADS.status, card: 'aside', cell: ({ status }) => <Status status={status} /> },
  { id: 'answer', head: HEADS.answer, cell: ({ reason }) => <span className="wrap-anywhere">{reason ?? '-'}</span> },
  { id: 'at', head: HEADS.at, cell: ({ created_at: at }) => <TimeAgo at={at} /> },
]

/** Requests an increase, one at a time. */
export function IncreaseCard() {
  const query = useInfiniteQuery(limitRequestsQuery)
  const requests = query.data?.pages.flatMap((page) => page.requests)
  const isPending = requests?.some(({ status }) => status === 'pending')
  return (
    <>
      {isPending === false && (
        <Card title={TEXT.request}>
          <LimitRequestForm />
        </Card>
      )}
      <Card title={TEXT.history} flush>
        {isPending && <p className="px-4 pb-3 text-muted sm:px-6">{TEXT.pendingText}</p>}
        <Table
          caption={TEXT.historyTable}
          columns={COLUMNS}
          rowKey={({ id }) => id}
          state={{ rows: requests, ...listState(query) }}
          empty={<Empty>{TEXT.noRequests}</Empty>}
        />
      </Card>
    </>
  )
}

function Asked({ peak_rpm: rpm, peak_tpm: tpm, use_case: useCase }: LimitRequest) {
  return (
    <span className="grid min-w-48">
      <span className="font-medium">{TEXT.requested(grouped(rpm), grouped(tpm))}</span>
      <span className="small font-normal text-muted wrap-anywhere">{useCase}</span>
    </span>
  )
}

function Status({ status }: Pick<LimitRequest, 'status'>) {
  return <Badge tone={TONES[status]}>{TEXT.states[status]}</Badge>
}
