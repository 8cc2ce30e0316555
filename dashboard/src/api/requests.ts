import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { ErrorReport, ExplainedRequest, RequestRecord } from '../../../server/http/usage/record.ts'
import { api, defined, unwrap } from './client/client.ts'
import type { UsageFilter } from './usage.ts'
import type { UsageSpan } from './views/usage-range.ts'

const PAGE_ROWS = 50

/** A filter of the request log. Times are RFC 3339. */
export interface RequestsFilter {
  readonly key?: string | undefined
  readonly tag?: string | undefined
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
export type LoggedRequest = RequestRecord
export type ErrorGroup = ErrorReport['errors'][number]

/** Why the requests of a period failed. */
export const errorsQuery = (span: UsageSpan, filter: UsageFilter) =>
  queryOptions({
    queryKey: ['requests', 'errors', span.start, span.end, filter],
    queryFn: () =>
      unwrap(
        api['error-report'].get({
          query: defined({ ...filter, from: rfc3339(span.start), to: rfc3339(span.end) }),
        }),
      ),
    placeholderData: (before) => before,
  })

/** The calls before a live tail begins. Apart from the log, which each call makes stale. */
export const newestBeforeQuery = (filter: RequestsFilter) =>
  queryOptions({
    queryKey: ['live-tail', filter],
    queryFn: async () => (await fetchRequests(filter, PAGE_ROWS, null)).requests,
    staleTime: 0,
    gcTime: 0,
  })

/** UNIX seconds as RFC 3339. */
export function rfc3339(seconds: number): string {
  return new Date(seconds * 1000).toISOString()
}

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
