/** Ends as `work` does, or rejects with `late()` after `maxMs` at the latest. The work itself goes on. */
export async function inTime<T>(work: Promise<T>, maxMs: number, late: () => Error): Promise<T> {
  const tooLate = Promise.withResolvers<never>()
  const timer = setTimeout(() => tooLate.reject(late()), maxMs)
  try {
    return await Promise.race([work, tooLate.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** What `work` gives; null if it fails, or takes longer than `maxMs`. The work itself goes on. */
export function inTimeOrNull<T>(work: Promise<T>, maxMs: number): Promise<T | null> {
  return inTime(work, maxMs, () => new Error('late')).catch(() => null)
}
