import { type Clock, HOUR_MS } from '../core/clock'
import { formatUsd, type Money, micros, ZERO } from '../core/money'

/** Far above what vendors that count more than they say cost an honest worker. */
export const MAX_OVERRUNS: Money = micros(100_000_000)
const WINDOW_MS = HOUR_MS

/** What is wrong with a worker whose overruns are more than its window has room for. */
export const TOO_MANY_OVERRUNS = `it reported overruns of more than ${formatUsd(MAX_OVERRUNS)} USD within an hour`

/** Bounds what the gateway bears above the holds of a worker's calls, because that is only the worker's word. */
export class Overruns {
  private readonly clock: Clock
  private readonly onTooMany: (worker: string) => void
  private readonly windows = new Map<string, { readonly since: number; left: Money; isOver: boolean }>()

  /** `onTooMany`: called once in a window of a worker. */
  constructor(clock: Clock, onTooMany: (worker: string) => void) {
    this.clock = clock
    this.onTooMany = onTooMany
  }

  /**
   * Books an overrun that a worker reports. Returns how much of it the gateway bears: what is left of the worker's window, but never nothing, so that
   * an operation whose upstream takes more than its maximum is closed all the same.
   */
  bear(worker: string, overrun: Money): Money {
    if (overrun === ZERO) return ZERO
    const now = this.clock.now()
    let window = this.windows.get(worker)
    if (!window || now - window.since >= WINDOW_MS) {
      window = { since: now, left: MAX_OVERRUNS, isOver: false }
      this.windows.set(worker, window)
    }
    const borne = micros(Math.min(overrun, Math.max(1, window.left)))
    window.left = micros(Math.max(0, window.left - borne))
    if (borne < overrun && !window.isOver) {
      window.isOver = true
      this.onTooMany(worker)
    }
    return borne
  }
}
