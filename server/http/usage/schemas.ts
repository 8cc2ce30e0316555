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

const nextCursor = orNull(text('Ask for the next page with it as `cursor`; null on the last page.'))

/** Bodies about use and money, of keys and of owners (spec-answers 3, 8). */
export const USAGE_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  UsageReport: record(
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
  Request: record('One call of the request log.', call),
  ExplainedRequest: record('One call, and how its charge came about.', {
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
  CreditsBalance: record('What is left to this key.', {
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
  RequestPage: record('A page of the request log, newest first.', {
    requests: listOf(ref('Request'), 'The calls.'),
    next_cursor: nextCursor,
  }),
  TransactionPage: record('A page of the money book, newest first.', {
    transactions: listOf(
      record('One movement of money.', {
        id: text('Id of the movement.'),
        at: instant('When.'),
        kind: text('What it was, for example charge or signup_credit.'),
        description: text('In words.'),
        request_id: orNull(text('The request that it paid for.')),
        amount_micros_usd: microsUsd('The amount; negative when it was spent.'),
        balance_after_micros_usd: microsUsd('The balance after it.'),
      }),
      'The movements.',
    ),
    next_cursor: nextCursor,
  }),
}
