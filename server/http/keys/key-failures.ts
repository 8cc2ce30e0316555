import type { FailureCode } from '../../core/failure'

/** What any route that takes a key can answer, a free one too. */
export const KEY_FAILURES: readonly FailureCode[] = [
  'missing_api_key',
  'invalid_api_key',
  'api_key_disabled',
  'expired_api_key',
  'ip_not_allowed',
  'rate_limit_exceeded',
  'internal_error',
  'service_unavailable',
]
