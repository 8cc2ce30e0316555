import type { FailureCode } from '../../core/failure'

/** The failures of a key that was sent. */
export const KEY_REFUSALS: readonly FailureCode[] = [
  'invalid_api_key',
  'api_key_disabled',
  'expired_api_key',
  'ip_not_allowed',
  'account_suspended',
]

/** Failures of every route that takes a key, including free ones. */
export const KEY_FAILURES: readonly FailureCode[] = [
  'missing_api_key',
  ...KEY_REFUSALS,
  'rate_limit_exceeded',
  'internal_error',
  'service_unavailable',
]
