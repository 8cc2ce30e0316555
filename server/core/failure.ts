import type { ParameterError } from './catalog/parameters'
import type { Money } from './money'

/** Every error code of the gateway (spec 7, spec D2). http/middleware/response/failures.ts maps each one to its status and type. */
export type FailureCode =
  | 'missing_parameter'
  | 'invalid_parameter'
  | 'json_parse_error'
  | 'invalid_request'
  | 'missing_session'
  | 'recent_sign_in_required'
  | 'second_factor_required'
  | 'missing_api_key'
  | 'invalid_api_key'
  | 'invalid_token'
  | 'api_key_disabled'
  | 'expired_api_key'
  | 'payment_required'
  | 'malformed_credential'
  | 'invalid_challenge'
  | 'payment_expired'
  | 'invalid_payload'
  | 'verification_failed'
  | 'payment_in_progress'
  | 'idempotency_conflict'
  | 'answer_not_kept'
  | 'outcome_unknown'
  | 'payment_pending'
  | 'payment_network_unavailable'
  | 'insufficient_api_key_balance'
  | 'recharge_required'
  | 'insufficient_balance'
  | 'account_suspended'
  | 'account_under_review'
  | 'ip_not_allowed'
  | 'insufficient_permissions'
  | 'insufficient_scope'
  | 'social_session_required'
  | 'foreign_origin'
  | 'not_a_member'
  | 'model_not_allowed'
  | 'unknown_endpoint'
  | 'unknown_model'
  | 'model_route_not_supported'
  | 'max_tokens_exceeded'
  | 'unsupported_parameter'
  | 'resource_not_found'
  | 'method_not_allowed'
  | 'not_acceptable'
  | 'payload_too_large'
  | 'request_timeout'
  | 'unsupported_media_type'
  | 'invalid_state'
  | 'limit_reached'
  | 'estimated_price_exceeds_max_price'
  | 'rate_limit_exceeded'
  | 'upstream_rate_limit'
  | 'quota_exceeded'
  | 'internal_error'
  | 'service_unavailable'
  | 'upstream_error'
  | 'upstream_unavailable'
  | 'upstream_timeout'

/** Ways to pay for the request that was refused. */
export interface PaymentOffers {
  readonly challengeId: string | null
  /** Values of `WWW-Authenticate`, of the scheme `Payment`. */
  readonly challenges: readonly string[]
  /** The same offers for clients of other protocols. */
  readonly headers: Readonly<Record<string, string>>
  /** The same offers for clients that read the body: members next to `error`. */
  readonly body: Readonly<Record<string, unknown>>
}

/** The error that a caller sees when a call fails. Never contains a secret or an upstream address. */
export interface Failure {
  readonly code: FailureCode
  readonly message: string
  /** The caller is told that it was not charged. */
  readonly uncharged?: boolean
  readonly param?: string
  readonly details?: readonly ParameterError[]
  /** Whose limit was reached, on 429. */
  readonly limitSource?: 'key' | 'app' | 'account' | 'address' | 'upstream'
  readonly retryAfterSeconds?: number
  /** The rest of the request body is not read, so the connection closes after the response. */
  readonly closes?: true
  /** Allowed methods, on 405. */
  readonly allow?: readonly string[]
  /** The fixed price of the operation, on every 402 of a priced route. */
  readonly price?: Money
  /** Payment challenges of a 402 (spec 2.4). Never set while the outcome of a payment is unknown. */
  readonly offers?: PaymentOffers
  /** An upstream's own error response, forwarded unchanged. */
  readonly passThrough?: { readonly status: number; readonly contentType: string; readonly body: string }
}

export function failure(code: FailureCode, message: string, more: Omit<Failure, 'code' | 'message'> = {}): Failure {
  return { code, message, ...more }
}

/** The failure of a call for which nothing was charged. */
export function uncharged(code: FailureCode, message: string, more: Omit<Failure, 'code' | 'message'> = {}): Failure {
  return { code, message, uncharged: true, ...more }
}

/** The message of a failure as its caller gets it. */
export function callerMessage({ message, uncharged }: Failure): string {
  return uncharged ? `${message} You were not charged.` : message
}

/** Caps the listed parameter errors, so that a large invalid body does not produce a large response. */
const MAX_DETAILS = 100

/** Combines all parameter errors into one failure. The first error provides the code (spec D2). */
export function wrongParameters(errors: readonly ParameterError[]): Failure {
  const first = errors[0]
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more, see details)` : ''
  return {
    code: first?.code ?? 'invalid_parameter',
    message: first ? `${first.param} ${first.rule}${more}` : 'The input is not valid.',
    ...(first && { param: first.param }),
    details: errors.slice(0, MAX_DETAILS),
  }
}
