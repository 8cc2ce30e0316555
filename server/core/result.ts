/** The outcome of an operation that is expected to fail at times. Bugs and unreachable dependencies throw instead. */
export type Result<T, E> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: E }

export function ok<T>(value: T): { readonly ok: true; readonly value: T } {
  return { ok: true, value }
}

export function err<E>(error: E): { readonly ok: false; readonly error: E } {
  return { ok: false, error }
}

/**
 * An error in words for a log or a message. Of a query that failed it is the cause: the error itself has the whole statement and its values,
 * which may be somebody's.
 */
export function reasonOf(thrown: unknown): string {
  let at = thrown
  while (at instanceof Error && 'params' in at && at.cause instanceof Error) at = at.cause
  return at instanceof Error ? at.message : String(at)
}
