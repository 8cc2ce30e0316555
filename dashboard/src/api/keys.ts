import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api, unwrap } from './client/client.ts'

const PAGE_ROWS = 100

export type KeyStatus = 'active' | 'disabled' | 'expired' | 'exhausted' | 'revoked'

/** What a list of keys is asked. Searching, filtering and sorting are the server's: it has all keys, the page has some. */
export interface KeysFilter {
  readonly status?: KeyStatus | undefined
  readonly q?: string | undefined
  readonly sort?: 'created' | 'name' | 'status' | 'spent' | 'last_used' | undefined
  readonly order?: 'asc' | 'desc' | undefined
}

export const keysQuery = (asked: KeysFilter) =>
  infiniteQueryOptions({
    queryKey: ['keys', 'list', asked],
    queryFn: ({ pageParam }) => fetchKeys(asked, pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: (before) => before,
  })

/** How many keys there are of each status. */
export const keyCountsQuery = queryOptions({
  queryKey: ['keys', 'counts'],
  queryFn: async () => (await unwrap(api.keys.get({ query: { limit: 1 } }))).counts,
})

export const keyQuery = (id: string) =>
  queryOptions({ queryKey: ['keys', 'one', id], queryFn: () => unwrap(api.keys({ id }).get()) })

/** Every key that ever was, to name what reports are about. */
export const keyNamesQuery = queryOptions({
  queryKey: ['keys', 'names'],
  queryFn: () => unwrap(api.keys.names.get()),
  staleTime: 60_000,
})

export const keyHistoryQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: ['keys', 'history', id],
    queryFn: ({ pageParam }) => fetchHistory(id, pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  })

export type ApiKey = Awaited<ReturnType<typeof fetchKeys>>['keys'][number]
export type KeyChange = Awaited<ReturnType<typeof fetchHistory>>['history'][number]

function fetchKeys(asked: KeysFilter, cursor: string | null) {
  const query = Object.fromEntries(
    Object.entries({ ...asked, cursor }).filter(([, value]) => value !== undefined && value !== null),
  )
  return unwrap(api.keys.get({ query: { limit: PAGE_ROWS, ...query } }))
}

function fetchHistory(id: string, cursor: string | null) {
  return unwrap(api.keys({ id }).history.get({ query: { limit: 20, ...(cursor !== null && { cursor }) } }))
}

/** What is sent to make or change a key. */
export interface KeySettings {
  readonly name?: string
  readonly spending_limit?: number | null
  readonly allowed_ips?: readonly string[]
  readonly expires_at?: string | null
  readonly budget?: { readonly limit_usd: number; readonly period: string; readonly timezone: string } | null
  readonly allowed_endpoints?: readonly string[]
  readonly allowed_models?: readonly string[]
  readonly rpm_limit?: number | null
  readonly tpm_limit?: number | null
  readonly stops_at?: string
}

/** The answer holds the secret, here and never again: keep it in the memory of a component only. */
export const createKey = (settings: KeySettings) => unwrap(api.keys.post({ ...settings }))
export const changeKey = (id: string, settings: KeySettings) => unwrap(api.keys({ id }).patch({ ...settings }))
export const rotateKey = (id: string, graceSeconds: number) =>
  unwrap(api.keys({ id }).rotate.post({ grace_period_seconds: graceSeconds }))
export const disableKey = (id: string) => unwrap(api.keys({ id }).disable.post())
export const enableKey = (id: string) => unwrap(api.keys({ id }).enable.post())
export const revokeKey = (id: string) => unwrap(api.keys({ id }).revoke.post())
