import type { Static } from '@sinclair/typebox'
import { TIERS } from '../../core/limits/tier'
import { instant, listOf, microsUsd, named, oneOf, orNull, record, text, whole, yesOrNo } from '../openapi/json-schema'

const Tier = oneOf(TIERS, 'The tier that sets the limits.')

export const AccountRecord = named(
  'Account',
  record('The account of the owner who is signed in.', {
    id: text('Id of the account.'),
    email: text("The owner's e-mail address."),
    name: text("The owner's name."),
    operator: yesOrNo('Whether the owner operates this gateway.'),
    tier: Tier,
    balance_micros_usd: microsUsd('The balance.'),
    held_micros_usd: microsUsd('Of it, held by calls under way.', { minimum: 0 }),
    credit_micros_usd: microsUsd('Of the balance, signup credit and grants. Spent first.'),
    topped_up_micros_usd: microsUsd('Paid in so far.', { minimum: 0 }),
    created_at: instant('Opened at.'),
    ip: orNull(text('The address that this request came from, as an IP allowlist would see it.')),
  }),
)
export type AccountRecord = Static<typeof AccountRecord>

export const OperatorClaim = record('The one-time setup token.', { token: text('The token that the gateway printed.') })
export type OperatorClaim = Static<typeof OperatorClaim>

export const OperatorClaimed = record('The result.', { operator: yesOrNo('Always true.') })
export type OperatorClaimed = Static<typeof OperatorClaimed>

export const ReadingRecord = named(
  'Reading',
  record('A counter of this minute.', {
    limit: whole('The cap.'),
    remaining: whole('Left.'),
    reset: whole('UNIX time in seconds at which it starts anew.'),
  }),
)
export type ReadingRecord = Static<typeof ReadingRecord>

export const LimitsRecord = named(
  'Limits',
  record('Limits of the account, and live readings of each key.', {
    tier: Tier,
    limits: record("The tier's numbers, per key.", {
      requests_per_minute: whole('Requests per minute.'),
      tokens_per_minute: whole('Tokens per minute.'),
      concurrency: whole('Streaming and long-running requests at once.'),
    }),
    keys: listOf(
      record('One key.', {
        id: text('Id of the key.'),
        name: text('Its name.'),
        requests: ReadingRecord,
        tokens: ReadingRecord,
        concurrency: record('Requests under way.', { limit: whole('The cap.'), remaining: whole('Left.') }),
      }),
      'Every key that is not revoked.',
    ),
  }),
)
export type LimitsRecord = Static<typeof LimitsRecord>
