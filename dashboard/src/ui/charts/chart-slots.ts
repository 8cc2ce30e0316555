import type { ChartSlot } from './stacked-bars.tsx'

interface Bucket {
  readonly start_time: number
  readonly end_time: number
}

/**
 * Converts the buckets of a report into chart slots. `values` returns the value of each series in a bucket. The labels are in the reader's
 * time zone, unless `zone` is given.
 */
export function chartSlots(
  buckets: readonly Bucket[],
  values: (at: number) => readonly number[],
  nowMs: number,
  zone?: string,
): readonly ChartSlot[] {
  const seconds = (buckets[0]?.end_time ?? 0) - (buckets[0]?.start_time ?? 0)
  const form = seconds > 3_600 ? DAYS : seconds <= 60 ? MINUTES : buckets.length > 24 ? HOURS_OF_DAYS : HOURS
  const format = new Intl.DateTimeFormat('en-GB', { ...form, timeZone: zone })
  return buckets.map(({ start_time: start, end_time: end }, at) => ({
    key: start,
    label: format.format(start * 1000),
    values: values(at),
    running: end * 1000 > nowMs && start * 1000 <= nowMs,
  }))
}

const CLOCK = { hour: '2-digit', minute: '2-digit' } as const
const DATE = { day: 'numeric', month: 'short' } as const
/** The labels of slots, by their length. */
const MINUTES: Intl.DateTimeFormatOptions = CLOCK
const HOURS: Intl.DateTimeFormatOptions = { weekday: 'short', ...CLOCK }
const HOURS_OF_DAYS: Intl.DateTimeFormatOptions = { ...DATE, ...CLOCK }
const DAYS: Intl.DateTimeFormatOptions = DATE
