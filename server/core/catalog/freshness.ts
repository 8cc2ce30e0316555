import { DAY_MS, isoTime } from '../clock'

/** A time range as ISO timestamps in UTC. Includes `from`, excludes `before`. */
export interface FreshnessWindow {
  readonly from: string
  readonly before: string
}

const DAYS: Readonly<Record<string, number>> = { pd: 1, pw: 7, pm: 31, py: 365 }
/** Clocks differ: a page dated slightly in the future counts as new. */
const MAX_CLOCK_SKEW_MS = DAY_MS

/** The time range of a valid `freshness` value (spec 4.2). Includes the whole last day of a range. */
export function freshnessWindow(freshness: string, nowMs: number): FreshnessWindow {
  const days = DAYS[freshness]
  if (days !== undefined) return { from: isoTime(nowMs - days * DAY_MS), before: isoTime(nowMs + MAX_CLOCK_SKEW_MS) }
  const [first = '', last = ''] = freshness.split('to')
  return { from: isoTime(startOf(first)), before: isoTime(startOf(last) + DAY_MS) }
}

export function isRange(freshness: string): boolean {
  return DAYS[freshness] === undefined
}

function startOf(day: string): number {
  return Date.parse(`${day}T00:00:00.000Z`)
}
