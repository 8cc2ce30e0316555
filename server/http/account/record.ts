import type { Static } from '@sinclair/typebox'
import { RIGHT_NAMES, ROLES } from '../../core/accounts/roles'
import { SIGNUP_CREDITS } from '../../core/accounts/signup-credit'
import { TIERS } from '../../core/limits/tier'
import {
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
  yesOrNo,
} from '../openapi/json-schema'

const Tier = oneOf(TIERS, 'The tier that sets the limits.')

export const AccountRecord = named(
  'Account',
  record('The account that is shown, and the member who is signed in.', {
    id: identifier('acct', 'Id of the account.'),
    email: text("The member's email address."),
    name: text("The member's name."),
    workspace: text('The name of the account, which the dashboard calls a workspace.'),
    role: oneOf(ROLES, 'The role of the caller in it.'),
    rights: listOf(oneOf(RIGHT_NAMES, 'A right.'), 'What the role allows.'),
    operator: yesOrNo('Whether the owner is an operator of this gateway.'),
    support: yesOrNo('Whether the owner is support of this gateway.'),
    tier: Tier,
    balance_micros_usd: microsUsd('The balance.'),
    held_micros_usd: microsUsd('The part of it held by calls in progress.', { minimum: 0 }),
    credit_micros_usd: microsUsd('Of the balance, signup credit and grants. Spent first.'),
    signup_credit: oneOf(
      SIGNUP_CREDITS,
      'What became of the free credit. `awaiting_confirmation`: it comes when the email address is confirmed. `network_limit`, `daily_limit`: too much was given to this network, or in total, on the day the account was opened.',
    ),
    topped_up_micros_usd: microsUsd('Total topped up.', { minimum: 0 }),
    created_at: instant('When the account was created.'),
    ip: orNull(text('The IP address of this request, as an IP allowlist would see it.')),
    events_mark: text("The moment of this response, from which the dashboard's live events continue."),
  }),
)
export type AccountRecord = Static<typeof AccountRecord>

export const OperatorClaim = record('The one-time setup token.', { token: text('The token that the gateway printed.') })
export type OperatorClaim = Static<typeof OperatorClaim>

export const OperatorClaimed = record('The result.', { operator: yesOrNo('Always true.') })
export type OperatorClaimed = Static<typeof OperatorClaimed>

export const ReadingRecord = named(
  'Reading',
  record('A counter of the current minute.', {
    limit: whole('The limit.'),
    remaining: whole('What is left.'),
    reset: whole('UNIX time in seconds when it resets.'),
  }),
)
export type ReadingRecord = Static<typeof ReadingRecord>

export const LimitsRecord = named(
  'Limits',
  record('Limits of the account, and live counters of each key.', {
    tier: Tier,
    limits: record("The tier's limits, per key.", {
      requests_per_minute: whole('Requests per minute.'),
      tokens_per_minute: whole('Tokens per minute.'),
      concurrency: whole('Concurrent streaming and long-running requests.'),
    }),
    keys: listOf(
      record('One key.', {
        id: identifier('key', 'Id of the key.'),
        name: text('Its name.'),
        requests: ReadingRecord,
        tokens: ReadingRecord,
        concurrency: record('Requests in progress.', { limit: whole('The limit.'), remaining: whole('What is left.') }),
      }),
      'A page of the keys that are not revoked.',
    ),
    next_cursor: nextCursor(),
  }),
)
export type LimitsRecord = Static<typeof LimitsRecord>
