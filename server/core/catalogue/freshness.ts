/** A span of time as ISO timestamps in UTC: `from` is in it, `before` is not. */
export interface FreshnessWindow {
  readonly from: string
  readonly before: string
}

const DAY_MS = 86_400_000
const DAYS: Readonly<Record<string, number>> = { pd: 1, pw: 7, pm: 31, py: 365 }
/** Clocks differ: what says it was published a little later than now is new. */
const AHEAD_MS = DAY_MS

/** When a page must have been published, of a `freshness` that was judged (spec 4.2). The last day of a range is in it, whole. */
export function freshnessWindow(freshness: string, nowMs: number): FreshnessWindow {
  const days = DAYS[freshness]
  if (days !== undefined)
    return { from: new Date(nowMs - days * DAY_MS).toISOString(), before: new Date(nowMs + AHEAD_MS).toISOString() }
  const [first = '', last = ''] = freshness.split('to')
  const end = new Date(`${last}T00:00:00.000Z`).getTime() + DAY_MS
  return { from: new Date(`${first}T00:00:00.000Z`).toISOString(), before: new Date(end).toISOString() }
}

export function isRange(freshness: string): boolean {
  return DAYS[freshness] === undefined
}
