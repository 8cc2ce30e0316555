export const SECOND_MS = 1000
export const MINUTE_MS = 60 * SECOND_MS
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/** The only source of time in the core, in milliseconds since the UNIX epoch. */
export interface Clock {
  now(): number
}

/** A time in milliseconds as ISO 8601 in UTC: `2026-01-31T12:00:00.000Z`. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}

/** Its UTC day: `2026-01-31`. */
export function isoDay(ms: number): string {
  return isoTime(ms).slice(0, 10)
}
