import { type FailureCode, failure } from '../../core/failure'
import { type Money, ZERO } from '../../core/money'
import { FAILURES, failureBody, WAIT } from '../middleware/failures'
import { ref } from './json-schema'
import type { OpenApiExample, OpenApiResponse } from './open-api'
import { headerRefs, type ResponseHeader } from './response-headers'

/** What every code tells a caller. A new code without a line does not compile. */
export const FAILURE_MEANINGS: Readonly<Record<FailureCode, string>> = {
  missing_parameter: 'A required parameter is missing. `details` lists every wrong parameter.',
  invalid_parameter: 'A parameter breaks its rule. `details` lists every wrong parameter.',
  json_parse_error: 'The body is not valid JSON in UTF-8.',
  invalid_request: 'The request as a whole is not valid, for example a body that is no JSON object.',
  missing_session: 'Sign in first: this route needs the session cookie.',
  recent_sign_in_required: 'The session signed in too long ago for this. Sign in again.',
  missing_api_key: 'This route needs an API key: send Authorization: Bearer <API_KEY>.',
  invalid_api_key: 'This API key is not known, or was revoked.',
  invalid_token: 'This access token is unknown, expired, revoked, or was issued for another address of the gateway.',
  api_key_disabled: 'This API key is switched off.',
  expired_api_key: 'This API key has expired.',
  payment_required: 'No key was sent. Send one, or answer the payment challenge. The price is in the body.',
  malformed_credential: 'The payment credential cannot be read. A new challenge stands beside this answer.',
  invalid_challenge:
    'The credential is not for this request, or was used already. A new challenge stands beside this answer.',
  payment_expired: 'The challenge was answered too late. A new one stands beside this answer.',
  invalid_payload: 'The credential does not have the form that its method asks for.',
  verification_failed: 'The payment would not go through, or is not what was asked. Nothing was charged.',
  payment_in_progress:
    'Another request with this payment is in progress. Send the request again with the same credential; do not pay a second time.',
  payment_pending:
    'Whether this payment went through is not known yet. Ask again with the same credential; do not pay a second time.',
  payment_network_unavailable:
    'The payment network does not answer. Nothing was charged, and the credential stays valid. Try again later.',
  recharge_required: 'This model needs a first top-up: signup credit does not pay for it.',
  insufficient_api_key_balance: "The key's own spending limit leaves less than the price.",
  insufficient_balance: 'The account balance is below the price.',
  ip_not_allowed: "The caller's address is not in the key's list of allowed addresses.",
  insufficient_permissions: 'The credential is known, and may not do this.',
  insufficient_scope:
    'The scope in `param` was not granted: by the owner to the app, or by the linked social account to this gateway. Ask for it again.',
  social_session_required: 'No social account is linked to this key, or its access was withdrawn. Link one.',
  foreign_origin: 'A browser sent this write from another site.',
  model_not_allowed: "The model is not in this key's list of allowed models.",
  unknown_model: 'There is no model of this id. `GET /v1/models` lists all.',
  model_route_not_supported:
    'The model is not available on this route; its `supported_endpoint_types` list the routes that it is.',
  max_tokens_exceeded: 'Input and output cap together are more than a whole minute of the token limit.',
  unsupported_parameter: 'The vendor charges for this beside the tokens, so it is not sold here.',
  unknown_endpoint: 'There is no such endpoint.',
  resource_not_found: 'There is nothing with this id that this caller may see.',
  method_not_allowed: 'The endpoint does not take this method; `Allow` names those it takes.',
  not_acceptable: 'The `Accept` header admits no JSON.',
  request_timeout: 'The body came too slowly. Send it again.',
  payload_too_large: 'The body is too large.',
  unsupported_media_type: 'The body is not application/json.',
  idempotency_conflict: 'This Idempotency-Key was already used for a different request.',
  answer_not_kept:
    'This request was answered and charged; its answer was too large to be kept for a repeat, or broke off. Of a payment: it went through, and no try got an answer.',
  outcome_unknown:
    'A write or a stream with this Idempotency-Key started, but its outcome is unknown. It will not be retried; check whether it took effect.',
  limit_reached: 'The account has as many of these as it may have. Remove one, or ask the operator for more.',
  invalid_state: 'The change does not fit the present state, for example enabling a revoked key.',
  estimated_price_exceeds_max_price: 'The request would cost more than X-Max-Price-USD. Nothing ran.',
  rate_limit_exceeded: 'Too many requests this minute. Wait for Retry-After.',
  upstream_rate_limit:
    'The upstream provider is rate-limiting the gateway. Your own limits were not reached. Wait for Retry-After.',
  quota_exceeded: "The key's budget for the day, week or month leaves less than the price. Retry-After is its end.",
  internal_error: 'Something broke on our side. Quote the request id.',
  service_unavailable: 'The database does not answer, or the server is shutting down. Try again.',
  upstream_error: 'The upstream provider returned an error.',
  upstream_unavailable: 'The upstream provider cannot be reached.',
  upstream_timeout: 'The upstream provider did not answer in time.',
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'The input is wrong',
  401: 'The credential is missing or refused',
  402: 'Not paid',
  403: 'Not allowed',
  404: 'Not found',
  405: 'Method not allowed',
  406: 'Not acceptable',
  409: 'Not in this state',
  412: 'Too dear',
  413: 'Body too large',
  415: 'Not JSON',
  422: 'Not valid',
  429: 'Too many requests',
  500: 'Our fault',
  502: 'The upstream provider failed',
  503: 'Not available now',
  504: 'The upstream provider was too slow',
}

export interface FailureContext {
  /** On every answer of the route. */
  readonly headers: readonly ResponseHeader[]
  /** Of a priced route: the price that a 402 names. */
  readonly price?: Money
  /** A code of the sign-in library, by status: they have no row in the table of failures. */
  readonly libraryCodes?: Readonly<Record<number, readonly string[]>>
}

/** One response for every status that these codes come with, from the table that answers them. */
export function failureResponses(
  codes: readonly FailureCode[],
  context: FailureContext,
): Readonly<Record<string, OpenApiResponse>> {
  const library = context.libraryCodes ?? {}
  const statuses = new Set([...codes.map((code) => FAILURES[code].status), ...Object.keys(library).map(Number)])
  return Object.fromEntries(
    [...statuses]
      .sort((a, b) => a - b)
      .map((status) => {
        const own = codes.filter((code) => FAILURES[code].status === status)
        return [String(status), failureResponse(status, own, library[status] ?? [], context)]
      }),
  )
}

function failureResponse(
  status: number,
  codes: readonly FailureCode[],
  libraryCodes: readonly string[],
  { headers, price }: FailureContext,
): OpenApiResponse {
  const all = [...codes, ...libraryCodes]
  const error = { type: 'object', properties: { code: { enum: all } } }
  const waits = status === 429 || codes.some((code) => WAIT.has(code))
  const challenges = status === 402 || (status === 401 && codes.some((code) => code !== 'missing_session'))
  const more: ResponseHeader[] = [
    ...(waits ? ['Retry-After' as const] : []),
    ...(challenges ? ['WWW-Authenticate' as const] : []),
  ]
  return {
    description: `${REASONS[status] ?? `Status ${status}`}: ${all.map((code) => `\`${code}\``).join(', ')}.`,
    headers: headerRefs([...headers, ...more]),
    content: {
      'application/json': {
        schema: { allOf: [ref('Error'), { type: 'object', properties: { error } }] },
        examples: Object.fromEntries(codes.map((code) => [code, failureExample(code, price)])),
      },
      // Where payment challenges stand beside it, it is a problem of RFC 9457 too.
      ...(status === 402 && price !== undefined && { 'application/problem+json': { schema: ref('PaymentProblem') } }),
    },
  }
}

/** A body as the gateway itself writes it. */
function failureExample(code: FailureCode, price: Money | undefined): OpenApiExample {
  const { status } = FAILURES[code]
  const wrong = { param: 'count', in: 'query', rule: 'must be an integer from 1 to 200', received: '0' } as const
  const missing = { param: 'q', in: 'query', rule: 'is required', received: null } as const
  const problem = failure(code, FAILURE_MEANINGS[code], {
    ...(code === 'invalid_parameter' && { param: wrong.param, details: [{ ...wrong, code }] }),
    ...(code === 'missing_parameter' && { param: missing.param, details: [{ ...missing, code }] }),
    ...(code === 'estimated_price_exceeds_max_price' && { param: 'x-max-price-usd' }),
    ...(status === 429 && { retryAfterSeconds: 12, limitSource: code === 'upstream_rate_limit' ? 'upstream' : 'key' }),
    ...(status === 402 && { price: price ?? ZERO }),
  })
  return { summary: FAILURE_MEANINGS[code], value: failureBody(problem, 'req_01a1fdfa942070008c603d2632ddc21a', '/') }
}
