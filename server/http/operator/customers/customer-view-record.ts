import type { Static } from '@sinclair/typebox'
import { ADJUSTMENT_KINDS } from '../../../core/ledger/account-statement'
import { TIERS } from '../../../core/limits/tier'
import { LimitRequestRecord } from '../../account/limit-request-record'
import { ACTORS } from '../../audit/record'
import { KeyRecord } from '../../keys/record'
import {
  anyObject,
  instant,
  listOf,
  microsUsd,
  nextCursor,
  oneOf,
  orNull,
  record,
  text,
  whole,
  yesOrNo,
} from '../../openapi/json-schema'
import { RequestRecord } from '../../usage/record'
import { LIMITS } from '../record'

const CustomerRequest = record('A call of an account, with its outcome in words.', {
  ...RequestRecord.properties,
  key_name: orNull(text('The name of the key, or of the app whose id is in `key_id`.'), 'it is not known any more'),
  outcome: oneOf(
    ['served', 'refused', 'failed'],
    '`refused`: for a reason of the caller, such as an empty balance. `failed`: for a reason of the gateway or its upstream.',
  ),
  reason: orNull(text('Why it was refused or failed, in words.'), 'served'),
})
export type CustomerRequest = Static<typeof CustomerRequest>

export const CustomerRequests = record('A page of calls, newest first.', {
  requests: listOf(CustomerRequest, 'The calls.'),
  next_cursor: nextCursor(),
})
export type CustomerRequests = Static<typeof CustomerRequests>

const Adjustment = record('What the balance got or lost without a payment or a call.', {
  id: text('Id of the transaction.'),
  at: instant('When it was booked.'),
  kind: oneOf(
    ADJUSTMENT_KINDS,
    '`grant`: credit of an operator. `debit`: a correction. `charge_refund`: a call that was given back.',
  ),
  amount_micros_usd: microsUsd('The amount; negative for a debit.'),
  reason: text('The reason, as the owner reads it.'),
  reference: orNull(text('The reference that the operator gave.')),
  request_id: orNull(text('The call that was given back.')),
  by: orNull(text('The email address or id of who made it, or `console`.'), 'nobody, or it is not known any more'),
})
export type CustomerAdjustment = Static<typeof Adjustment>

export const CustomerAdjustments = record('A page of grants, debits and refunds of calls, newest first.', {
  adjustments: listOf(Adjustment, 'What was booked.'),
  next_cursor: nextCursor(),
})
export type CustomerAdjustments = Static<typeof CustomerAdjustments>

export const CustomerLimits = record('The limits of an account, and its requests for higher ones.', {
  tier: oneOf(TIERS, 'The tier that sets the limits.'),
  custom: yesOrNo('Whether an operator set them instead of the tier.'),
  limits: record('The limits of each of its keys.', LIMITS),
  most_keys: whole('The maximum number of live keys.', { minimum: 1 }),
  live_keys: whole('How many it has.', { minimum: 0 }),
  requests: listOf(LimitRequestRecord, 'Its requests for higher limits, newest first.'),
  next_cursor: nextCursor(),
})
export type CustomerLimits = Static<typeof CustomerLimits>

export const CustomerKeys = record('The live keys of an account and the newest 200 that were revoked, newest first.', {
  keys: listOf(KeyRecord, 'The keys.'),
})
export type CustomerKeys = Static<typeof CustomerKeys>

const CustomerPayment = record('A payment of an account.', {
  id: text('Id of the payment.'),
  purpose: oneOf(['call', 'top_up'], 'What it is for.'),
  state: oneOf(
    ['working', 'released', 'settling', 'settled', 'served', 'paid_unserved'],
    '`released`: not paid. `served`: paid, and booked or answered.',
  ),
  method: text('Payment method.'),
  amount_micros_usd: microsUsd('The amount.'),
  reference: orNull(text('Its id at the payment network or processor.')),
  error: orNull(text('The last error.')),
  created_at: instant('When it was started.'),
  updated_at: instant('When it last changed.'),
})

export const CustomerPayments = record('A page of payments, newest first.', {
  payments: listOf(CustomerPayment, 'The payments.'),
  next_cursor: nextCursor(),
})
export type CustomerPayments = Static<typeof CustomerPayments>

const Change = record('A change.', {
  id: text('Id of the change.'),
  at: instant('When it happened.'),
  action: text('What was done, such as `key.revoke` or `account.suspend`.'),
  by: oneOf(ACTORS, 'Who made it.'),
  actor: text('The user id of who made it, `console`, or the name of a job.'),
  actor_email: orNull(
    text('The email address of the operator who made it.'),
    'no operator made it, it was the command line, or it is not known any more',
  ),
  ip: orNull(text('The IP address it came from.')),
  key: orNull(text('Id of the key it concerns.')),
  detail: anyObject('What changed, without secrets.'),
})

export const CustomerAudit = record('A page of changes to an account and its keys, newest first.', {
  changes: listOf(Change, 'The changes.'),
  next_cursor: nextCursor(),
})
export type CustomerAudit = Static<typeof CustomerAudit>
