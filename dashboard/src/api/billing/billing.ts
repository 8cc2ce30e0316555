import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api, unwrap } from '../client/client.ts'
import { VIEWER_TIME_ZONE } from '../usage.ts'

/** The balance with its breakdown, and the top-up methods. Query keys start with `billing`, which money events invalidate. */
export const billingQuery = queryOptions({
  queryKey: ['billing'],
  queryFn: () => unwrap(api.billing.get()),
})

export const topUpsQuery = queryOptions({
  queryKey: ['billing', 'topups'],
  queryFn: () => unwrap(api.topups.get({ query: { limit: 50 } })),
})

/** Pay-per-request payments of all payers, for operators. */
export const paymentsQuery = queryOptions({
  queryKey: ['billing', 'payments'],
  queryFn: () => unwrap(api.payments.get({ query: { limit: 50 } })),
})

export const ledgerQuery = infiniteQueryOptions({
  queryKey: ['transactions', 'pages'],
  queryFn: ({ pageParam }) =>
    unwrap(
      api.transactions.get({
        query: {
          limit: 25,
          group_by: 'day',
          timezone: VIEWER_TIME_ZONE,
          ...(pageParam !== null && { cursor: pageParam }),
        },
      }),
    ),
  initialPageParam: null as string | null,
  getNextPageParam: (page) => page.next_cursor,
})

export const topUp = (input: { amount: string; method: 'card' | 'sandbox' }) => unwrap(api.topups.post({ ...input }))

export type TopUp = Awaited<ReturnType<typeof topUp>>['topup']
export type OnePayment = Awaited<ReturnType<typeof paymentPage>>['payments'][number]

function paymentPage() {
  return unwrap(api.payments.get())
}

/** The current price of each operation for this account. */
export const pricesQuery = queryOptions({
  queryKey: ['prices'],
  queryFn: async () => (await unwrap(api.prices.get())).prices,
})

export type OwnPrice = Awaited<ReturnType<NonNullable<typeof pricesQuery.queryFn>>>[number]
