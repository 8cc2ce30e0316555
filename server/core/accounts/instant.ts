/** The format of an RFC 3339 time. Only `parseInstant` checks that the day exists. */
export const RFC_3339 = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$/

/** Parses an RFC 3339 time to milliseconds, or null. `Date.parse` alone reads 30 February as 2 March. */
export function parseInstant(text: string): number | null {
  const day = RFC_3339.test(text) ? new Date(`${text.slice(0, 10)}T00:00:00Z`) : null
  if (!day || Number.isNaN(day.getTime()) || day.toISOString().slice(0, 10) !== text.slice(0, 10)) return null
  const at = Date.parse(text)
  return Number.isNaN(at) ? null : at
}
