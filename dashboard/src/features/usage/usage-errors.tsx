import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { listState } from '../../api/client/list-state.ts'
import { type ErrorGroup, errorsQuery } from '../../api/requests.ts'
import type { UsageFilter } from '../../api/usage.ts'
import type { UsageSpan } from '../../api/views/usage-range.ts'
import type { UsageView } from '../../api/views/usage-view.ts'
import { operationLabel } from '../../messages/requests.ts'
import { USAGE_TEXT as TEXT } from '../../messages/usage.ts'
import { Empty } from '../../ui/feedback/states.tsx'
import { grouped, percent, shortCount } from '../../ui/format/money.ts'
import { ExactTime } from '../../ui/format/time.tsx'
import { Card } from '../../ui/layout/card.tsx'
import { type Column, Table } from '../../ui/layout/table.tsx'
import { StatusBadge } from '../../ui/requests/request-row.tsx'

const { errorColumns: HEADS } = TEXT

/** Why requests failed, grouped by endpoint and reason, the most frequent first. */
export function UsageErrors({ span, filter, onView }: UsageErrorsProps) {
  const report = useQuery(errorsQuery(span, filter))
  const { data } = report
  const failed = (data?.errors ?? []).reduce((sum, { requests }) => sum + requests, 0)
  return (
    <Card title={TEXT.errors} flush>
      <p className="small px-4 pb-3 text-muted sm:px-6">{data?.is_partial ? TEXT.errorsPartial : TEXT.errorsLead}</p>
      <Table
        caption={TEXT.errorTable}
        columns={columnsOf(failed, onView)}
        rowKey={({ operation, status, code }) => [operation, status, code].join(' ')}
        state={{ ...listState(report), rows: data?.errors }}
        empty={<Empty>{TEXT.noErrors}</Empty>}
      />
    </Card>
  )
}

type UsageErrorsProps = { span: UsageSpan; filter: UsageFilter; onView: (part: Partial<UsageView>) => void }

function columnsOf(failed: number, onView: UsageErrorsProps['onView']): readonly Column<ErrorGroup>[] {
  return [
    { id: 'operation', head: HEADS.operation, cell: ({ operation }) => operationLabel(operation) },
    { id: 'reason', card: 'below', head: HEADS.reason, cell: (group) => <Reason group={group} onView={onView} /> },
    {
      id: 'requests',
      card: 'aside',
      head: HEADS.requests,
      numeric: true,
      cell: ({ requests }) => <span title={grouped(requests)}>{shortCount(requests)}</span>,
    },
    { id: 'share', head: HEADS.share, numeric: true, cell: ({ requests }) => percent(requests, failed) },
    {
      id: 'last',
      head: HEADS.last,
      cell: ({ last_at: at, last_request_id: id }) => (
        <Link to="/requests/$id" params={{ id }} className="text-accent">
          <ExactTime at={at} />
        </Link>
      ),
    },
  ]
}

/** The code leads to its requests. The message is that of the newest of them. */
function Reason({ group, onView }: { group: ErrorGroup; onView: UsageErrorsProps['onView'] }) {
  const { operation, status, code, last_message: message } = group
  return (
    <div className="grid min-w-48 gap-1">
      <button
        type="button"
        className="w-fit rounded-md text-left hover:underline"
        title={TEXT.show(`${status} ${code}`)}
        onClick={() => onView({ tab: 'requests', operation, status, search: code })}
      >
        <StatusBadge status={status} code={code} />
      </button>
      {message !== null && <span className="small text-muted wrap-anywhere">{message}</span>}
    </div>
  )
}
