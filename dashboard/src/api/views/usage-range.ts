/** A period in UNIX seconds, and its bucket width. */
export interface UsageSpan {
  readonly start: number
  readonly end: number
  readonly width: '1m' | '1h' | '1d'
}

export type RangeName = '1h' | '24h' | 'today' | 'yesterday' | '7d' | '30d' | 'month' | 'last_month' | '90d'

const MINUTE = 60
const HOUR = 3_600
const HOURS: Partial<Record<RangeName, number>> = { '24h': 24 }
const DAYS: Partial<Record<RangeName, number>> = { '7d': 7, '30d': 30, '90d': 90 }
/** More bars than this are hairlines. */
const MAX_HOURLY_SECONDS = 7 * 24 * HOUR + HOUR
const MIN_DAILY_SECONDS = 2 * 24 * HOUR - HOUR

/**
 * Ends with the current minute, hour or day, so that the query stays the same until the next one starts. Days are in the viewer's
 * time zone.
 */
export function spanOf(range: RangeName, nowMs: number): UsageSpan {
  if (range === '1h') {
    const end = (Math.floor(nowMs / 1000 / MINUTE) + 1) * MINUTE
    return { start: end - HOUR, end, width: '1m' }
  }
  const hours = HOURS[range]
  if (hours !== undefined) {
    const end = (Math.floor(nowMs / 1000 / HOUR) + 1) * HOUR
    return { start: end - hours * HOUR, end, width: '1h' }
  }
  if (range === 'today' || range === 'yesterday') {
    const day = range === 'today' ? 0 : -1
    return { start: midnight(nowMs, day), end: midnight(nowMs, day + 1), width: '1h' }
  }
  if (range === 'month') return { start: monthStart(nowMs, 0), end: midnight(nowMs, 1), width: '1d' }
  if (range === 'last_month') return { start: monthStart(nowMs, -1), end: monthStart(nowMs, 0), width: '1d' }
  return { start: midnight(nowMs, 1 - (DAYS[range] ?? 30)), end: midnight(nowMs, 1), width: '1d' }
}

function monthStart(nowMs: number, months: number): number {
  const day = new Date(nowMs)
  return Math.floor(new Date(day.getFullYear(), day.getMonth() + months, 1).getTime() / 1000)
}

/** Whole days, including both the first and the last. */
export function customSpan(from: string, to: string): UsageSpan {
  const [first, last] = [Date.parse(`${from}T00:00:00`), Date.parse(`${to}T00:00:00`)]
  return {
    start: Math.floor(first / 1000),
    end: midnight(last, 1),
    width: last - first >= 2 * 24 * HOUR * 1000 ? '1d' : '1h',
  }
}

/** The bucket widths that make a readable chart of a period. */
export function stepsOf({ start, end, width }: UsageSpan): readonly UsageSpan['width'][] {
  if (width === '1m') return ['1m']
  const seconds = end - start
  return [
    ...(seconds <= MAX_HOURLY_SECONDS ? (['1h'] as const) : []),
    ...(seconds >= MIN_DAILY_SECONDS ? (['1d'] as const) : []),
  ]
}

/** The preceding period of the same length: of as many days where the period is whole days, also if a clock changes in one of the two. */
export function spanBefore({ start, end, width }: UsageSpan): UsageSpan {
  const isWhole = [start, end].every((at) => midnight(at * 1000, 0) === at)
  const days = Math.round((end - start) / (24 * HOUR))
  return { start: isWhole ? midnight(start * 1000, -days) : start - (end - start), end: start, width }
}

/** The start of the viewer's day that is this many days after the day of `at`, in UNIX seconds. */
export function midnight(at: number, days: number): number {
  const day = new Date(at)
  day.setHours(0, 0, 0, 0)
  day.setDate(day.getDate() + days)
  return Math.floor(day.getTime() / 1000)
}
