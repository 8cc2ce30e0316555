import type { FailureCode } from '../../core/failure'

/** Failures of a body that is not read as JSON. */
export const JSON_FAILURES: readonly FailureCode[] = [
  'json_parse_error',
  'invalid_request',
  'request_timeout',
  'payload_too_large',
  'unsupported_media_type',
]

/** Failures of every route that takes a body. */
export const BODY_FAILURES: readonly FailureCode[] = ['invalid_parameter', ...JSON_FAILURES]

/** Failures of a payment that comes with the request. */
export const PAYMENT_FAILURES: readonly FailureCode[] = [
  'payment_required',
  'malformed_credential',
  'invalid_challenge',
  'payment_expired',
  'invalid_payload',
  'verification_failed',
]
