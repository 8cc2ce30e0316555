import { type Static, Type } from '@sinclair/typebox'
import { ENTRY_KINDS } from '../../core/ledger/entry'
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

const count = (what: string) => whole(what, { minimum: 0 })
const milliseconds = (what: string) => Type.Number({ description: what, minimum: 0 })

const tokens = {
  input_tokens: count('Input tokens of model calls.'),
  output_tokens: count('Output tokens of model calls.'),
  cache_read_tokens: count('Tokens read from a cache.'),
  cache_write_tokens: count('Tokens written to a cache.'),
}

const sums = {
  requests: count('Requests to paid endpoints.'),
  failed_requests: count('How many of them failed. They cost nothing.'),
  ...tokens,
  charged_micros_usd: microsUsd('What was charged.', { minimum: 0 }),
}

const latency = {
  calls: count('Calls that were served, or failed with a 5xx.'),
  p50_ms: orNull(milliseconds('Milliseconds that half of them took at most; null without calls.')),
  p95_ms: orNull(milliseconds('The same for 95 % of them.')),
  p99_ms: orNull(milliseconds('The same for 99 % of them.')),
}

const call = {
  id: identifier('req', "The gateway's id of the request."),
  client_request_id: orNull(text('The X-Request-ID sent with it.')),
  at: instant('When it arrived.'),
  key_id: text('The key that made it.'),
  operation: text('The operation it called.'),
  model: orNull(text('The model, on model routes.')),
  status: whole('The response status.', { minimum: 100, maximum: 599 }),
  code: orNull(
    text(
      'The error code, or why the response was not sent to its end: `caller_hung_up`, `stream_cut`, `gateway_restarted`, `gateway_shutdown`. Null for any other success.',
    ),
  ),
  ...tokens,
  usage_source: orNull(
    oneOf(
      ['exact', 'estimated'],
      '`exact`: the vendor counted the tokens. `estimated`: the gateway estimated them from the content.',
    ),
  ),
  cost_micros_usd: microsUsd('What it cost.', { minimum: 0 }),
  refunded_micros_usd: microsUsd('What the operator gave back of it later.', { minimum: 0 }),
  latency_ms: count('Milliseconds it took.'),
  ip: text('The IP address it came from.'),
  repeats: count(
    'How many more calls like it, within its minute, have no entry of their own: of refusals (401, 402, 403, 429) only the first per key, operation and code has one.',
  ),
}

export const UsageReport = named(
  'UsageReport',
  record(
    'Usage over time.',
    {
      scope: oneOf(['key', 'account'], 'Whether it covers one key or the whole account.'),
      currency: oneOf(['USD'], 'The currency.'),
      start_time: whole('Start (inclusive), in UNIX seconds.'),
      end_time: whole('End (exclusive), in UNIX seconds.'),
      bucket_width: oneOf(['1m', '1h', '1d'], 'Width of a bucket. `1m` is available in the dashboard only.'),
      timezone: text('The time zone that hours and days are counted in.'),
      totals: record('Totals over the whole range.', sums),
      buckets: listOf(
        record('One bucket. The first and the last are cut to the range.', {
          start_time: whole('Start, in UNIX seconds.'),
          end_time: whole('End, in UNIX seconds.'),
          ...sums,
        }),
        'In chronological order, including empty ones.',
      ),
      groups: listOf(
        record('One group.', {
          group_by: oneOf(['key', 'operation', 'status', 'model', 'tag', 'scope'], 'What it is grouped by.'),
          name: orNull(text('The key, operation, status, model, tag or scope.')),
          ...sums,
        }),
        'Largest charge first. Only with `group_by`. A key with several tags counts in the group of each; the group without a name has what has no tag.',
      ),
      refunded_micros_usd: microsUsd('What the operator gave back of these charges. In the dashboard only.', {
        minimum: 0,
      }),
      whole_slots_before: whole(
        'Set if old calls were removed from the log. What is older than this (UNIX seconds) is counted in whole quarters of an hour, also where the range begins or ends within one.',
      ),
      latency: orNull(
        record(
          'How long calls took, with an error of at most 10 %, in whole quarters of an hour. In the dashboard only; null with a filter by `status`.',
          {
            ...latency,
            groups: listOf(
              record('One operation at one provider.', {
                operation: text('The operation.'),
                provider: orNull(
                  text('The provider that answered; `cache` for cached answers; null if it is not known.'),
                ),
                model: orNull(text('The model, on model routes.')),
                ...latency,
              }),
              'Most calls first.',
            ),
          },
        ),
      ),
    },
    ['groups', 'refunded_micros_usd', 'whole_slots_before', 'latency'],
  ),
)
export type UsageReport = Static<typeof UsageReport>

export const RequestRecord = named('Request', record('One call of the request log.', call))
export type RequestRecord = Static<typeof RequestRecord>

export const ExplainedRequest = named(
  'ExplainedRequest',
  record(
    'One call: its times, why it failed, and how its charge was calculated.',
    {
      ...call,
      calls: listOf(
        record('One.', { method: text('The method.'), path: text('The path, as documented.') }),
        'How the operation is called. In the dashboard only; empty for operations of imported APIs, which the catalog describes.',
      ),
      provider: orNull(text('The provider that was asked; `cache` for a cached answer; null if none was.')),
      times: record('Where the time went. Null where no upstream was asked.', {
        waiting_ms: orNull(count('Milliseconds until the upstream was asked.')),
        upstream_ms: orNull(count('Milliseconds that the upstream took.')),
        total_ms: count('Milliseconds in all.'),
      }),
      failure: orNull(
        record('Why it failed, without anything that was sent; null for a success.', {
          route: orNull(text('The path as documented; null for a path that does not exist.')),
          message: text('What happened.'),
          param: orNull(text('The parameter at fault.')),
          rule: orNull(text('The rule that it breaks.')),
        }),
      ),
      held_micros_usd: orNull(
        microsUsd('What was held until the end of the call; null if nothing was.', {
          minimum: 0,
        }),
      ),
      charge: orNull(
        record('The charge; null when nothing was charged.', {
          currency: oneOf(['USD'], 'The currency.'),
          price_version: text('The price version: that of the catalog, or the id of a price override.'),
          inputs: record('The inputs of the calculation.', {
            unit: text('The billing unit.'),
            units: count('How many.'),
            unit_price_micros_usd: microsUsd('The price of one.', { minimum: 0 }),
            lines: listOf(
              record('One line.', {
                item: text('What was counted.'),
                units: count('How many.'),
                unit_price_micros_usd: microsUsd('The price of `per` units.', { minimum: 0 }),
                per: whole('1, or 1000000 for tokens.'),
              }),
              'The lines that add up to the charge, which is rounded up once.',
            ),
          }),
          arithmetic: text('The calculation as text.'),
          charged_micros_usd: microsUsd('What was charged.', { minimum: 0 }),
        }),
      ),
    },
    ['calls'],
  ),
)
export type ExplainedRequest = Static<typeof ExplainedRequest>

export const ErrorReport = named(
  'ErrorReport',
  record('Why calls failed.', {
    errors: listOf(
      record('Failed calls of one operation for one reason.', {
        operation: text('The operation.'),
        status: whole('The response status.', { minimum: 400, maximum: 599 }),
        code: text('The error code; empty where there is none.'),
        requests: count('How many.'),
        last_at: instant('When the newest of them arrived.'),
        last_request_id: text('Its id.'),
        last_message: orNull(text('What happened to it; null if it is not known.')),
      }),
      'The most frequent first, at most 200.',
    ),
    is_partial: yesOrNo('Whether only the newest are counted: 20,000 of each status.'),
  }),
)
export type ErrorReport = Static<typeof ErrorReport>

export const CreditsBalance = named(
  'CreditsBalance',
  record('What this key can still spend.', {
    currency: oneOf(['USD'], 'The currency.'),
    account_balance_micros_usd: orNull(microsUsd('The balance of the account; null for an API key.')),
    available_balance_micros_usd: microsUsd(
      'What this credential can spend now: at most its limit and budget, and what calls in progress do not hold of the balance.',
      { minimum: 0 },
    ),
    api_key: record('The spending limit of the key.', {
      unlimited: yesOrNo('Whether the key has no limit of its own.'),
      remaining_micros_usd: orNull(microsUsd('What is left of its limit; null without one.')),
      used_micros_usd: microsUsd('Spent under its limit.', { minimum: 0 }),
    }),
    as_of: instant('When these figures were read.'),
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

export const TransactionRecord = record('One transaction.', {
  id: identifier('txn', 'Id of the transaction.'),
  at: instant('When it was booked.'),
  kind: oneOf(ENTRY_KINDS, 'The kind of transaction.'),
  description: text('A description.'),
  request_id: orNull(text('The request it paid for.')),
  amount_micros_usd: microsUsd('The amount; negative when it was spent.'),
  balance_after_micros_usd: microsUsd('The balance after it.'),
  charges: orNull(
    count('With `group_by=day`: how many charges it adds up; null for any other transaction, and without it.'),
  ),
})
export type TransactionRecord = Static<typeof TransactionRecord>

export const TransactionPage = named(
  'TransactionPage',
  record('A page of transactions, newest first.', {
    transactions: listOf(TransactionRecord, 'The transactions.'),
    next_cursor: nextCursor(),
  }),
)
export type TransactionPage = Static<typeof TransactionPage>

/** The account that calls are charged to, and what the credential may do. */
export const Whoami = record('The account and the credential.', {
  account_id: text('Id of the account.'),
  email: orNull(text('Email address of its owner; null for an API key.')),
  credential: oneOf(['key', 'app'], 'The kind of credential.'),
  credential_id: text('Id of the key, or of the connection of the app.'),
  name: text('Name of the key, or client id of the app.'),
  scopes: orNull(listOf(text('A scope.'), 'The scopes that the owner granted the app; null for a key.')),
})
export type Whoami = Static<typeof Whoami>
