import type { FailureCode } from '../../core/failure'

/** Failures of every route that takes a key, including free ones. */
export const KEY_FAILURES: readonly FailureCode[] = [
  'missing_api_key',
  'invalid_api_key',
  'api_key_disabled',
  'expired_api_key',
  'ip_not_allowed',
  'account_suspended',
  'rate_limit_exceeded',
  'internal_error',
  'service_unavailable',
]
