import { MINUTE_MS } from '../clock'
/** The usage of a subject: requests and tokens in the current minute, and concurrency slots. */
export interface WindowUsage {
  readonly requests: number
  readonly tokens: number
  readonly slots: number
}

export const NOTHING: WindowUsage = { requests: 0, tokens: 0, slots: 0 }

export type Dimension = keyof WindowUsage

/** The number of the window. Windows are aligned to the wall-clock minute (spec D9). */
export function minuteOf(now: number): number {
  return Math.floor(now / MINUTE_MS)
}

/** When the window of `now` ends, in UNIX seconds. */
export function resetSeconds(now: number): number {
  return (minuteOf(now) + 1) * 60
}

/** Seconds until the window ends, at least 1. */
export function secondsToReset(now: number): number {
  return Math.max(1, Math.ceil(((minuteOf(now) + 1) * MINUTE_MS - now) / 1000))
}
