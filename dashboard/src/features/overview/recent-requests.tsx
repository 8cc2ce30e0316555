import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { listState } from '../../api/client/list-state.ts'
import { newestRequestsQuery } from '../../api/requests.ts'
import { useKeyLabels } from '../../api/usage.ts'
import { OVERVIEW_TEXT as TEXT } from '../../messages/overview.ts'
import { NewestRequests } from '../../ui/requests/newest-requests.tsx'

const ROWS = 5
/** As many as the page asks for anyway. */
const KNOWN_ROWS = 10

/** The most recent requests, live. */
export function RecentRequests() {
  const newest = useQuery(newestRequestsQuery(KNOWN_ROWS))
  const keyLabel = useKeyLabels()
  return (
    <NewestRequests
      title={TEXT.recent}
      caption={TEXT.recentTable}
      keyLabel={keyLabel}
      state={{ rows: newest.data?.slice(0, ROWS), ...listState(newest) }}
      all={
        <Link to="/usage" search={{ tab: 'requests' }} className="text-accent">
          {TEXT.allRequests}
        </Link>
      }
    />
  )
}
