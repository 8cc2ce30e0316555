import { queryOptions } from '@tanstack/react-query'
import { answered, api } from './client.ts'

/** The newest few calls, of one key or of all. */
export const newestRequestsQuery = (count: number, key?: string) =>
  queryOptions({
    queryKey: ['requests', 'newest', count, key ?? null],
    queryFn: async () =>
      (await answered(api.requests.get({ query: { limit: count, ...(key !== undefined && { key }) } }))).requests,
  })
