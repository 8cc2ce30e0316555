import { Elysia } from 'elysia'
import type { CardTopUps } from '../../core/accounts/card-top-ups'
import { parseTopUp, type TopUps } from '../../core/accounts/top-ups'
import { failure } from '../../core/failure'
import type { Ledger } from '../../core/ledger/ledger'
import { tierOf } from '../../core/limits/tier'
import type { ClaimFilter, ClaimStore } from '../../core/payments/claim'
import { BILLING_DOCS } from '../docs/billing-docs'
import { documented } from '../docs/documented'
import { Failed } from '../failures'
import type { FrontDesk } from '../front-desk'
import { readJson } from '../json-body'
import type { OwnerSessions } from '../owner-session'
import { PAGE_QUERY, queryOf, refuseCursor } from '../plain-input'
import { paymentRecord, topUpRecord } from '../top-up-record'

export interface BillingParts {
  readonly desk: FrontDesk
  readonly owners: OwnerSessions
  readonly ledger: Ledger
  readonly claims: ClaimStore
  readonly topUps: TopUps
  /** Where a card processor is configured. */
  readonly cards: { readonly topUps: CardTopUps } | null
  /** Whether money that is worth nothing may be topped up, for development. */
  readonly sandboxTopUps: boolean
}

/** What the owner sees and does about money that comes in: balance, top-ups, receipts (spec 2.2, 3). */
export function billingRoutes(parts: BillingParts) {
  const { desk, owners, ledger, claims, topUps, cards, sandboxTopUps } = parts
  const methods = [...(cards ? ['card' as const] : []), ...(sandboxTopUps ? ['sandbox' as const] : [])]
  const page = async (request: Request, filter: ClaimFilter) => {
    const { limit, cursor } = queryOf(PAGE_QUERY, request)
    const found = await claims.list(filter, limit, cursor ?? null)
    if (!found) throw refuseCursor(cursor ?? '')
    return found
  }
  return new Elysia({ name: 'billing', prefix: '/api' })
    .get(
      '/billing',
      async ({ request }) => {
        const { accountId, tier } = await owners.owner(request)
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
      documented(BILLING_DOCS.billing),
    )
    .post(
      '/topups',
      async ({ request, set }) => {
        const { accountId, email } = await owners.owner(request)
        const { amount, method } = await wanted(request, methods)
        const { id } = { id: desk.arrival(request).ids.own }
        set.status = 201
        if (method === 'card' && cards) {
          const { claim, url } = await cards.topUps.open(accountId, email, amount, id)
          return { topup: topUpRecord(claim), url }
        }
        const claim = await topUps.payInSandbox(accountId, amount, id)
        if (!claim)
          throw new Failed(
            failure('service_unavailable', 'The database did not take the top-up.', { retryAfterSeconds: 1 }),
          )
        return { topup: topUpRecord(claim), url: null }
      },
      { parse: 'none', ...documented(BILLING_DOCS.topUp) },
    )
    .get(
      '/topups',
      async ({ request }) => {
        const { accountId } = await owners.owner(request)
        const found = await page(request, { account: accountId, purpose: 'top_up', state: null })
        return { topups: found.rows.map(topUpRecord), next_cursor: found.next }
      },
      documented(BILLING_DOCS.topUps, PAGE_QUERY),
    )
    .get(
      '/payments',
      async ({ request }) => {
        const { account } = await owners.owner(request)
        queryOf(PAGE_QUERY, request)
        if (!account.operator) throw new Failed(failure('insufficient_permissions', 'Only operators see payments.'))
        const found = await page(request, { account: null, purpose: 'call', state: null })
        return { payments: found.rows.map(paymentRecord), next_cursor: found.next }
      },
      documented(BILLING_DOCS.payments, PAGE_QUERY),
    )
}

async function wanted<M extends string>(request: Request, methods: readonly M[]) {
  const body = await readJson(request)
  if (!body.ok) throw new Failed(body.error)
  const { amount, method } = Object(body.value) as { amount?: unknown; method?: unknown }
  const parsed = typeof amount === 'string' ? parseTopUp(amount) : null
  const chosen = methods.find((name) => name === method)
  if (parsed === null)
    throw new Failed(
      failure('invalid_parameter', 'amount must be text such as "10.00": 1 to 10000 USD with at most two decimals', {
        param: 'amount',
      }),
    )
  if (!chosen) {
    const rule = methods.length > 0 ? `must be one of ${methods.join(', ')}` : 'cannot be chosen: none is configured'
    throw new Failed(failure('invalid_parameter', `method ${rule}`, { param: 'method' }))
  }
  return { amount: parsed, method: chosen }
}
