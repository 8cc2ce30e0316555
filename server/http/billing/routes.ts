import { failure } from '../../core/failure'
import type { Ledger } from '../../core/ledger/ledger'
import { tierOf } from '../../core/limits/tier'
import type { ClaimStore } from '../../core/payments/claim'
import type { OwnerSessions } from '../middleware/caller/owner-session'
import { PAGE_QUERY, queryOf, refuseCursor } from '../middleware/input/list-query'
import { routeGroup } from '../middleware/request-context'
import { Failed } from '../middleware/response/failures'
import { documented } from '../openapi/documented'
import { allowed, signedIn } from '../routing/api-access'
import { BILLING_DOCS } from './docs'
import { type Billing, type PaymentPage, paymentRecord } from './record'
import { type TopUpPages, topUpMethods } from './top-up-form'

export interface BillingParts extends TopUpPages {
  readonly claims: ClaimStore
  readonly owners: OwnerSessions
  readonly ledger: Ledger
}

/** The owner's balance, and for operators the pay-per-request payments (spec 2.2, 3). */
export function billingRoutes(parts: BillingParts) {
  const { owners, ledger, claims } = parts
  const methods = topUpMethods(parts)
  return routeGroup({ name: 'billing', prefix: '/api' })
    .get(
      '/billing',
      ...allowed(
        signedIn(owners, 'money:read'),
        documented(BILLING_DOCS.billing),
        async ({ owner: { accountId, tier } }): Promise<Billing> => {
          const balance = await ledger.balance(accountId)
          if (!balance) throw new Error(`account ${accountId} has no counters`)
          return {
            balance_micros_usd: balance.posted,
            available_micros_usd: balance.available,
            held_micros_usd: balance.held,
            credit_micros_usd: balance.credit,
            paid_micros_usd: balance.paid,
            debt_micros_usd: balance.debt,
            topped_up_micros_usd: balance.toppedUp,
            tier: tierOf(tier),
            topup_methods: methods,
          }
        },
      ),
    )
    .get(
      '/payments',
      ...allowed(
        signedIn(owners, 'money:read'),
        documented(BILLING_DOCS.payments, PAGE_QUERY),
        async ({ owner: { account }, context }): Promise<PaymentPage> => {
          const { limit, cursor } = queryOf(PAGE_QUERY, context)
          if (!account.operator)
            throw new Failed(failure('insufficient_permissions', 'Only operators of this gateway can see payments.'))
          const found = await claims.list({ account: null, purpose: 'call', state: null }, limit, cursor ?? null)
          if (!found) throw refuseCursor(cursor ?? '')
          return { payments: found.rows.map(paymentRecord), next_cursor: found.next }
        },
      ),
    )
}
