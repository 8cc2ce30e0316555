/** What one subject used: requests and tokens of the minute, and the places it holds now. */
export interface Usage {
  readonly requests: number
  readonly tokens: number
  readonly places: number
}

export const NOTHING: Usage = { requests: 0, tokens: 0, places: 0 }

export type Dimension = keyof Usage

const MINUTE_MS = 60_000

/** Fixed windows, aligned to the wall-clock minute (spec-answers 9). */
export function minuteOf(now: number): number {
  return Math.floor(now / MINUTE_MS)
}

/** When the window of `now` ends, UNIX seconds. */
export function resetSeconds(now: number): number {
  return (minuteOf(now) + 1) * 60
}

/** Seconds until the window ends, at least 1. */
export function secondsToReset(now: number): number {
  return Math.max(1, Math.ceil(((minuteOf(now) + 1) * MINUTE_MS - now) / 1000))
}
