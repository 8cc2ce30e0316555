import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { ExplainedRequest } from '../../../server/http/usage/record.ts'
import { api, defined, unwrap } from './client/client.ts'

const PAGE_ROWS = 50

/** A filter of the request log. Times are RFC 3339. */
export interface RequestsFilter {
  readonly key?: string | undefined
  readonly operation?: string | undefined
  readonly status?: number | undefined
  readonly model?: string | undefined
  readonly search?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}

/** The request log, newest first, in pages. */
export const requestsQuery = (filter: RequestsFilter) =>
  infiniteQueryOptions({
    queryKey: ['requests', 'log', filter],
    queryFn: ({ pageParam }) => fetchRequests(filter, PAGE_ROWS, pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: (before) => before,
  })

/** One request explained. */
export const requestQuery = (id: string) =>
  queryOptions({ queryKey: ['requests', 'explained', id], queryFn: () => unwrap(api.requests({ id }).get()) })

export type Explained = ExplainedRequest

/** The most recent calls of one key or of all keys. */
export const newestRequestsQuery = (count: number, key?: string) =>
  queryOptions({
    queryKey: ['requests', 'newest', count, key ?? null],
    queryFn: async () => (await fetchRequests({ key }, count, null)).requests,
  })

function fetchRequests(filter: RequestsFilter, limit: number, cursor: string | null) {
  return unwrap(api.requests.get({ query: { limit, ...defined({ ...filter, cursor }) } }))
}

/** The URL of a CSV file with everything that matches the filter. */
export function csvUrl(filter: RequestsFilter): string {
  const query = new URLSearchParams(
    Object.entries(defined({ ...filter })).map(([name, value]) => [name, String(value)]),
  )
  return `/api/usage.csv?${query}`
}
