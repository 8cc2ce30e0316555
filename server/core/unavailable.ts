/**
 * Whether an exception, or what caused it, says that something of ours cannot answer now (`unavailable: true`), as opposed to
 * a bug. Callers are told 503 and may try again.
 */
export function isUnavailable(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ('unavailable' in cause && cause.unavailable === true) return true
  return false
}
