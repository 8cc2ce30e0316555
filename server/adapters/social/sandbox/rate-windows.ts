import { MINUTE_MS } from '../../../core/clock'

const WINDOW_MS = 15 * MINUTE_MS

/** Requests per user and route in windows of 15 minutes, with the real network's headers. In memory: a restart resets them. */
export class RateWindows {
  private readonly now: () => number
  private readonly used = new Map<string, { start: number; count: number }>()

  constructor(now: () => number) {
    this.now = now
  }

  /** Counts one request. `over` when it exceeds the limit; `exhaust` uses up the window, as if many requests had come before. */
  count(
    user: string,
    route: string,
    limit: number,
    exhaust: boolean,
  ): { over: boolean; headers: Record<string, string> } {
    const start = Math.floor(this.now() / WINDOW_MS) * WINDOW_MS
    const name = `${user} ${route}`
    const before = this.used.get(name)
    const count = (before?.start === start ? before.count : 0) + 1
    this.used.set(name, { start, count: exhaust ? (before?.count ?? 0) : count })
    const over = exhaust || count > limit
    return {
      over,
      headers: {
        'x-rate-limit-limit': String(limit),
        'x-rate-limit-remaining': String(over ? 0 : limit - count),
        'x-rate-limit-reset': String((start + WINDOW_MS) / 1000),
      },
    }
  }
}
