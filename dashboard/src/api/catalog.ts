import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { CatalogPage, CatalogOperation as Entry } from '../../../server/http/apis/catalog-record.ts'
import { callJson } from './client/client.ts'

export type CatalogOperation = Entry

const PAGE_ROWS = 50

/** Everything that is on sale and matches the words of a search. Needs no sign-in. */
export const catalogQuery = (search: string) =>
  infiniteQueryOptions({
    queryKey: ['catalog', 'search', search],
    queryFn: ({ pageParam }) => fetchCatalog({ q: search, cursor: pageParam ?? '' }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: (before) => before,
  })

/** One operation by name; null if it is not on sale. */
export const catalogOperationQuery = (name: string) =>
  queryOptions({
    queryKey: ['catalog', 'one', name],
    queryFn: async () => {
      const { operations } = await fetchCatalog({ q: name, api: name.split('.', 1)[0] ?? '' })
      return operations.find((operation) => operation.name === name) ?? null
    },
    staleTime: 60_000,
  })

/** The first imported operations that match a search. */
export const importedQuery = (search: string) =>
  queryOptions({
    queryKey: ['catalog', 'imported', search],
    queryFn: async () => {
      const { operations } = await fetchCatalog({ q: search, kind: 'imported' })
      return operations
    },
    placeholderData: (before) => before,
    staleTime: 60_000,
  })

/** Names of imported operations contain a dot; those of built-in ones never do. */
export function isImported(name: string): name is `${string}.${string}` {
  return name.includes('.')
}

async function fetchCatalog(query: {
  q: string
  api?: string
  cursor?: string
  kind?: 'imported'
}): Promise<CatalogPage> {
  const given = Object.entries({ limit: String(PAGE_ROWS), ...query }).filter(([, value]) => value !== '')
  // The route answers as those of paid calls do, with headers that Eden has no type for.
  return (await callJson(`/v1/catalog?${new URLSearchParams(given)}`)) as CatalogPage
}
