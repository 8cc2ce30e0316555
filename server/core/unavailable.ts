/**
 * Whether an error, or one of its causes, means that a dependency of ours cannot answer now (`unavailable: true`), as opposed
 * to a bug. Callers get 503 and may try again.
 */
export function isUnavailable(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ('unavailable' in cause && cause.unavailable === true) return true
  return false
}
