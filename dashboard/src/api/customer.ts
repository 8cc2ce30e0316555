import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type {
  CustomerDetails,
  KeyActionForm,
  Refund,
  RoleForm,
} from '../../../server/http/operator/customers/customer-record.ts'
import type {
  CustomerAdjustment,
  CustomerAudit,
  CustomerKeys,
  CustomerLimits,
  CustomerPayments,
  CustomerRequest,
} from '../../../server/http/operator/customers/customer-view-record.ts'
import { api, defined, unwrap } from './client/client.ts'

export type Customer = CustomerDetails
export type CustomerKey = CustomerKeys['keys'][number]
export type CustomerPayment = CustomerPayments['payments'][number]
export type CustomerChange = CustomerAudit['changes'][number]
export type CustomerRefund = Refund
export type CustomerCall = CustomerRequest
export type CustomerAdjustmentRow = CustomerAdjustment
export type CustomerLimitRequest = CustomerLimits['requests'][number]
export type KeyAction = KeyActionForm['action']
export type RoleChoice = RoleForm['role']

const customer = (id: string) => api.operator.accounts({ id })

/** One customer, as operators and support see it. */
export const customerQuery = (id: string) =>
  queryOptions({ queryKey: ['operator', 'customer', id], queryFn: () => unwrap(customer(id).get()) })

export type CustomerUsage = Awaited<ReturnType<typeof fetchUsage>>

/** The last 30 days before a time (UNIX seconds), by UTC day and by operation. */
export const customerUsageQuery = (id: string, end: number) =>
  queryOptions({ queryKey: ['operator', 'customer', id, 'usage', end], queryFn: () => fetchUsage(id, end) })

function fetchUsage(id: string, end: number) {
  const query = { start_time: end - 30 * 86_400, end_time: end, bucket_width: '1d', group_by: 'operation' }
  return unwrap(customer(id).usage.get({ query }))
}

/** A list of one customer, in pages. */
const pagesOf = <P extends { readonly next_cursor: string | null }>(
  key: readonly unknown[],
  fetchPage: (query: { limit: number; cursor?: string }) => Promise<P>,
) =>
  infiniteQueryOptions({
    queryKey: ['operator', 'customer', ...key],
    queryFn: ({ pageParam }) => fetchPage({ limit: 25, ...(pageParam !== null && { cursor: pageParam }) }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  })

export const customerLedgerQuery = (id: string) =>
  pagesOf([id, 'transactions'], (query) => unwrap(customer(id).transactions.get({ query })))

/** With a status, only the calls that ended with it. */
export const customerRequestsQuery = (id: string, status: number | undefined) =>
  pagesOf([id, 'requests', status], (query) =>
    unwrap(customer(id).requests.get({ query: defined({ ...query, status }) })),
  )

export const customerLimitsQuery = (id: string) =>
  pagesOf([id, 'limits'], (query) => unwrap(customer(id).limits.get({ query })))

export const customerAdjustmentsQuery = (id: string) =>
  pagesOf([id, 'adjustments'], (query) => unwrap(customer(id).adjustments.get({ query })))

export const customerPaymentsQuery = (id: string) =>
  pagesOf([id, 'payments'], (query) => unwrap(customer(id).payments.get({ query })))

export const customerRefundsQuery = (id: string) =>
  pagesOf([id, 'refunds'], (query) => unwrap(customer(id).refunds.get({ query })))

export const customerAuditQuery = (id: string) =>
  pagesOf([id, 'audit'], (query) => unwrap(customer(id).audit.get({ query })))

export const customerKeysQuery = (id: string) =>
  queryOptions({
    queryKey: ['operator', 'customer', id, 'keys'],
    queryFn: async () => (await unwrap(customer(id).keys.get())).keys,
  })

export const suspend = (id: string, reason: string) => unwrap(customer(id).suspend.post({ reason }))
export const lift = (id: string, reason: string) => unwrap(customer(id).lift.post({ reason }))
export const addNote = (id: string, text: string) => unwrap(customer(id).notes.post({ text }))
export const endSessions = (id: string) => unwrap(customer(id)['end-sessions'].post({}))
export const resetCustomerPassword = (id: string) => unwrap(customer(id)['password-reset'].post({}))
export const resetSecondFactor = (id: string) => unwrap(customer(id)['second-factor-reset'].post({}))
export const setRole = (id: string, role: RoleChoice) => unwrap(customer(id).role.post({ role }))
export const erase = (id: string, confirm: string) => unwrap(customer(id).erase.post({ confirm }))
export const actOnKey = (id: string, key: string, action: KeyAction) =>
  unwrap(customer(id).keys({ key }).post({ action }))
/** A `reference` is booked only once, so repeating a call after a lost response is safe. */
export const debit = (id: string, body: { usd: string; note: string; reference: string }) =>
  unwrap(customer(id).debits.post({ ...body }))
export const refund = (id: string, body: { payment: string; usd?: string; note: string; reference: string }) =>
  unwrap(customer(id).refunds.post({ ...body }))

/** Where the browser downloads all data about an account. */
export const exportPath = (id: string) => `/api/operator/accounts/${id}/export`
