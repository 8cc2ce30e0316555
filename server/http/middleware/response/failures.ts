import { SCOPES, type Scope } from '../../../core/credentials/oauth-grant'
import { callerMessage, type Failure, type FailureCode, failure, type PaymentOffers } from '../../../core/failure'
import { formatUsd } from '../../../core/money'
import type { Result } from '../../../core/result'
import { isUnavailable } from '../../../core/unavailable'
import { isAnthropicPath, isGooglePath } from '../../routing/sdk-paths'
import { audienceOf } from '../caller/credential'

export type FailureType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'billing_error'
  | 'permission_error'
  | 'rate_limit_error'
  | 'api_error'
  | 'upstream_error'

/** Maps each failure code to its status and type (spec 7, spec D2). A new code without a row does not compile. */
export const FAILURES: Record<FailureCode, { readonly status: number; readonly type: FailureType }> = {
  missing_parameter: { status: 400, type: 'invalid_request_error' },
  invalid_parameter: { status: 400, type: 'invalid_request_error' },
  json_parse_error: { status: 400, type: 'invalid_request_error' },
  invalid_request: { status: 400, type: 'invalid_request_error' },
  missing_session: { status: 401, type: 'authentication_error' },
  recent_sign_in_required: { status: 401, type: 'authentication_error' },
  missing_api_key: { status: 401, type: 'authentication_error' },
  invalid_api_key: { status: 401, type: 'authentication_error' },
  invalid_token: { status: 401, type: 'authentication_error' },
  api_key_disabled: { status: 401, type: 'authentication_error' },
  expired_api_key: { status: 401, type: 'authentication_error' },
  payment_required: { status: 402, type: 'billing_error' },
  malformed_credential: { status: 402, type: 'billing_error' },
  invalid_challenge: { status: 402, type: 'billing_error' },
  payment_expired: { status: 402, type: 'billing_error' },
  invalid_payload: { status: 402, type: 'billing_error' },
  verification_failed: { status: 402, type: 'billing_error' },
  payment_in_progress: { status: 409, type: 'invalid_request_error' },
  payment_pending: { status: 503, type: 'api_error' },
  payment_network_unavailable: { status: 503, type: 'api_error' },
  recharge_required: { status: 402, type: 'billing_error' },
  insufficient_api_key_balance: { status: 402, type: 'billing_error' },
  insufficient_balance: { status: 402, type: 'billing_error' },
  account_suspended: { status: 403, type: 'permission_error' },
  ip_not_allowed: { status: 403, type: 'permission_error' },
  insufficient_permissions: { status: 403, type: 'permission_error' },
  insufficient_scope: { status: 403, type: 'permission_error' },
  social_session_required: { status: 403, type: 'permission_error' },
  second_factor_required: { status: 403, type: 'permission_error' },
  foreign_origin: { status: 403, type: 'permission_error' },
  not_a_member: { status: 404, type: 'invalid_request_error' },
  model_not_allowed: { status: 403, type: 'permission_error' },
  unknown_model: { status: 404, type: 'invalid_request_error' },
  model_route_not_supported: { status: 400, type: 'invalid_request_error' },
  max_tokens_exceeded: { status: 422, type: 'invalid_request_error' },
  unsupported_parameter: { status: 422, type: 'invalid_request_error' },
  unknown_endpoint: { status: 404, type: 'invalid_request_error' },
  resource_not_found: { status: 404, type: 'invalid_request_error' },
  method_not_allowed: { status: 405, type: 'invalid_request_error' },
  not_acceptable: { status: 406, type: 'invalid_request_error' },
  request_timeout: { status: 408, type: 'invalid_request_error' },
  payload_too_large: { status: 413, type: 'invalid_request_error' },
  unsupported_media_type: { status: 415, type: 'invalid_request_error' },
  idempotency_conflict: { status: 409, type: 'invalid_request_error' },
  answer_not_kept: { status: 409, type: 'invalid_request_error' },
  outcome_unknown: { status: 409, type: 'invalid_request_error' },
  limit_reached: { status: 409, type: 'invalid_request_error' },
  invalid_state: { status: 409, type: 'invalid_request_error' },
  estimated_price_exceeds_max_price: { status: 412, type: 'invalid_request_error' },
  rate_limit_exceeded: { status: 429, type: 'rate_limit_error' },
  upstream_rate_limit: { status: 429, type: 'rate_limit_error' },
  quota_exceeded: { status: 429, type: 'rate_limit_error' },
  internal_error: { status: 500, type: 'api_error' },
  service_unavailable: { status: 503, type: 'api_error' },
  account_under_review: { status: 503, type: 'api_error' },
  upstream_error: { status: 502, type: 'upstream_error' },
  upstream_unavailable: { status: 503, type: 'upstream_error' },
  upstream_timeout: { status: 504, type: 'upstream_error' },
}

/** Codes other than those of 429 whose responses carry `Retry-After`. */
export const WAIT: ReadonlySet<FailureCode> = new Set([
  'service_unavailable',
  'account_under_review',
  'payment_in_progress',
  'payment_pending',
  'payment_network_unavailable',
])

/** Retrying cannot fix these. The SDKs of OpenAI and Anthropic retry a 409 unless `x-should-retry` forbids it. */
const FINAL: ReadonlySet<FailureCode> = new Set(['idempotency_conflict', 'answer_not_kept', 'outcome_unknown'])

/** Default `Retry-After` in seconds, for failures that give no better value. */
const DEFAULT_RETRY_AFTER = 1

/** Thrown by routes; the error handler turns it into a response. */
export class Failed extends Error {
  readonly failure: Failure

  constructor(problem: Failure) {
    super(callerMessage(problem))
    this.failure = problem
  }
}

/** Returns the value of a result, or throws its failure for the error handler. */
export function taken<T>(outcome: Result<T, Failure>): T {
  if (!outcome.ok) throw new Failed(outcome.error)
  return outcome.value
}

export function notFound(what: string): Failed {
  return new Failed(failure('resource_not_found', what))
}

/** Called with every exception behind a 500 or 503, and its request id. */
export type OnFault = (requestId: string, error: unknown) => void

/** The failure to return for an exception. An internal one reveals nothing but the request id. */
export function failureOf(error: unknown, requestId: string, onFault: OnFault): Failure {
  if (error instanceof Failed) return error.failure
  onFault(requestId, error)
  if (isUnavailable(error))
    return failure('service_unavailable', 'The database is not responding. Nothing was charged. Try again.', {
      retryAfterSeconds: 1,
    })
  // Whether something was charged is unknown here: a payment may have been settled.
  return failure(
    'internal_error',
    `Something went wrong on our side. If it happens again, contact support and quote ${requestId}.`,
  )
}

const JSON_TYPE = /^application\/([a-z0-9.-]+\+)?json\s*(;\s*charset=[a-z0-9-]+\s*)?$/i

/** Upstream bodies are sent as JSON or plain text, whatever their declared type, so that no page or script runs on our origin. */
function passedType(contentType: string): string {
  return JSON_TYPE.test(contentType) ? contentType : 'text/plain; charset=utf-8'
}

/** Where an app gets a token, and the scopes that the route needs, separated by spaces; null if it needs none, or depends on the call. */
interface TokenSource {
  readonly origin: string
  readonly scope: string | null
}

/** The response to a failure: its body in the format of the route's SDK, and its headers. */
export function failureResponse(
  problem: Failure,
  requestId: string,
  path: string,
  headers: Headers,
  grants: TokenSource | null = null,
): Response {
  const { status } = FAILURES[problem.code]
  headers.set('cache-control', 'no-store')
  if (problem.closes) headers.set('connection', 'close')
  const wait = retryAfter(problem, problem.passThrough?.status ?? status)
  if (wait !== null) headers.set('retry-after', String(wait))
  if (problem.passThrough) {
    headers.set('content-type', passedType(problem.passThrough.contentType))
    headers.set('x-content-type-options', 'nosniff')
    return new Response(problem.passThrough.body, { status: problem.passThrough.status, headers })
  }
  if (FINAL.has(problem.code)) headers.set('x-should-retry', 'false')
  headers.set('content-type', problem.offers ? 'application/problem+json' : 'application/json')
  if (problem.allow) headers.set('allow', problem.allow.join(', '))
  if (status === 402 || (status === 401 && !SESSION_FAILURES.has(problem.code))) setChallenge(headers, problem)
  if (grants && asksForToken(problem, path)) headers.set('www-authenticate', tokenChallenge(problem, path, grants))
  for (const [name, value] of Object.entries(problem.offers?.headers ?? {})) headers.set(name, value)
  const body = failureBody(problem, requestId, path)
  return new Response(JSON.stringify(problem.offers ? problemBody(problem, problem.offers, body) : body), {
    status,
    headers,
  })
}

/** The members that clients of the `Payment` scheme read, next to those of `body` (RFC 9457). */
export function problemBody(problem: Failure, offers: PaymentOffers, body: unknown): Record<string, unknown> {
  const { code } = problem
  const name = code.startsWith('insufficient_') ? 'payment_required' : code
  return {
    type: `https://paymentauth.org/problems/${name.replaceAll('_', '-')}`,
    title: 'Payment required',
    status: FAILURES[code].status,
    detail: callerMessage(problem),
    ...(offers.challengeId && { challengeId: offers.challengeId }),
    ...offers.body,
    ...Object(body),
  }
}

/** The body in Anthropic's format on `/v1/messages` and below, and Google's on `/v1beta/*`, so that their SDKs can read it (spec D2). */
export function failureBody(problem: Failure, requestId: string, path: string): unknown {
  const { status, type } = FAILURES[problem.code]
  const wait = retryAfter(problem, status)
  const message = callerMessage(problem)
  const error = {
    type,
    code: problem.code,
    message,
    request_id: requestId,
    ...(problem.param !== undefined && { param: problem.param }),
    ...(problem.limitSource && { limit_source: problem.limitSource }),
    ...(wait !== null && { retry_after: wait }),
    ...(problem.price !== undefined && {
      price: { mode: 'fixed', currency: 'USD', amount: formatUsd(problem.price) },
    }),
    ...(problem.details && { details: problem.details }),
  }
  if (isAnthropicPath(path)) return { type: 'error', error }
  if (isGooglePath(path))
    return {
      error: {
        code: status,
        message,
        status: googleStatus(status),
        type,
        request_id: requestId,
        details: [
          { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: problem.code, domain: 'gateway' },
          ...(problem.details
            ? [
                {
                  '@type': 'type.googleapis.com/google.rpc.BadRequest',
                  fieldViolations: problem.details.map(({ param, rule }) => ({ field: param, description: rule })),
                },
              ]
            : []),
          ...(wait === null ? [] : [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${wait}s` }]),
        ],
      },
    }
  return { error }
}

function retryAfter(problem: Failure, status: number): number | null {
  const promises = status === 429 || WAIT.has(problem.code)
  return problem.retryAfterSeconds ?? (promises ? DEFAULT_RETRY_AFTER : null)
}

/** Failures of a key that the caller sent. */
const BEARER_ERRORS: ReadonlySet<FailureCode> = new Set([
  'invalid_api_key',
  'api_key_disabled',
  'expired_api_key',
  'recharge_required',
  'insufficient_api_key_balance',
  'insufficient_balance',
])

/** Failures of the dashboard's session, which no `Authorization` header can fix. */
export const SESSION_FAILURES: ReadonlySet<FailureCode> = new Set(['missing_session', 'recent_sign_in_required'])

/** Says how to authenticate and, if a key was sent, what is wrong with it (spec D2). */
function setChallenge(headers: Headers, problem: Failure): void {
  const bare = !BEARER_ERRORS.has(problem.code)
  for (const challenge of problem.offers?.challenges ?? []) headers.append('www-authenticate', challenge)
  headers.append('www-authenticate', `Bearer realm="gateway"${bare ? '' : `, error="${problem.code}"`}`)
}

/** Whether a new access token would help: always on the MCP server, elsewhere only if a token was sent. */
function asksForToken(problem: Failure, path: string): boolean {
  const { code } = problem
  if (code === 'invalid_token' || missingScope(problem) !== null) return true
  return audienceOf(path) === '/mcp' && FAILURES[code].status === 401
}

/** The scope of ours that an app lacks. A social network's own scopes are not for this server to grant. */
function missingScope({ code, param }: Failure): Scope | null {
  return code === 'insufficient_scope' ? (SCOPES.find((scope) => scope === param) ?? null) : null
}

/** Points an app to the authorization server and the scopes to request (RFC 6750 3, RFC 9728 5.1). */
function tokenChallenge(problem: Failure, path: string, { origin, scope: needed }: TokenSource): string {
  const { code } = problem
  const resource = audienceOf(path)
  const scope = missingScope(problem) ?? (needed === null ? FIRST_SCOPES : `${needed} offline_access`)
  const parts = [
    'Bearer realm="gateway"',
    `resource_metadata="${origin}/.well-known/oauth-protected-resource${resource}"`,
    `scope="${scope}"`,
  ]
  if (code === 'insufficient_scope') parts.push('error="insufficient_scope"')
  else if (code !== 'missing_api_key') parts.push('error="invalid_token"')
  return parts.join(', ')
}

/** The initial scopes of an agent. Without `offline_access` an app would have to ask again within an hour. */
const FIRST_SCOPES = 'data:read usage:read offline_access'

function googleStatus(status: number): string {
  const names: Readonly<Record<number, string>> = {
    400: 'INVALID_ARGUMENT',
    401: 'UNAUTHENTICATED',
    402: 'FAILED_PRECONDITION',
    403: 'PERMISSION_DENIED',
    404: 'NOT_FOUND',
    408: 'DEADLINE_EXCEEDED',
    409: 'ABORTED',
    429: 'RESOURCE_EXHAUSTED',
    503: 'UNAVAILABLE',
    504: 'DEADLINE_EXCEEDED',
  }
  return names[status] ?? (status < 500 ? 'FAILED_PRECONDITION' : 'INTERNAL')
}
