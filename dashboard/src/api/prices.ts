import { queryOptions } from '@tanstack/react-query'
import { answered, api } from './client.ts'

/** What each operation costs this account now. */
export const pricesQuery = queryOptions({
  queryKey: ['prices'],
  queryFn: async () => (await answered(api.prices.get())).prices,
})

export type OwnPrice = Awaited<ReturnType<NonNullable<typeof pricesQuery.queryFn>>>[number]
