import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { listState } from '../../api/list-state.ts'
import { newestRequestsQuery } from '../../api/requests.ts'
import { useKeyLabels } from '../../api/usage.ts'
import { NewestRequests } from '../../ui/newest-requests.tsx'
import { OVERVIEW_WORDS as WORDS } from '../../words/overview.ts'

const ROWS = 10

/** The newest requests, as they come. */
export function RecentRequests() {
  const newest = useQuery(newestRequestsQuery(ROWS))
  const keyLabel = useKeyLabels()
  return (
    <NewestRequests
      title={WORDS.recent}
      caption={WORDS.recentTable}
      keyLabel={keyLabel}
      state={{ rows: newest.data, ...listState(newest) }}
      all={
        <Link to="/usage" search={{ tab: 'requests' }} className="text-accent">
          {WORDS.allRequests}
        </Link>
      }
    />
  )
}
