import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { errorsQuery } from '../../api/requests.ts'
import { spanOf } from '../../api/views/usage-range.ts'
import { OVERVIEW_TEXT as TEXT } from '../../messages/overview.ts'
import { operationLabel } from '../../messages/requests.ts'
import { grouped } from '../../ui/format/money.ts'
import { TimeAgo, useNow } from '../../ui/format/time.tsx'
import { Card } from '../../ui/layout/card.tsx'
import { StatusBadge } from '../../ui/requests/request-row.tsx'

const MAX_GROUPS = 5

/** Why requests of the last 24 hours failed; nothing if none did. */
export function RecentFailures() {
  const groups = useQuery(errorsQuery(spanOf('24h', useNow()), {})).data?.errors ?? []
  if (groups.length === 0) return null
  return (
    <Card
      title={TEXT.failures}
      aside={
        <Link to="/usage" search={{ tab: 'errors', range: '24h' }} className="text-accent">
          {TEXT.allFailures}
        </Link>
      }
    >
      <ul className="grid gap-3">
        {groups.slice(0, MAX_GROUPS).map((group) => (
          <li key={[group.operation, group.status, group.code].join(' ')} className="grid gap-0.5">
            <span className="flex flex-wrap items-center justify-between gap-x-4">
              <Link
                to="/requests/$id"
                params={{ id: group.last_request_id }}
                className="flex flex-wrap items-center gap-2 font-medium"
              >
                <StatusBadge status={group.status} code={group.code} />
                {operationLabel(group.operation)}
              </Link>
              <span className="small text-muted">
                {TEXT.times(grouped(group.requests))} · <TimeAgo at={group.last_at} />
              </span>
            </span>
            {group.last_message !== null && (
              <span className="small text-muted wrap-anywhere">{group.last_message}</span>
            )}
          </li>
        ))}
      </ul>
    </Card>
  )
}
