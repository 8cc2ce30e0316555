import type { FailureCode } from '../../core/failure'

/** Failures of every route that takes a body. */
export const BODY_FAILURES: readonly FailureCode[] = [
  'invalid_parameter',
  'json_parse_error',
  'invalid_request',
  'request_timeout',
  'payload_too_large',
  'unsupported_media_type',
]
