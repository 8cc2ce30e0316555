import type { FailureCode } from '../../core/failure'

/** Failures of every owner route. */
export const OWNER_FAILURES: readonly FailureCode[] = ['missing_session', 'internal_error', 'service_unavailable']

/** Failures of every owner route that writes. */
export const WRITE_FAILURES: readonly FailureCode[] = [...OWNER_FAILURES, 'foreign_origin']

/** Further failures of every route that takes a body. */
export const BODY_FAILURES: readonly FailureCode[] = [
  'invalid_parameter',
  'json_parse_error',
  'invalid_request',
  'request_timeout',
  'payload_too_large',
  'unsupported_media_type',
]
