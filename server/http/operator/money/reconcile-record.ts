import type { Static } from '@sinclair/typebox'
import {
  instant,
  listOf,
  microsUsd,
  oneOf,
  orNull,
  partialForm,
  record,
  text,
  whole,
  yesOrNo,
} from '../../openapi/json-schema'

export const ReconcileForm = partialForm('What to compare, and what to do with what is missing.', {
  apply: yesOrNo('Whether to book it. Default: only list it.'),
  from: instant('Compare payments from this time on. Default: 120 days of cards, 7 days of wallets.'),
  to: instant('Compare payments before this time. Default: now.'),
})
export type ReconcileForm = Static<typeof ReconcileForm>

const PERIOD = {
  from: instant('The first moment that was compared.'),
  to: instant('The first moment after it.'),
}

const Cards = record('Card payments against their processor.', {
  ...PERIOD,
  compared: whole('Payment pages of the processor that were compared.', { minimum: 0 }),
  differences: listOf(
    record('What the processor has and the ledger has not, or the other way round.', {
      what: oneOf(
        ['payment', 'refund', 'dispute', 'unknown_there', 'doubtful'],
        "`payment`: paid, and not booked here. `unknown_there`: booked here, and unknown to the processor. `doubtful`: the processor's data is inconsistent (another currency, no amount, a refund of more than was paid); never booked.",
      ),
      id: text("The processor's id of it."),
      payment: text('Id of the top-up.'),
      account: orNull(text('Id of its account.')),
      at_processor_micros_usd: microsUsd('The amount at the processor.'),
      here_micros_usd: microsUsd('The amount in the ledger.'),
    }),
    'As they were found, at most 1,000.',
  ),
  corrected: whole('Payments that were corrected with `apply`.', { minimum: 0 }),
  complete: yesOrNo('Whether the processor answered throughout.'),
})

const Chain = record('Payments by wallet against the transfers on their chains.', {
  ...PERIOD,
  payments: whole('Payments that were compared.', { minimum: 0 }),
  transfers: whole('Transfers that were compared.', { minimum: 0 }),
  problems: listOf(
    record('A payment and its transfer that do not agree.', {
      kind: oneOf(
        ['transfer_missing', 'amount_differs', 'not_booked', 'payment_unknown'],
        '`not_booked`: refused here, and went through later. `payment_unknown`: money arrived that no payment here explains.',
      ),
      method: text('The payment method.'),
      payment: orNull(text('Id of the payment.')),
      account: orNull(text('Id of the account that it tops up.')),
      reference: orNull(text('The transaction on the chain.')),
      payer: orNull(text('The address that paid.')),
      here_micros_usd: whole('The amount here, in micro-USD.'),
      on_chain_micros_usd: whole('The amount on the chain, in micro-USD.'),
      at: orNull(instant('When the payment was made.'), 'the node does not say'),
    }),
    'At most 1,000.',
  ),
  booked: whole('How many were booked with `apply`.', { minimum: 0 }),
  complete: yesOrNo('Whether the nodes answered, and the period was not too long.'),
})

export const Reconciled = record('The books against themselves, the card processor and the chains.', {
  id: text('Id of this comparison.'),
  actor: text('`job`, `console`, or the user id of who asked for it.'),
  started_at: instant('When it began.'),
  applied: yesOrNo('Whether it booked what was missing.'),
  problems: whole('How many things did not agree when it began.', { minimum: 0 }),
  ledger: listOf(
    record('Two figures that must be equal.', {
      what: text('What does not agree.'),
      subject: text('Id of the account or call.'),
      one: whole('One figure, in micro-USD.'),
      other: whole('The other.'),
    }),
    'What does not agree within the ledger. Empty is good.',
  ),
  missing: listOf(
    record('A payment page of this gateway that its database does not know.', {
      page: text("The processor's id of it."),
      payment: orNull(text('Id of its top-up.')),
      account: orNull(text('Id of its account.')),
      state: oneOf(['open', 'paid', 'expired'], 'What the processor says of it.'),
      amount_micros_usd: microsUsd('Its amount.'),
      bookable: yesOrNo(
        'Whether `apply` books it: it is paid in USD, its account is known, and no other page has its top-up.',
      ),
    }),
    'Pages that were missing when this began.',
  ),
  booked: whole('How many of them were booked.', { minimum: 0 }),
  corrected: whole('Payments that were corrected with `apply`.', { minimum: 0 }),
  cards: orNull(Cards, 'no card processor is configured'),
  chain: orNull(Chain, 'no payments by wallet are configured'),
  complete: yesOrNo('Whether the processor and the nodes answered throughout.'),
})
export type Reconciled = Static<typeof Reconciled>

export const Reconciliations = record('The last comparisons, and what waits for a decision.', {
  runs: listOf(
    record('A comparison.', {
      id: text('Its id.'),
      actor: text('`job` for the daily one, `console`, or the user id of who asked for it.'),
      started_at: instant('When it began.'),
      ended_at: instant('When it ended.'),
      applied: yesOrNo('Whether it booked what was missing.'),
      complete: yesOrNo('Whether the processor and the nodes answered throughout.'),
      problems: whole('How many things did not agree.', { minimum: 0 }),
    }),
    'Newest first.',
  ),
  last: orNull(Reconciled, 'none has run'),
  unknown_pages: listOf(
    record('A payment page reported by the card processor but missing here.', {
      page: text("The processor's id of it."),
      payment: orNull(text('Id of its top-up.')),
      messages: whole('Number of reports received.', { minimum: 1 }),
      first_at: instant('When first.'),
      last_at: instant('When last.'),
    }),
    'Oldest first.',
  ),
})
export type Reconciliations = Static<typeof Reconciliations>
