import { useInfiniteQuery } from '@tanstack/react-query'
import { Radio } from 'lucide-react'
import { useEffect, useState } from 'react'
import { listState } from '../../api/client/list-state.ts'
import { type RequestsFilter, requestsQuery } from '../../api/requests.ts'
import { useKeyLabels } from '../../api/usage.ts'
import { REQUEST_TEXT as TEXT } from '../../messages/requests.ts'
import { Button } from '../../ui/button.tsx'
import { Empty } from '../../ui/feedback/states.tsx'
import { BareCard } from '../../ui/layout/card.tsx'
import { ListTools, SearchBox } from '../../ui/layout/search-box.tsx'
import { RequestLog } from '../../ui/requests/request-log.tsx'
import { LiveRequests } from './live-requests.tsx'

/** Pages that are loaded by themselves while none has a match: a million requests. */
const MAX_EMPTY_PAGES = 20

/** The request log for a filter, in pages. */
export function UsageRequests({ filter, filtered, onClear, onSearch }: UsageRequestsProps) {
  const [isLive, setLive] = useState(false)
  return (
    <BareCard>
      <ListTools>
        {/* A search may read a long log. */}
        {!isLive && (
          <SearchBox
            label={TEXT.search}
            hint={TEXT.searchHint}
            maxLength={256}
            value={filter.search ?? ''}
            button={TEXT.searchButton}
            onSearch={(search) => onSearch(search || undefined)}
          />
        )}
        <Button tone={isLive ? 'primary' : 'plain'} aria-pressed={isLive} onClick={() => setLive(!isLive)}>
          <Radio size={16} aria-hidden />
          {TEXT.live}
        </Button>
      </ListTools>
      {isLive ? <LiveRequests filter={filter} /> : <LoggedRequests {...{ filter, filtered, onClear }} />}
    </BareCard>
  )
}

/** The log in pages, newest first. */
function LoggedRequests({ filter, filtered, onClear }: Omit<UsageRequestsProps, 'onSearch'>) {
  const log = useInfiniteQuery(requestsQuery(filter))
  const keyLabel = useKeyLabels()
  const rows = log.data?.pages.flatMap(({ requests }) => requests)
  useSearchOn(log, rows?.length === 0)
  return (
    <RequestLog
      caption={TEXT.table}
      keyLabel={keyLabel}
      state={{ rows, ...listState(log) }}
      empty={
        filtered ? (
          <Empty action={<Button onClick={onClear}>{TEXT.clear}</Button>}>{TEXT.noneMatch}</Empty>
        ) : (
          <Empty>{TEXT.none}</Empty>
        )
      }
    />
  )
}

type UsageRequestsProps = {
  filter: RequestsFilter
  filtered: boolean
  onClear: () => void
  onSearch: (search: string | undefined) => void
}

interface SearchedLog {
  readonly data: { readonly pages: readonly unknown[] } | undefined
  readonly hasNextPage: boolean
  readonly isFetching: boolean
  readonly fetchNextPage: () => Promise<unknown>
}

/** The server looks through a part of a long log per page. Goes on while nothing matched. */
function useSearchOn({ data, hasNextPage, isFetching, fetchNextPage }: SearchedLog, isEmpty: boolean): void {
  const pages = data?.pages.length ?? 0
  const goesOn = isEmpty && hasNextPage && !isFetching && pages < MAX_EMPTY_PAGES
  useEffect(() => {
    if (goesOn) void fetchNextPage()
  }, [goesOn, fetchNextPage])
}
