import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { Health } from '../../../server/http/operator/health-record.ts'
import type { OneStuck } from '../../../server/http/operator/money/stuck-record.ts'
import type {
  Approval,
  Decline,
  LimitsChange,
  MaxKeysForm,
  NewGrant,
  OperatorAccount,
  OperatorLimitRequest,
  NewPrice as PriceToSet,
  Upstream,
  WorkerRecord,
} from '../../../server/http/operator/record.ts'
import { api, unwrap } from './client/client.ts'

/** The accounts of this gateway, newest first, or those that match a search. */
export const accountsQuery = (search: string) =>
  infiniteQueryOptions({
    queryKey: ['operator', 'accounts', search],
    queryFn: ({ pageParam }) => fetchAccounts(search, pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: (before) => before,
  })

export const pendingRequestsQuery = infiniteQueryOptions({
  queryKey: ['operator', 'requests'],
  queryFn: ({ pageParam }) => fetchPendingRequests(pageParam),
  initialPageParam: null as string | null,
  getNextPageParam: (page) => page.next_cursor,
})

/** Records of the ledger that the tables refuse, oldest first. */
export const stuckQuery = infiniteQueryOptions({
  queryKey: ['operator', 'stuck'],
  queryFn: ({ pageParam }) => fetchStuck(pageParam),
  initialPageParam: null as string | null,
  getNextPageParam: (page) => page.next_cursor,
})

export const operatorPricesQuery = queryOptions({ queryKey: ['operator', 'prices'], queryFn: () => fetchPrices() })

/** Polled like the upstreams. */
export const healthQuery = queryOptions({
  queryKey: ['operator', 'health'],
  queryFn: () => unwrap(api.operator.health.get()),
  refetchInterval: 5_000,
})

export type HealthReading = Health

/** Polled every few seconds while it is visible, because no event announces changes. */
export const upstreamsQuery = queryOptions({
  queryKey: ['operator', 'upstreams'],
  queryFn: () => fetchUpstreams(),
  refetchInterval: 5_000,
})

/** Polled like the upstreams. */
export const workersQuery = queryOptions({
  queryKey: ['operator', 'workers'],
  queryFn: () => unwrap(api.operator.workers.get()),
  refetchInterval: 5_000,
})

export type UpstreamLine = Upstream
export type WorkerLine = WorkerRecord
export type StuckLine = OneStuck
export type AccountLine = OperatorAccount
export type PendingLimitRequest = OperatorLimitRequest
export type NewPrice = PriceToSet
export type RateLimits = OperatorAccount['limits']

function fetchAccounts(search: string, cursor: string | null) {
  const query = { limit: 50, ...(search !== '' && { search }), ...(cursor !== null && { cursor }) }
  return unwrap(api.operator.accounts.get({ query }))
}

function fetchPendingRequests(cursor: string | null) {
  const query = { status: 'pending', limit: 25, ...(cursor !== null && { cursor }) }
  return unwrap(api.operator['limit-requests'].get({ query }))
}

function fetchStuck(cursor: string | null) {
  return unwrap(api.operator.stuck.get({ query: { limit: 25, ...(cursor !== null && { cursor }) } }))
}

function fetchUpstreams() {
  return unwrap(api.operator.upstreams.get())
}

function fetchPrices() {
  return unwrap(api.operator.prices.get())
}

export const retryStuck = (id: string) => unwrap(api.operator.stuck({ id }).retry.post())
export const discardStuck = (id: string, note: string) => unwrap(api.operator.stuck({ id }).discard.post({ note }))
export const approve = (id: string, body: Approval) =>
  unwrap(api.operator['limit-requests']({ id }).approve.post({ ...body }))
export const decline = (id: string, reason: string) =>
  unwrap(api.operator['limit-requests']({ id }).decline.post({ reason } satisfies Decline))
/** A `reference` is booked only once, so repeating the call after a lost response is safe. */
export const grant = (id: string, body: NewGrant) => unwrap(api.operator.accounts({ id }).grants.post({ ...body }))
export const setLimits = (id: string, limits: RateLimits | null) =>
  unwrap(api.operator.accounts({ id }).limits.post({ limits } satisfies LimitsChange))
/** Null restores the default. */
export const setMaxKeys = (id: string, keys: number | null) =>
  unwrap(api.operator.accounts({ id })['max-keys'].post({ keys } satisfies MaxKeysForm))
/** Null removes the override; the catalog price applies again. */
export const setPrice = (body: NewPrice) => unwrap(api.operator.prices.post({ ...body }))
