import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api, defined, unwrap } from '../client/client.ts'

/** The remaining limits of each key in the current minute, in pages; with `q`, of keys whose name contains it. */
export const liveLimitsQuery = (q: string) =>
  infiniteQueryOptions({
    queryKey: ['limits', 'live', q],
    queryFn: ({ pageParam }) =>
      unwrap(api.limits.get({ query: defined({ limit: 25, q: q || null, cursor: pageParam }) })),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: (before) => before,
  })

/** The tier and its limits. */
export const limitsQuery = queryOptions({
  queryKey: ['limits', 'tier'],
  queryFn: () => unwrap(api.limits.get({ query: { limit: 1 } })),
})

/** The remaining limits of one key in the current minute; null for a key that was revoked. */
export const keyLimitsQuery = (key: string) =>
  queryOptions({
    queryKey: ['limits', 'key', key],
    queryFn: async () => (await unwrap(api.limits.get({ query: { key } }))).keys[0] ?? null,
  })

/**
 * The owner's requests for higher limits, newest first. The query key starts with `limits`, so that the event of a decision
 * refreshes it.
 */
export const limitRequestsQuery = infiniteQueryOptions({
  queryKey: ['limits', 'requests'],
  queryFn: ({ pageParam }) => unwrap(api['limit-requests'].get({ query: defined({ limit: 20, cursor: pageParam }) })),
  initialPageParam: null as string | null,
  getNextPageParam: (page) => page.next_cursor,
})

export type LimitRequest = Awaited<ReturnType<typeof fetchRequests>>['requests'][number]

function fetchRequests() {
  return unwrap(api['limit-requests'].get())
}

export interface LimitRequestInput {
  readonly peak_rpm: number
  readonly peak_tpm: number
  readonly endpoints: readonly string[]
  readonly use_case: string
}

export const submitLimitRequest = (input: LimitRequestInput) => unwrap(api['limit-requests'].post({ ...input }))
