import type { Static } from '@sinclair/typebox'
import type { CardRefund } from '../../../core/accounts/cards/card-refund'
import { isoTime } from '../../../core/clock'
import {
  form,
  instant,
  line,
  listOf,
  microsUsd,
  named,
  nextCursor,
  oneOf,
  orNull,
  prose,
  record,
  text,
  whole,
  yesOrNo,
} from '../../openapi/json-schema'
import { amount as amountUsd, MAX_LINE, OperatorAccount, REASON, STAFF_ROLE } from '../record'

const MAX_NOTE = 4000

export const SuspendForm = form('Why the account is suspended, or why it is lifted.', { reason: REASON })
export type SuspendForm = Static<typeof SuspendForm>

export const RoleForm = form('The role to give, or null to take it away.', { role: orNull(STAFF_ROLE, 'a customer') })
export type RoleForm = Static<typeof RoleForm>

export const NoteForm = form('A note for colleagues.', {
  text: prose('What colleagues should know. The owner never sees it.', MAX_NOTE),
})
export type NoteForm = Static<typeof NoteForm>

export const KeyActionForm = form('What to do with the key.', {
  action: oneOf(['disable', 'enable', 'revoke'], 'What to do. A revoked key never works again.'),
})
export type KeyActionForm = Static<typeof KeyActionForm>

export const EndedSessions = record('The ended sessions.', {
  ended: whole('How many sessions were signed out.', { minimum: 0 }),
})
export type EndedSessions = Static<typeof EndedSessions>

export const PasswordReset = record('The result. The link is shown once, and only where no mail is sent.', {
  mailed: yesOrNo('Whether the owner was sent the link.'),
  link: orNull(text('The link to pass on. It works once, within an hour.'), 'mailed'),
})
export type PasswordReset = Static<typeof PasswordReset>

const Note = record('A note for colleagues.', {
  id: text('Id of the note.'),
  at: instant('When it was written.'),
  author: orNull(text('The email address of who wrote it.'), 'the command line'),
  text: text('The note.'),
})

const Refused = record('A call that was refused with 402.', {
  request_id: text('Id of the request.'),
  at: instant('When.'),
  key: text('Id of its key or app.'),
  operation: text('The operation.'),
  code: text('The error code.'),
  meaning: text('What the code means.'),
})

export const CustomerDetails = named(
  'CustomerDetails',
  record('An account as operators and support see it.', {
    account: OperatorAccount,
    email_confirmed: yesOrNo('Whether the owner confirmed the email address.'),
    second_factor: yesOrNo('Whether the owner set up a second factor.'),
    balance_micros_usd: microsUsd('The balance.'),
    available_micros_usd: microsUsd('What can be spent now.'),
    held_micros_usd: microsUsd('Held by calls in progress.'),
    credit_micros_usd: microsUsd('Signup credit and grants. Spent first.'),
    paid_micros_usd: microsUsd('Remaining paid-in money.'),
    debt_micros_usd: microsUsd('Refunded money that had already been spent.'),
    topped_up_micros_usd: microsUsd('Total topped up, minus refunds.'),
    why_402: listOf(text('A reason in words.'), 'Why paid calls are refused now. Empty when they are not.'),
    last_402: listOf(Refused, 'The last calls that were refused with 402, newest first.'),
    notes: listOf(Note, 'Notes of colleagues, newest first.'),
  }),
)
export type CustomerDetails = Static<typeof CustomerDetails>

export const EraseForm = form('The confirmation to erase the account for good.', {
  confirm: text('The id of the account again.'),
})
export type EraseForm = Static<typeof EraseForm>

export const ErasedAccount = record('What became of the account.', {
  id: text('Id of the account.'),
  forfeited_micros_usd: microsUsd('The balance that was forfeited.'),
  erased: listOf(text('A kind of data.'), 'What was deleted.'),
  kept: listOf(text('A kind of data, and why.'), 'What the books need, without a name.'),
})
export type ErasedAccount = Static<typeof ErasedAccount>

const AMOUNT = amountUsd('US dollars, such as "25" or "0.5".', 1)
const MONEY_NOTE = line('The reason. The owner reads it.', MAX_LINE)
const REFERENCE = line('Your own reference, which is never booked twice. Default: a new one.', MAX_LINE)
export const DebitForm = form(
  'What to take from the balance.',
  { usd: AMOUNT, note: MONEY_NOTE, reference: REFERENCE },
  ['reference'],
)
export type DebitForm = Static<typeof DebitForm>

export const RefundForm = form(
  'What to refund. Without `usd`: all that is left.',
  {
    payment: text('Id of a card payment (`pay_...`), which its processor refunds, or of a charged call (`req_...`).'),
    usd: AMOUNT,
    note: MONEY_NOTE,
    reference: REFERENCE,
  },
  ['usd', 'reference'],
)
export type RefundForm = Static<typeof RefundForm>

const Refund = record('A refund.', {
  id: orNull(text('Id of the refund of a card payment; null for a charge, which is refunded at once.')),
  payment: text('Id of the payment or of the call.'),
  amount_micros_usd: microsUsd('The amount.'),
  note: text('The reason.'),
  reference: orNull(text('The reference it was asked for with.')),
  state: oneOf(
    ['asked', 'sent', 'pending', 'succeeded', 'refused', 'failed'],
    '`asked`, `sent`: the outcome is open, and followed every minute. `pending`: the processor accepted it. `succeeded`: paid out. `refused`, `failed`: nothing was paid out, and the balance has the money.',
  ),
  processor_id: orNull(text("The processor's id of it.")),
  error: orNull(text('What went wrong.')),
  created_at: instant('When it was asked for.'),
  updated_at: instant('When it last changed.'),
})
export type Refund = Static<typeof Refund>
export const OneRefund = record('The refund.', { refund: Refund })
export type OneRefund = Static<typeof OneRefund>
export const RefundList = record('A page of refunds of card payments, newest first.', {
  refunds: listOf(Refund, 'The refunds.'),
  next_cursor: nextCursor(),
})
export type RefundList = Static<typeof RefundList>

export function refundRecord(refund: CardRefund): Refund {
  return {
    id: refund.id,
    payment: refund.payment,
    amount_micros_usd: refund.amount,
    note: refund.reason,
    reference: refund.reference,
    state: refund.state,
    processor_id: refund.processorId,
    error: refund.lastError,
    created_at: isoTime(refund.createdAt),
    updated_at: isoTime(refund.updatedAt),
  }
}
