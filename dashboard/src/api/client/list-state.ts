import { type ApiFailure, failureFrom } from './failure.ts'

/** What TanStack Query gives for a question; of one that is asked page by page, also how to go on. */
interface QueryState {
  readonly error: Error | null
  readonly refetch: () => Promise<unknown>
  readonly hasNextPage?: boolean
  readonly isFetchingNextPage?: boolean
  readonly fetchNextPage?: () => Promise<unknown>
}

interface ListState {
  readonly failure: ApiFailure | null
  readonly onRetry: () => void
  /** Null where there is no more. */
  readonly more: { readonly busy: boolean; readonly onMore: () => void } | null
}

/** How a list stands beside its rows: what went wrong and how to ask again, and whether there is more of it. */
export function listState(query: QueryState): ListState {
  const { hasNextPage = false, isFetchingNextPage = false, fetchNextPage } = query
  return {
    failure: failureFrom(query),
    onRetry: () => void query.refetch(),
    more: hasNextPage ? { busy: isFetchingNextPage, onMore: () => void fetchNextPage?.() } : null,
  }
}
