import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { asFailure } from '../../api/failure.ts'
import { newestRequestsQuery } from '../../api/requests.ts'
import { useKeyLabels } from '../../api/usage.ts'
import { Card } from '../../ui/card.tsx'
import { RequestLog } from '../../ui/request-log.tsx'
import { Empty } from '../../ui/states.tsx'
import { OVERVIEW_WORDS as WORDS } from '../../words/overview.ts'

const ROWS = 10

/** The newest requests, as they come. */
export function RecentRequests() {
  const newest = useQuery(newestRequestsQuery(ROWS))
  const keyLabel = useKeyLabels()
  return (
    <Card
      title={WORDS.recent}
      flush
      aside={
        <Link to="/usage" search={{ tab: 'requests' }} className="text-accent">
          {WORDS.allRequests}
        </Link>
      }
    >
      <RequestLog
        caption={WORDS.recentTable}
        short
        keyLabel={keyLabel}
        state={{
          rows: newest.data,
          failure: newest.error ? asFailure(newest.error) : null,
          onTryAgain: () => void newest.refetch(),
        }}
        empty={<Empty>{WORDS.noRequests}</Empty>}
      />
    </Card>
  )
}
