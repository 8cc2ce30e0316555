import { FAILURES } from '../middleware/response/failures'
import { type JsonSchema, listOf, microsUsd, oneOf, opaque, orNull, record, ref, text, whole } from './json-schema'

const TYPES = [...new Set(Object.values(FAILURES).map(({ type }) => type))]

/** The common error shapes (spec D2), and the price that they can carry. */
export const ERROR_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  Error: record('The error format of the gateway. `x-error-codes` of a response lists its codes.', {
    error: ref('ErrorDetail'),
  }),
  AnthropicError: record("The error format of routes for Anthropic's SDK.", {
    type: oneOf(['error'], 'Always `error`.'),
    error: ref('ErrorDetail'),
  }),
  GoogleError: record("The error format of routes for Google's SDK.", {
    error: record('What went wrong and what to do next.', {
      code: whole('The HTTP status.'),
      message: text('A message for people. Do not parse it.'),
      status: text("Google's name of the status, such as INVALID_ARGUMENT."),
      type: oneOf(TYPES, 'The category of the error.'),
      request_id: text("The gateway's id of the request. Quote it when you contact support."),
      details: listOf(
        opaque({ type: 'object', additionalProperties: true }),
        'An `ErrorInfo` whose `reason` is the stable error code; every invalid parameter (`BadRequest`); how long to wait (`RetryInfo`).',
      ),
    }),
  }),
  ErrorDetail: record(
    'What went wrong and what to do next.',
    {
      type: oneOf(TYPES, 'The category of the error.'),
      code: text('The stable error code, for programs.'),
      message: text('A message for people. Do not parse it.'),
      request_id: text("The gateway's id of the request. Quote it when you contact support."),
      param: text('The first invalid parameter.'),
      limit_source: oneOf(['key', 'app', 'account', 'address', 'upstream'], 'Whose limit was reached.'),
      retry_after: whole('Seconds to wait, as in Retry-After.', { minimum: 0 }),
      price: ref('Price'),
      details: listOf(ref('WrongParameter'), 'Every invalid parameter of the request.'),
    },
    ['param', 'limit_source', 'retry_after', 'price', 'details'],
  ),
  PaymentProblem: record(
    'A 402 that can be paid: a problem document (RFC 9457) that also contains `error`. The challenge is in WWW-Authenticate.',
    {
      type: text('The problem type of the Payment scheme.', { format: 'uri' }),
      title: text('The problem type, for people.'),
      status: whole('402.'),
      detail: text('A message for people. Do not parse it.'),
      challengeId: text('The id of the first challenge.'),
      error: ref('ErrorDetail'),
      x402Version: whole('1: for clients of x402 version 1, if the request can be paid that way.'),
      accepts: listOf(
        opaque({ type: 'object', additionalProperties: true }),
        'What clients of x402 version 1 can pay with. Version 2 reads PAYMENT-REQUIRED.',
      ),
    },
    ['x402Version', 'accepts'],
  ),
  WrongParameter: record('One invalid parameter.', {
    param: text('Its name.'),
    in: oneOf(['query', 'header', 'body'], 'Where it is expected.'),
    code: oneOf(['missing_parameter', 'invalid_parameter'], 'Whether it is missing or invalid.'),
    rule: text('The rule it violates.'),
    received: orNull(text('What was sent, shortened.')),
  }),
  Price: record('A price per successful request.', {
    mode: oneOf(['fixed', 'most'], '`fixed`, or `most` for the maximum cost of the request.'),
    currency: oneOf(['USD'], 'The currency.'),
    amount: text('The amount as a decimal.', { pattern: '^\\d+(\\.\\d{1,6})?$' }),
  }),
  Quote: record('What a request would cost. Nothing ran, nothing was charged.', {
    quote: record('The quote.', {
      operation: text('The operation.'),
      price: ref('Price'),
      cost_micros_usd: microsUsd('What it would cost.', { minimum: 0 }),
      price_version: text('The price version: that of the catalog, or the id of a price override.'),
      available_micros_usd: orNull(microsUsd('What this key can spend now; null without a key.')),
    }),
  }),
  Ready: record(
    'Whether calls can be served.',
    {
      status: oneOf(['ready', 'not_ready', 'draining'], 'The status.'),
      code: text(
        'What fails, when `not_ready`: `database_unavailable`, `charges_unavailable` or `search_unavailable`.',
      ),
      checks: opaque({
        type: 'object',
        description:
          'Each required part of the gateway and whether it works. Shown to operators only, as is all that follows.',
        additionalProperties: { type: 'boolean' },
      }),
      problems: opaque({
        type: 'object',
        description: 'The problem of each part that does not work.',
        additionalProperties: { type: 'string' },
      }),
      warnings: opaque({
        type: 'object',
        description: 'Problems that do not stop calls but need an operator: `backups` that cannot be made.',
        additionalProperties: { type: 'string' },
      }),
      sources: opaque({
        type: 'object',
        description:
          'The search providers in the order they are tried, and whether each is available now. They do not affect readiness.',
        additionalProperties: { type: 'boolean' },
      }),
      models: listOf(
        record('One model upstream.', {
          name: text('Its name.'),
          breaker: oneOf(
            ['closed', 'open', 'probing'],
            '`closed`: healthy. `open`: it failed repeatedly and gets no calls. `probing`: one call is testing whether it has recovered.',
          ),
          under_way: whole('Calls in progress.'),
        }),
        'Model upstreams called since the server started. They do not affect readiness.',
      ),
    },
    ['code', 'checks', 'problems', 'warnings', 'sources', 'models'],
  ),
  Health: record('The process is alive.', { status: oneOf(['ok'], 'Always `ok`.') }),
}
