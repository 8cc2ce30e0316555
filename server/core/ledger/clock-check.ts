import { DAY_MS, isoTime, MINUTE_MS } from '../clock'

/** Clocks are corrected by seconds. */
const MAX_BEHIND_MS = 5 * MINUTE_MS
/** A gateway may be off, or unused, for a while. */
const MAX_AHEAD_MS = 90 * DAY_MS

/** When the data was last written to; null where nothing was. */
export interface LastTimes {
  /** The last entry of the ledger. */
  readonly entry: number | null
  /** The last entry of the audit log. */
  readonly audit: number | null
}

/**
 * Why the clock of this machine is not believed; null if it is. With a wrong one, budgets and limits count in the wrong period, credentials live
 * too long or not at all, and old rows are removed that are not old.
 */
export function clockProblem(now: number, { entry, audit }: LastTimes): string | null {
  const last = Math.max(entry ?? 0, audit ?? 0)
  const is = `the clock of this machine says ${isoTime(now)}`
  const what = 'Correct the clock; if it is right, start once with --accept-clock'
  if (entry !== null && entry - now > MAX_BEHIND_MS)
    return `${is}, before the last entry of the ledger (${isoTime(entry)}). ${what}`
  if (last > 0 && now - last > MAX_AHEAD_MS)
    return `${is}, ${Math.floor((now - last) / DAY_MS)} days after the last change of the data (${isoTime(last)}). ${what}`
  return null
}

/** Throws if the clock is not believed. */
export function assertClock(now: number, last: LastTimes): void {
  const problem = clockProblem(now, last)
  if (problem !== null) throw new Error(problem)
}
