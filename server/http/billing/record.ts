import type { Static } from '@sinclair/typebox'
import { MAX_TOP_UP_USD, MIN_TOP_UP_USD } from '../../core/accounts/top-up-range'
import { parseTopUp } from '../../core/accounts/top-ups'
import { PRICE_NAMES } from '../../core/catalog/operations'
import { isoTime } from '../../core/clock'
import { TIERS } from '../../core/limits/tier'
import type { Claim } from '../../core/payments/claim'
import {
  checked,
  form,
  identifier,
  instant,
  listOf,
  microsUsd,
  named,
  nextCursor,
  oneOf,
  orNull,
  record,
  text,
  whole,
  withExample,
} from '../openapi/json-schema'

const TOP_UP_METHODS = ['card', 'sandbox'] as const

const amount = checked<string>(
  {
    type: 'string',
    description: `USD from ${MIN_TOP_UP_USD} to ${MAX_TOP_UP_USD}, with at most two decimals.`,
    pattern: '^\\d{1,5}(\\.\\d{1,2})?$',
  },
  (value) =>
    typeof value === 'string' && parseTopUp(value) !== null
      ? null
      : `must be a string such as "10.00": ${MIN_TOP_UP_USD} to ${MAX_TOP_UP_USD} USD with at most two decimals`,
)

export const NewTopUp = form('A top-up.', { amount, method: oneOf(TOP_UP_METHODS, 'How to pay.') })

/** Only the amount; the challenge says how to pay. */
export const NewWalletTopUp = form('A top-up.', { amount })

export const TopUp = named(
  'TopUp',
  record('Money paid in. When it is paid, also the receipt.', {
    id: identifier('pay', 'Id of the top-up.'),
    state: oneOf(
      ['pending', 'paid', 'failed'],
      '`pending`: not paid, or not confirmed yet. `paid`: added to the balance. `failed`: no money moved.',
    ),
    method: withExample('card', text('`card`, `tempo` or `sandbox` (worthless money).')),
    amount_micros_usd: microsUsd('The amount.'),
    reference: orNull(text('Its id at the payment network.')),
    created_at: instant('When it was started.'),
    updated_at: instant('When it last changed.'),
  }),
)
export type TopUp = Static<typeof TopUp>

export const StartedTopUp = record('The top-up.', {
  topup: TopUp,
  url: orNull(text('The payment page; null if none is needed.')),
})
export type StartedTopUp = Static<typeof StartedTopUp>

export const PaidTopUp = record('The top-up.', {
  topup: TopUp,
  balance_micros_usd: orNull(microsUsd('The new balance.')),
})
export type PaidTopUp = Static<typeof PaidTopUp>

export const TopUpPage = named(
  'TopUpPage',
  record('A page of top-ups, newest first.', {
    topups: listOf(TopUp, 'The top-ups.'),
    topup_methods: listOf(oneOf(TOP_UP_METHODS, 'A method.'), 'The top-up methods of this gateway.'),
    next_cursor: nextCursor(),
  }),
)
export type TopUpPage = Static<typeof TopUpPage>

export const PaymentRecord = named(
  'Payment',
  record('A pay-per-request payment, including failed ones. A failed payment does not imply an on-chain refund.', {
    id: identifier('pay', 'Id of the payment.'),
    state: oneOf(
      ['working', 'released', 'settling', 'settled', 'served', 'paid_unserved'],
      '`released`: not paid. `served`: paid and answered. `paid_unserved`: paid, but the response was not delivered yet.',
    ),
    method: withExample('tempo', text('Payment method.')),
    operation: text('The operation that was called.'),
    payer: text('The payer, as signed.'),
    amount_micros_usd: microsUsd('The price.'),
    reference: orNull(text('Its id at the payment network, as on the receipt.')),
    request_id: text("The gateway's id of the latest request."),
    client_request_id: orNull(text("The caller's X-Request-ID.")),
    attempts: whole('Number of attempts.', { minimum: 1 }),
    error: orNull(text('The last error.')),
    created_at: instant('When the payment was first sent.'),
    updated_at: instant('When it last changed.'),
  }),
)
export type PaymentRecord = Static<typeof PaymentRecord>

export const PaymentPage = named(
  'PaymentPage',
  record('A page of payments, newest first.', {
    payments: listOf(PaymentRecord, 'The payments.'),
    next_cursor: nextCursor(),
  }),
)
export type PaymentPage = Static<typeof PaymentPage>

export const Billing = named(
  'Billing',
  record('The balance and its breakdown.', {
    balance_micros_usd: microsUsd('The balance.'),
    available_micros_usd: microsUsd('What can be spent now.'),
    held_micros_usd: microsUsd('Held by calls in progress.'),
    credit_micros_usd: microsUsd('Signup credit and grants. Spent first.'),
    paid_micros_usd: microsUsd('Remaining paid-in money.'),
    debt_micros_usd: microsUsd(
      'Refunded money that had already been spent. Nothing can be spent until it is paid back.',
    ),
    topped_up_micros_usd: microsUsd('Total topped up, minus refunds.'),
    tier: oneOf(TIERS, 'The tier that sets the limits.'),
    topup_methods: listOf(oneOf(TOP_UP_METHODS, 'A method.'), 'The top-up methods of this gateway.'),
  }),
)
export type Billing = Static<typeof Billing>

export const PriceList = record('The prices.', {
  prices: listOf(
    record('The price of one unit of an operation.', {
      operation: oneOf(PRICE_NAMES, 'The operation, or one of its input-dependent prices.'),
      unit: text('The billing unit: a request, or an item of the response.'),
      amount_micros_usd: microsUsd('The current price for this account.'),
      catalogue_micros_usd: microsUsd('The catalog price.'),
      price_version: text(
        "Recorded with every charge: the catalog version, or the id of the operator's price override.",
      ),
    }),
    'The prices.',
  ),
})
export type PriceList = Static<typeof PriceList>

/** A top-up as owners and agents see it. */
export function topUpRecord(claim: Claim): TopUp {
  return {
    id: claim.id,
    state: topUpState(claim),
    method: claim.method,
    amount_micros_usd: claim.amount,
    reference: claim.reference,
    created_at: isoTime(claim.createdAt),
    updated_at: isoTime(claim.updatedAt),
  }
}

/** The state of a top-up in the owner's terms. */
function topUpState({ state, paid }: Pick<Claim, 'state' | 'paid'>): TopUp['state'] {
  if (state === 'released') return 'failed'
  // The balance includes the money once the claim is served; until then the top-up is pending.
  return state === 'served' && paid ? 'paid' : 'pending'
}

/** A pay-per-request payment as operators see it. */
export function paymentRecord(claim: Claim): PaymentRecord {
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
    created_at: isoTime(claim.createdAt),
    updated_at: isoTime(claim.updatedAt),
  }
}
