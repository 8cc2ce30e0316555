import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { answered, api } from './client.ts'

/** The balance in its parts, and how it can be topped up. Keys begin with `billing`, which the events of money renew. */
export const billingQuery = queryOptions({
  queryKey: ['billing'],
  queryFn: () => answered(api.billing.get()),
})

export const topUpsQuery = queryOptions({
  queryKey: ['billing', 'topups'],
  queryFn: () => answered(api.topups.get({ query: { limit: 50 } })),
})

/** Payments for one request, over all payers: for operators. */
export const paymentsQuery = queryOptions({
  queryKey: ['billing', 'payments'],
  queryFn: () => answered(api.payments.get({ query: { limit: 50 } })),
})

export const ledgerQuery = infiniteQueryOptions({
  queryKey: ['transactions', 'pages'],
  queryFn: ({ pageParam }) =>
    answered(api.transactions.get({ query: { limit: 25, ...(pageParam !== null && { cursor: pageParam }) } })),
  initialPageParam: null as string | null,
  getNextPageParam: (page) => page.next_cursor,
})

export const topUp = (wish: { amount: string; method: 'card' | 'sandbox' }) => answered(api.topups.post({ ...wish }))

export type TopUp = Awaited<ReturnType<typeof topUp>>['topup']
export type LedgerLine = Awaited<ReturnType<typeof ledgerPage>>['transactions'][number]
export type OnePayment = Awaited<ReturnType<typeof paymentPage>>['payments'][number]

function ledgerPage() {
  return answered(api.transactions.get())
}

function paymentPage() {
  return answered(api.payments.get())
}
