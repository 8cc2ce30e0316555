import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { KeyHistoryEntry } from '../../../server/http/keys/key-history.ts'
import type { KeyChange as ChangedSettings, KeyRecord } from '../../../server/http/keys/record.ts'
import { api, unwrap } from './client/client.ts'

export type ApiKey = KeyRecord
export type KeyChange = KeyHistoryEntry
export type KeySettings = ChangedSettings

const PAGE_ROWS = 100

export type KeyStatus = KeyRecord['status']

/** The options of a key list. The server searches, filters and sorts, because the page has only some of the keys. */
export interface KeysFilter {
  readonly status?: KeyStatus | undefined
  readonly q?: string | undefined
  readonly tag?: string | undefined
  readonly sort?: 'created' | 'name' | 'status' | 'spent' | 'last_used' | undefined
  readonly order?: 'asc' | 'desc' | undefined
}

export const keysQuery = (filter: KeysFilter) =>
  infiniteQueryOptions({
    queryKey: ['keys', 'list', filter],
    queryFn: ({ pageParam }) => fetchKeys(filter, pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: (before) => before,
  })

/** The number of keys of each status, and the tags of all keys. */
const keySummaryQuery = queryOptions({
  queryKey: ['keys', 'counts'],
  queryFn: () => unwrap(api.keys.get({ query: { limit: 1 } })),
})
export const keyCountsQuery = queryOptions({ ...keySummaryQuery, select: ({ counts }) => counts })
export const keyTagsQuery = queryOptions({ ...keySummaryQuery, select: ({ tags }) => tags })

export const keyQuery = (id: string) =>
  queryOptions({ queryKey: ['keys', 'one', id], queryFn: () => unwrap(api.keys({ id }).get()) })

/** How far back a key is looked at that replaced one that replaced one: each has a grace period, most of which are over. */
const MAX_REPLACED = 8

/** The keys that a key replaced, directly or through another one, and that still work until their end. */
export const replacedKeysQuery = ({ id, replaces }: Pick<ApiKey, 'id' | 'replaces'>) =>
  queryOptions({
    queryKey: ['keys', 'replaced', id],
    enabled: replaces !== null,
    queryFn: async () => {
      const replaced: (ApiKey & { stops_at: string })[] = []
      for (let next = replaces, left = MAX_REPLACED; next !== null && left > 0; left--) {
        const { key } = await unwrap(api.keys({ id: next }).get())
        if (isReplaced(key)) replaced.push(key)
        next = key.replaces
      }
      return replaced
    },
  })

/** Whether the key was replaced but still works. */
export function isReplaced(key: ApiKey): key is ApiKey & { stops_at: string } {
  return key.replaced_by !== null && key.stops_at !== null && key.status !== 'revoked'
}

/** All keys that ever existed, to resolve the ids in reports. */
export const keyNamesQuery = queryOptions({
  // Apart from what a call changes: every name is loaded, and only a change of a key changes them.
  queryKey: ['key-names'],
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

/** The URL of the CSV file with all keys of a list. */
export function keysCsvUrl(filter: KeysFilter): string {
  return `/api/keys.csv?${new URLSearchParams(queryOf(filter))}`
}

function queryOf(filter: object): Record<string, string> {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined && value !== null))
}

function fetchKeys(filter: KeysFilter, cursor: string | null) {
  return unwrap(api.keys.get({ query: { limit: PAGE_ROWS, ...queryOf({ ...filter, cursor }) } }))
}

function fetchHistory(id: string, cursor: string | null) {
  return unwrap(api.keys({ id }).history.get({ query: { limit: 20, ...(cursor !== null && { cursor }) } }))
}

/** This response is the only one that contains the secret. Keep it only in the memory of a component. */
export const createKey = (settings: KeySettings) => unwrap(api.keys.post({ ...settings }))
export const changeKey = (id: string, settings: KeySettings) => unwrap(api.keys({ id }).patch({ ...settings }))
export const rotateKey = (id: string, graceSeconds: number) =>
  unwrap(api.keys({ id }).rotate.post({ grace_period_seconds: graceSeconds }))
export const disableKeys = (ids: readonly string[]) => unwrap(api.keys.disable.post({ ids }))
export const disableKey = (id: string) => unwrap(api.keys({ id }).disable.post())
export const enableKey = (id: string) => unwrap(api.keys({ id }).enable.post())
export const revokeKey = (id: string) => unwrap(api.keys({ id }).revoke.post())
