import { DAY_MS, HOUR_MS, MINUTE_MS } from '../clock'

export type BucketWidth = '1m' | '1h' | '1d'

/**
 * The boundaries of the minutes, hours or days of a time zone from `from` to `to`. The first is at or before `from`, the last at or
 * after `to`. Days have 23 or 25 hours when daylight saving time starts or ends.
 */
export function boundaries(from: number, to: number, width: BucketWidth, timezone: string): number[] {
  const zone = zoneNamed(timezone)
  const { first, next } = STEPS[width](zone)
  const list = [first(from)]
  for (;;) {
    const last = list.at(-1) ?? from
    if (last >= to) return list
    list.push(next(last))
  }
}

/**
 * The day, week (from Monday) or month of a time zone that contains `at`. `end` is the start of the next one. Its length follows the
 * zone's daylight saving time.
 */
export function periodAround(
  at: number,
  period: 'day' | 'week' | 'month',
  timezone: string,
): { readonly start: number; readonly end: number } {
  const zone = zoneNamed(timezone)
  const today = zone.dayNumber(at)
  if (period === 'day') return { start: zone.startOf(today), end: zone.startOf(today + 1) }
  if (period === 'week') {
    // Day 0, 1970-01-01, was a Thursday.
    const monday = today - ((today + 3) % 7)
    return { start: zone.startOf(monday), end: zone.startOf(monday + 7) }
  }
  const date = new Date(today * DAY_MS)
  const first = (ahead: number) => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + ahead, 1) / DAY_MS
  return { start: zone.startOf(first(0)), end: zone.startOf(first(1)) }
}

interface Steps {
  readonly first: (from: number) => number
  readonly next: (last: number) => number
}

/** Zones differ by whole minutes, so a minute starts everywhere at the same time. */
const STEPS: Readonly<Record<BucketWidth, (zone: Zone) => Steps>> = {
  '1m': () => ({ first: (from) => Math.floor(from / MINUTE_MS) * MINUTE_MS, next: (last) => last + MINUTE_MS }),
  '1h': (zone) => ({ first: (from) => zone.hourStart(from), next: (last) => zone.hourStart(last + HOUR_MS) }),
  '1d': (zone) => ({ first: (from) => zone.dayStart(from), next: (last) => zone.dayStart(last + 36 * HOUR_MS) }),
}

/** Whether the runtime knows the IANA time zone. */
export function isTimeZone(name: string): boolean {
  try {
    zoneNamed(name)
    return true
  } catch {
    return false
  }
}

const MAX_ZONES = 64
const zones = new Map<string, Zone>()

/** Throws for a name that the runtime does not know. */
function zoneNamed(name: string): Zone {
  const known = zones.get(name)
  if (known) return known
  const zone = new Zone(name)
  for (const oldest of zones.keys()) if (zones.size >= MAX_ZONES) zones.delete(oldest)
  zones.set(name, zone)
  return zone
}

/** No zone changes its clock twice within this time. */
const STRETCH_MS = 8 * DAY_MS
/** Some ten years. */
const MAX_STRETCHES = 512

class Zone {
  private readonly format: Intl.DateTimeFormat
  /** The offset at the beginning of a stretch of time. Asking `Intl` takes 10 µs, and a report of a year needs 3,000 offsets. */
  private readonly offsets = new Map<number, number>()
  /** When the offset changes within a stretch. */
  private readonly changes = new Map<number, number>()

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

  dayStart(at: number): number {
    return this.startOf(this.dayNumber(at))
  }

  /** The local date, in days since 1970-01-01. */
  dayNumber(at: number): number {
    return Math.floor((at + this.offset(at)) / DAY_MS)
  }

  /** The first midnight of the day, or its first moment if the clocks skip midnight. */
  startOf(day: number): number {
    const midnight = day * DAY_MS
    const near = midnight - this.offset(midnight)
    const candidates = [near - 3 * HOUR_MS, near, near + 3 * HOUR_MS].map((around) => midnight - this.offset(around))
    const midnights = candidates.filter((candidate) => candidate + this.offset(candidate) === midnight)
    return midnights.length > 0 ? Math.min(...midnights) : Math.max(...candidates)
  }

  /** The zone's offset from UTC at that moment, in milliseconds. */
  private offset(at: number): number {
    const stretch = Math.floor(at / STRETCH_MS)
    const before = this.offsetAtStart(stretch)
    const after = this.offsetAtStart(stretch + 1)
    return before === after || at < this.changeIn(stretch, before) ? before : after
  }

  private offsetAtStart(stretch: number): number {
    const known = this.offsets.get(stretch)
    if (known !== undefined) return known
    if (this.offsets.size >= MAX_STRETCHES) this.offsets.clear()
    const offset = this.askedOffset(stretch * STRETCH_MS)
    this.offsets.set(stretch, offset)
    return offset
  }

  /** The first second of a stretch whose offset is not `before`. */
  private changeIn(stretch: number, before: number): number {
    const known = this.changes.get(stretch)
    if (known !== undefined) return known
    if (this.changes.size >= MAX_STRETCHES) this.changes.clear()
    let low = stretch * STRETCH_MS
    let high = low + STRETCH_MS
    while (high - low > 1000) {
      const middle = Math.floor((low + high) / 2000) * 1000
      if (this.askedOffset(middle) === before) low = middle
      else high = middle
    }
    this.changes.set(stretch, high)
    return high
  }

  private askedOffset(at: number): number {
    const parts: Record<string, number> = {}
    for (const { type, value } of this.format.formatToParts(at)) parts[type] = Number(value)
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1000) * 1000
  }
}
