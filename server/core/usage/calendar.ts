const HOUR_MS = 3_600_000

export type BucketWidth = '1h' | '1d'

/**
 * The boundaries of the hours or days of a time zone that cover `from` to `to`, the first at or before `from`, the last at or
 * after `to`. Days are as long as the zone's clock makes them: 23 or 25 hours at a change of daylight saving.
 */
export function boundaries(from: number, to: number, width: BucketWidth, timezone: string): number[] {
  const zone = new Zone(timezone)
  const list = [width === '1d' ? zone.dayStart(from) : zone.hourStart(from)]
  for (;;) {
    const last = list.at(-1) ?? from
    if (last >= to) return list
    list.push(width === '1d' ? zone.dayStart(last + 36 * HOUR_MS) : zone.hourStart(last + HOUR_MS))
  }
}

/** Whether the runtime knows the IANA time zone. */
export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone.length > 0
  } catch {
    return false
  }
}

class Zone {
  private readonly format: Intl.DateTimeFormat

  constructor(timezone: string) {
    this.format = new Intl.DateTimeFormat('en-US', {
      timeZone: timezone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    })
  }

  hourStart(at: number): number {
    const offset = this.offset(at)
    return Math.floor((at + offset) / HOUR_MS) * HOUR_MS - offset
  }

  /** The day's first midnight, or the first moment of the day where a change of the clock skips midnight. */
  dayStart(at: number): number {
    const offset = this.offset(at)
    const midnight = Math.floor((at + offset) / (24 * HOUR_MS)) * 24 * HOUR_MS
    const near = midnight - offset
    const candidates = [near - 3 * HOUR_MS, near, near + 3 * HOUR_MS].map((around) => midnight - this.offset(around))
    const midnights = candidates.filter((candidate) => candidate + this.offset(candidate) === midnight)
    return midnights.length > 0 ? Math.min(...midnights) : Math.max(...candidates)
  }

  /** How far the zone's clock is ahead of UTC at that moment, in milliseconds. */
  private offset(at: number): number {
    const parts: Record<string, number> = {}
    for (const { type, value } of this.format.formatToParts(at)) parts[type] = Number(value)
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1000) * 1000
  }
}
