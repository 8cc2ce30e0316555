import type { ChartSlot } from './stacked-bars.tsx'

interface Bucket {
  readonly start_time: number
  readonly end_time: number
}

/** Slots of a chart out of buckets of a report. `values` gives what each series has in the bucket of that place. */
export function chartSlots(
  buckets: readonly Bucket[],
  values: (at: number) => readonly number[],
  nowMs: number,
): readonly ChartSlot[] {
  const hourly = (buckets[0]?.end_time ?? 0) - (buckets[0]?.start_time ?? 0) <= 3_600
  const severalDays = hourly && buckets.length > 24
  return buckets.map(({ start_time: start, end_time: end }, at) => ({
    key: start,
    label: slotLabel(start * 1000, hourly, severalDays),
    values: values(at),
    running: end * 1000 > nowMs && start * 1000 <= nowMs,
  }))
}

function slotLabel(at: number, hourly: boolean, severalDays: boolean): string {
  const day = { day: 'numeric', month: 'short' } as const
  const hour = { hour: '2-digit', minute: '2-digit' } as const
  return new Date(at).toLocaleString(
    'en-GB',
    hourly ? (severalDays ? { ...day, ...hour } : { weekday: 'short', ...hour }) : day,
  )
}
