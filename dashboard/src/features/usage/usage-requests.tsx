import { useInfiniteQuery } from '@tanstack/react-query'
import { listState } from '../../api/list-state.ts'
import { type RequestsAsked, requestsQuery } from '../../api/requests.ts'
import { useKeyLabels } from '../../api/usage.ts'
import { Button } from '../../ui/button.tsx'
import { RequestLog } from '../../ui/request-log.tsx'
import { Empty } from '../../ui/states.tsx'
import { REQUEST_WORDS as WORDS } from '../../words/requests.ts'

/** The request log of a filter, page by page, without end. */
export function UsageRequests({ asked, filtered, onClear }: UsageRequestsProps) {
  const log = useInfiniteQuery(requestsQuery(asked))
  const keyLabel = useKeyLabels()
  return (
    <section className="min-w-0 rounded-xl border border-line bg-surface pt-2">
      <RequestLog
        caption={WORDS.table}
        keyLabel={keyLabel}
        state={{
          rows: log.data?.pages.flatMap(({ requests }) => requests),
          ...listState(log),
        }}
        empty={
          filtered ? (
            <Empty action={<Button onClick={onClear}>{WORDS.clear}</Button>}>{WORDS.noneMatch}</Empty>
          ) : (
            <Empty>{WORDS.none}</Empty>
          )
        }
      />
    </section>
  )
}

type UsageRequestsProps = { asked: RequestsAsked; filtered: boolean; onClear: () => void }
