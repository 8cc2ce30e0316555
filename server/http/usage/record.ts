import type { Static } from '@sinclair/typebox'
import { ENTRY_KINDS } from '../../core/ledger/entry'
import {
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

const count = (what: string) => whole(what, { minimum: 0 })

const tokens = {
  input_tokens: count('Input tokens of model calls.'),
  output_tokens: count('Output tokens of model calls.'),
  cache_read_tokens: count('Tokens read from a cache.'),
  cache_write_tokens: count('Tokens written to a cache.'),
}

const sums = {
  requests: count('Calls of what is sold.'),
  failed_requests: count('Of those, how many did not succeed. They cost nothing.'),
  ...tokens,
  charged_micros_usd: microsUsd('What was charged.', { minimum: 0 }),
}

const call = {
  id: text('Our id of the request.'),
  client_request_id: orNull(text('The X-Request-ID that came with it.')),
  at: instant('When it came.'),
  key_id: text('The key that made it.'),
  operation: text('What it called.'),
  model: orNull(text('The model, on model routes.')),
  status: whole('The status it was answered with.', { minimum: 100, maximum: 599 }),
  code: orNull(text('The failure code; null for a success.')),
  ...tokens,
  usage_source: orNull(
    oneOf(['exact', 'estimated'], 'Who counted the tokens: the vendor, or we from what went through.'),
  ),
  cost_micros_usd: microsUsd('What it cost.', { minimum: 0 }),
  latency_ms: count('Milliseconds it took.'),
  ip: text('The address it came from.'),
}

export const UsageReport = named(
  'UsageReport',
  record(
    'Use over time.',
    {
      scope: oneOf(['key', 'account'], 'Whose usage.'),
      currency: oneOf(['USD'], 'Of the money.'),
      start_time: whole('Start, UNIX seconds, included.'),
      end_time: whole('End, UNIX seconds, not included.'),
      bucket_width: oneOf(['1m', '1h', '1d'], 'Width of a bucket; `1m` only where the owner asks.'),
      timezone: text('The time zone that hours and days are of.'),
      totals: record('Over the whole range.', sums),
      buckets: listOf(
        record('One hour or day; the first and the last are cut to the range.', {
          start_time: whole('Start, UNIX seconds.'),
          end_time: whole('End, UNIX seconds.'),
          ...sums,
        }),
        'In order of time, empty ones included.',
      ),
      groups: listOf(
        record('One group.', {
          group_by: oneOf(['key', 'operation', 'status', 'model'], 'What it is grouped by.'),
          name: orNull(text('The key, operation, status or model.')),
          ...sums,
        }),
        'The largest charge first. Only with `group_by`.',
      ),
    },
    ['groups'],
  ),
)
export type UsageReport = Static<typeof UsageReport>

export const RequestRecord = named('Request', record('One call of the request log.', call))
export type RequestRecord = Static<typeof RequestRecord>

export const ExplainedRequest = named(
  'ExplainedRequest',
  record('One call, and how its charge came about.', {
    ...call,
    charge: orNull(
      record('The charge; null when nothing was charged.', {
        currency: oneOf(['USD'], 'Of the money.'),
        price_version: text('The version of the price: of the catalogue, or the id of an override.'),
        inputs: record('What the price was multiplied with.', {
          unit: text('What is counted.'),
          units: count('How many.'),
          unit_price_micros_usd: microsUsd('The price of one.', { minimum: 0 }),
          lines: listOf(
            record('One line.', {
              item: text('What was counted.'),
              units: count('How many.'),
              unit_price_micros_usd: microsUsd('The price of so many as `per` says.', { minimum: 0 }),
              per: whole('1, or 1000000 for tokens.'),
            }),
            'What the charge is the sum of; rounded up once.',
          ),
        }),
        arithmetic: text('The sum in words.'),
        charged_micros_usd: microsUsd('What was charged.', { minimum: 0 }),
      }),
    ),
  }),
)
export type ExplainedRequest = Static<typeof ExplainedRequest>

export const CreditsBalance = named(
  'CreditsBalance',
  record('What is left to this key.', {
    currency: oneOf(['USD'], 'Of the money.'),
    account_balance_micros_usd: microsUsd('The balance of the account.'),
    available_balance_micros_usd: microsUsd('Of it, what no call under way holds.', { minimum: 0 }),
    api_key: record('The spending limit of the key.', {
      unlimited: yesOrNo('Whether the key has no limit of its own.'),
      remaining_micros_usd: orNull(microsUsd('Left of its limit; null without one.')),
      used_micros_usd: microsUsd('Spent under its limit.', { minimum: 0 }),
    }),
    as_of: instant('When this was true.'),
  }),
)
export type CreditsBalance = Static<typeof CreditsBalance>

export const RequestPage = named(
  'RequestPage',
  record('A page of the request log, newest first.', {
    requests: listOf(RequestRecord, 'The calls.'),
    next_cursor: nextCursor(),
  }),
)
export type RequestPage = Static<typeof RequestPage>

export const TransactionRecord = record('One movement of money.', {
  id: text('Id of the movement.'),
  at: instant('When.'),
  kind: oneOf(ENTRY_KINDS, 'What it was.'),
  description: text('In words.'),
  request_id: orNull(text('The request that it paid for.')),
  amount_micros_usd: microsUsd('The amount; negative when it was spent.'),
  balance_after_micros_usd: microsUsd('The balance after it.'),
})
export type TransactionRecord = Static<typeof TransactionRecord>

export const TransactionPage = named(
  'TransactionPage',
  record('A page of the money book, newest first.', {
    transactions: listOf(TransactionRecord, 'The movements.'),
    next_cursor: nextCursor(),
  }),
)
export type TransactionPage = Static<typeof TransactionPage>

/** Whose money a call spends, and what the credential may do. */
export const Whoami = record('The account and the credential.', {
  account_id: text('Id of the account.'),
  email: orNull(text('E-mail address of its owner.')),
  credential: oneOf(['key', 'app'], 'What the call was made with.'),
  credential_id: text('Id of the key, or of the connection of the app.'),
  name: text('Name of the key, or client id of the app.'),
  scopes: orNull(listOf(text('A scope.'), 'What the owner allowed the app; null for a key.')),
})
export type Whoami = Static<typeof Whoami>
