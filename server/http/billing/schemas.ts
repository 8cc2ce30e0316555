import {
  instant,
  type JsonSchema,
  listOf,
  microsUsd,
  oneOf,
  orNull,
  record,
  ref,
  text,
  whole,
} from '../openapi/json-schema'

const STATES = ['pending', 'paid', 'failed']

/** Money that comes in, and payments for one request. */
export const BILLING_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  TopUp: record('Money paid in. When it is paid, also the receipt.', {
    id: text('Id of the top-up.'),
    state: oneOf(
      STATES,
      '`pending`: not paid yet, or not known yet. `paid`: in the balance. `failed`: no money moved.',
    ),
    method: text('`card`, `tempo` or `sandbox` (money that is worth nothing).'),
    amount_micros_usd: microsUsd('The amount.'),
    reference: orNull(text('What the payment network calls it.')),
    created_at: instant('Begun at.'),
    updated_at: instant('Changed at.'),
  }),
  TopUpPage: record('A page of top-ups, newest first.', {
    topups: listOf(ref('TopUp'), 'The top-ups.'),
    topup_methods: listOf(text('`card` or `sandbox`.'), 'How a top-up can be begun here.'),
    next_cursor: orNull(text('Ask for the next page with it as `cursor`; null on the last page.')),
  }),
  Payment: record('A payment for one request, also one that failed. A failed one does not imply a refund on chain.', {
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
  PaymentPage: record('A page of payments, newest first.', {
    payments: listOf(ref('Payment'), 'The payments.'),
    next_cursor: orNull(text('Ask for the next page with it as `cursor`; null on the last page.')),
  }),
  Billing: record('The balance and its parts.', {
    balance_micros_usd: { ...microsUsd('The balance.'), minimum: -9_007_199_254_740_991 },
    available_micros_usd: microsUsd('What can be spent now.'),
    held_micros_usd: microsUsd('Held by calls under way.'),
    credit_micros_usd: microsUsd('Signup credit and grants. Spent first.'),
    paid_micros_usd: microsUsd('Of what was paid in, still there.'),
    debt_micros_usd: microsUsd(
      'What a refund took back that was spent already. Nothing can be spent until it is paid back.',
    ),
    topped_up_micros_usd: microsUsd('Paid in so far, refunds taken off.'),
    tier: oneOf(['free', 'starter', 'growth', 'enterprise'], 'The tier that sets the limits.'),
    topup_methods: listOf(oneOf(['card', 'sandbox'], 'A way.'), 'Ways to top up here.'),
  }),
}
