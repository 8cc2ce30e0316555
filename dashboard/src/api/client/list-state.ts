import { type ApiFailure, failureFrom } from './failure.ts'

/** The state of a query, including the paging of an infinite one. */
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
  /** Null on the last page. */
  readonly more: { readonly busy: boolean; readonly onMore: () => void } | null
}

/** The state of a list or a detail besides its data: its failure with a retry, and whether more pages follow. */
export function listState(query: QueryState): ListState {
  const { hasNextPage = false, isFetchingNextPage = false, fetchNextPage } = query
  return {
    failure: failureFrom(query),
    onRetry: () => void query.refetch(),
    more: hasNextPage ? { busy: isFetchingNextPage, onMore: () => void fetchNextPage?.() } : null,
  }
}
