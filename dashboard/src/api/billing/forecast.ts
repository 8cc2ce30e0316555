import { useQuery } from '@tanstack/react-query'
import { usageQuery, VIEWER_TIME_ZONE } from '../usage.ts'

/** The pace is the spend of a week, and known after three days of use. */
export const FORECAST_DAYS = 7
export const MIN_DAYS = 3
const DAY_SECONDS = 86_400
/** Further ahead a date says nothing. */
const MAX_DAYS_AHEAD = 365

/** How long a balance lasts if every day costs what an average one did. */
export type Forecast =
  /** Nothing was spent in the last week. */
  | { readonly kind: 'idle' }
  /** The first spend is too recent. */
  | { readonly kind: 'early'; readonly spentMicros: number }
  | {
      readonly kind: 'known'
      /** UNIX milliseconds; null if it is more than a year ahead. */
      readonly until: number | null
      readonly microsPerDay: number
      /** The days that the average is of. */
      readonly days: number
    }

/** The forecast for what is available now; undefined until the spend of the week is known. */
export function useForecast(availableMicros: number | undefined): Forecast | undefined {
  // Rounded to whole hours, so that the query stays the same while the page is open.
  const end = Math.ceil(Date.now() / 3_600_000) * 3600
  const params = {
    start_time: end - FORECAST_DAYS * DAY_SECONDS,
    end_time: end,
    bucket_width: '1h',
    timezone: VIEWER_TIME_ZONE,
  } as const
  const usage = useQuery(usageQuery(params)).data
  if (availableMicros === undefined || !usage) return undefined
  const first = usage.buckets.find((bucket) => bucket.charged_micros_usd > 0)
  if (!first) return { kind: 'idle' }
  const spentMicros = usage.totals.charged_micros_usd
  const days = (end - first.start_time) / DAY_SECONDS
  if (days < MIN_DAYS) return { kind: 'early', spentMicros }
  const microsPerDay = spentMicros / days
  const left = Math.max(0, availableMicros) / microsPerDay
  const until = left > MAX_DAYS_AHEAD ? null : (end + left * DAY_SECONDS) * 1000
  return { kind: 'known', until, microsPerDay, days: Math.round(days) }
}
