import type { Clock } from '../../../core/clock'

export interface AttemptWindows {
  /**
   * Counts one attempt against `key` and reports whether it is allowed, in one synchronous step. A refused attempt is not
   * counted. `retryAfter` is the number of whole seconds until the next attempt is allowed.
   */
  take(key: string, rule: { window: number; max: number }): { allowed: boolean; retryAfter: number | null }
}

interface Window {
  endsAt: number
  count: number
}

const MAX_KEYS = 50_000

/**
 * Windows that open with the first attempt and close `window` seconds later, in this process's memory. The library's own
 * memory store moves the window with every attempt, so that a steady caller under the limit is refused in the end, walks
 * over all keys at every request, and is shared by all instances. Memory is bounded: over the bound the oldest go first.
 */
export function openAttemptWindows(clock: Clock): AttemptWindows {
  const windows = new Map<string, Window>()
  return {
    take(key, rule) {
      const now = clock.now()
      const open = windows.get(key)
      if (open === undefined || now >= open.endsAt) {
        windows.delete(key)
        if (windows.size >= MAX_KEYS) dropOldest(windows, now)
        windows.set(key, { endsAt: now + rule.window * 1000, count: 1 })
        return { allowed: true, retryAfter: null }
      }
      if (open.count >= rule.max) {
        return { allowed: false, retryAfter: Math.max(1, Math.ceil((open.endsAt - now) / 1000)) }
      }
      open.count++
      return { allowed: true, retryAfter: null }
    },
  }
}

/** Drops expired windows or, if there are none, the oldest tenth, so that the scan is rare. */
function dropOldest(windows: Map<string, Window>, now: number): void {
  for (const [key, window] of windows) if (now >= window.endsAt) windows.delete(key)
  let surplus = windows.size - Math.floor(MAX_KEYS * 0.9)
  for (const key of windows.keys()) {
    if (surplus-- <= 0) return
    windows.delete(key)
  }
}
