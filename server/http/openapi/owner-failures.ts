import type { FailureCode } from '../../core/failure'

/** What any owner's route can answer. */
export const OWNER_FAILURES: readonly FailureCode[] = ['missing_session', 'internal_error', 'service_unavailable']

/** What any write of an owner can answer beside that. */
export const WRITE_FAILURES: readonly FailureCode[] = [...OWNER_FAILURES, 'foreign_origin']

/** What any body can answer beside that. */
export const BODY_FAILURES: readonly FailureCode[] = [
  'invalid_parameter',
  'json_parse_error',
  'invalid_request',
  'request_timeout',
  'payload_too_large',
  'unsupported_media_type',
]
