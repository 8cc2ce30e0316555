import type { Static } from '@sinclair/typebox'
import { parseTopUp } from '../../core/accounts/top-ups'
import { PRICE_NAMES } from '../../core/catalogue/operations'
import { TIERS } from '../../core/limits/tier'
import type { Claim } from '../../core/payments/claim'
import {
  form,
  instant,
  judged,
  listOf,
  microsUsd,
  named,
  nextCursor,
  oneOf,
  orNull,
  record,
  text,
  whole,
} from '../openapi/json-schema'

const TOP_UP_METHODS = ['card', 'sandbox'] as const

const amount = judged<string>(
  {
    type: 'string',
    description: 'USD with at most two decimals, 1 to 10000.',
    pattern: '^\\d{1,5}(\\.\\d{1,2})?$',
  },
  (value) =>
    typeof value === 'string' && parseTopUp(value) !== null
      ? null
      : 'must be text such as "10.00": 1 to 10000 USD with at most two decimals',
)

export const NewTopUp = form('A top-up.', { amount, method: oneOf(TOP_UP_METHODS, 'How to pay.') })

/** The amount alone: the challenge says how to pay. */
export const NewWalletTopUp = form('A top-up.', { amount })

export const TopUp = named(
  'TopUp',
  record('Money paid in. When it is paid, also the receipt.', {
    id: text('Id of the top-up.'),
    state: oneOf(
      ['pending', 'paid', 'failed'],
      '`pending`: not paid yet, or not known yet. `paid`: in the balance. `failed`: no money moved.',
    ),
    method: text('`card`, `tempo` or `sandbox` (money that is worth nothing).'),
    amount_micros_usd: microsUsd('The amount.'),
    reference: orNull(text('What the payment network calls it.')),
    created_at: instant('Begun at.'),
    updated_at: instant('Changed at.'),
  }),
)
export type TopUp = Static<typeof TopUp>

export const StartedTopUp = record('The top-up.', { topup: TopUp, url: orNull(text('Where to pay.')) })
export type StartedTopUp = Static<typeof StartedTopUp>

export const PaidTopUp = record('The top-up.', {
  topup: TopUp,
  balance_micros_usd: orNull(microsUsd('The balance now.')),
})
export type PaidTopUp = Static<typeof PaidTopUp>

export const TopUpPage = named(
  'TopUpPage',
  record('A page of top-ups, newest first.', {
    topups: listOf(TopUp, 'The top-ups.'),
    topup_methods: listOf(oneOf(TOP_UP_METHODS, 'A way.'), 'How a top-up can be begun here.'),
    next_cursor: nextCursor(),
  }),
)
export type TopUpPage = Static<typeof TopUpPage>

export const Payment = named(
  'Payment',
  record('A payment for one request, also one that failed. A failed one does not imply a refund on chain.', {
    id: text('Id of the payment.'),
    state: oneOf(
      ['working', 'released', 'settling', 'settled', 'served', 'paid_unserved'],
      '`released`: not paid. `served`: paid and answered. `paid_unserved`: paid, its answer is still owed.',
    ),
    method: text('Payment method.'),
    operation: text('What was called.'),
    payer: text('Who paid, as the signature says.'),
    amount_micros_usd: microsUsd('The price.'),
    reference: orNull(text('What the payment network calls it: the receipt.')),
    request_id: text('Our id of the latest request.'),
    client_request_id: orNull(text("The caller's X-Request-ID.")),
    attempts: whole('How often it was tried.', { minimum: 1 }),
    error: orNull(text('Why it failed last.')),
    created_at: instant('First shown at.'),
    updated_at: instant('Changed at.'),
  }),
)
export type Payment = Static<typeof Payment>

export const PaymentPage = named(
  'PaymentPage',
  record('A page of payments, newest first.', {
    payments: listOf(Payment, 'The payments.'),
    next_cursor: nextCursor(),
  }),
)
export type PaymentPage = Static<typeof PaymentPage>

export const Billing = named(
  'Billing',
  record('The balance and its parts.', {
    balance_micros_usd: microsUsd('The balance.'),
    available_micros_usd: microsUsd('What can be spent now.'),
    held_micros_usd: microsUsd('Held by calls under way.'),
    credit_micros_usd: microsUsd('Signup credit and grants. Spent first.'),
    paid_micros_usd: microsUsd('Of what was paid in, still there.'),
    debt_micros_usd: microsUsd(
      'What a refund took back that was spent already. Nothing can be spent until it is paid back.',
    ),
    topped_up_micros_usd: microsUsd('Paid in so far, refunds taken off.'),
    tier: oneOf(TIERS, 'The tier that sets the limits.'),
    topup_methods: listOf(oneOf(TOP_UP_METHODS, 'A way.'), 'Ways to top up here.'),
  }),
)
export type Billing = Static<typeof Billing>

export const PriceList = record('The prices.', {
  prices: listOf(
    record('What one unit of an operation costs.', {
      operation: oneOf(PRICE_NAMES, 'The operation, or a price of it that depends on the input.'),
      unit: text('What is counted: a request, or what of an answer is charged one by one.'),
      amount_micros_usd: microsUsd('What it costs this account now.'),
      catalogue_micros_usd: microsUsd('What the catalogue says.'),
      price_version: text(
        'Stands in every charge at this price: the catalogue version, or the id of the price of the operator.',
      ),
    }),
    'The prices.',
  ),
})
export type PriceList = Static<typeof PriceList>

/** A top-up as owners and agents see it: also its receipt. */
export function topUpRecord(claim: Claim): TopUp {
  return {
    id: claim.id,
    state: topUpState(claim),
    method: claim.method,
    amount_micros_usd: claim.amount,
    reference: claim.reference,
    created_at: new Date(claim.createdAt).toISOString(),
    updated_at: new Date(claim.updatedAt).toISOString(),
  }
}

/** What has become of a top-up, in words that an owner reads. */
function topUpState({ state, paid }: Pick<Claim, 'state' | 'paid'>): TopUp['state'] {
  if (state === 'released') return 'failed'
  // The money is ours and the balance has it once it is served; until then it will be.
  return state === 'served' && paid ? 'paid' : 'pending'
}

/** A payment for one request, as operators see it. */
export function paymentRecord(claim: Claim): Payment {
  return {
    id: claim.id,
    state: claim.state,
    method: claim.method,
    operation: claim.operation,
    payer: claim.payer,
    amount_micros_usd: claim.amount,
    reference: claim.reference,
    request_id: claim.requestId,
    client_request_id: claim.clientRequestId,
    attempts: claim.attempts,
    error: claim.lastError,
    created_at: new Date(claim.createdAt).toISOString(),
    updated_at: new Date(claim.updatedAt).toISOString(),
  }
}
