import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api, unwrap } from './client/client.ts'

/** Accounts of this gateway, newest first, or those that match. */
export const accountsQuery = (search: string) =>
  infiniteQueryOptions({
    queryKey: ['operator', 'accounts', search],
    queryFn: ({ pageParam }) => fetchAccounts(search, pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: (before) => before,
  })

export const pendingRequestsQuery = queryOptions({
  queryKey: ['operator', 'requests'],
  queryFn: () => fetchPendingRequests(),
})

export const pricesQuery = queryOptions({ queryKey: ['operator', 'prices'], queryFn: () => fetchPrices() })

/** Asked again every few seconds while it is looked at: no event tells of it. */
export const upstreamsQuery = queryOptions({
  queryKey: ['operator', 'upstreams'],
  queryFn: () => fetchUpstreams(),
  refetchInterval: 5_000,
})

export type UpstreamLine = Awaited<ReturnType<typeof fetchUpstreams>>['upstreams'][number]
export type AccountLine = Awaited<ReturnType<typeof fetchAccounts>>['accounts'][number]
export type PendingLimitRequest = Awaited<ReturnType<typeof fetchPendingRequests>>['requests'][number]

function fetchAccounts(search: string, cursor: string | null) {
  const query = { limit: 50, ...(search !== '' && { search }), ...(cursor !== null && { cursor }) }
  return unwrap(api.operator.accounts.get({ query }))
}

function fetchPendingRequests() {
  return unwrap(api.operator['limit-requests'].get({ query: { status: 'pending', limit: 200 } }))
}

function fetchUpstreams() {
  return unwrap(api.operator.upstreams.get())
}

function fetchPrices() {
  return unwrap(api.operator.prices.get())
}

export interface RateLimits {
  readonly rpm: number
  readonly tpm: number
  readonly concurrency: number
}

export const approve = (id: string, body: { reason?: string; limits?: RateLimits }) =>
  unwrap(api.operator['limit-requests']({ id }).approve.post({ ...body }))
export const decline = (id: string, reason: string) =>
  unwrap(api.operator['limit-requests']({ id }).decline.post({ reason }))
/** The same `reference` is booked once, so that a repeat after a cut is safe. */
export const grant = (id: string, body: { usd: string; note: string; reference: string }) =>
  unwrap(api.operator.accounts({ id }).grants.post({ ...body }))
export const setLimits = (id: string, limits: RateLimits | null) =>
  unwrap(api.operator.accounts({ id }).limits.post({ limits }))
/** Null takes the operator's price back: the catalogue's holds again. */
export const setPrice = (body: { operation: string; usd: string | null; account?: string }) =>
  unwrap(api.operator.prices.post({ ...body }))
