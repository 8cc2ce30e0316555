import { useInfiniteQuery } from '@tanstack/react-query'
import { listState } from '../../api/client/list-state.ts'
import { type RequestsFilter, requestsQuery } from '../../api/requests.ts'
import { useKeyLabels } from '../../api/usage.ts'
import { REQUEST_TEXT as TEXT } from '../../messages/requests.ts'
import { Button } from '../../ui/button.tsx'
import { Empty } from '../../ui/feedback/states.tsx'
import { RequestLog } from '../../ui/requests/request-log.tsx'

/** The request log for a filter, in pages. */
export function UsageRequests({ filter, filtered, onClear }: UsageRequestsProps) {
  const log = useInfiniteQuery(requestsQuery(filter))
  const keyLabel = useKeyLabels()
  return (
    <section className="min-w-0 rounded-xl border border-line bg-surface pt-2">
      <RequestLog
        caption={TEXT.table}
        keyLabel={keyLabel}
        state={{
          rows: log.data?.pages.flatMap(({ requests }) => requests),
          ...listState(log),
        }}
        empty={
          filtered ? (
            <Empty action={<Button onClick={onClear}>{TEXT.clear}</Button>}>{TEXT.noneMatch}</Empty>
          ) : (
            <Empty>{TEXT.none}</Empty>
          )
        }
      />
    </section>
  )
}

type UsageRequestsProps = { filter: RequestsFilter; filtered: boolean; onClear: () => void }
