/** The shape of an RFC 3339 time; `parseInstant` also asks whether there is such a day. */
export const RFC_3339 = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$/

/** An RFC 3339 time in milliseconds, or null. `Date.parse` alone takes the 30th of February for the 2nd of March. */
export function parseInstant(text: string): number | null {
  const day = RFC_3339.test(text) ? new Date(`${text.slice(0, 10)}T00:00:00Z`) : null
  if (!day || Number.isNaN(day.getTime()) || day.toISOString().slice(0, 10) !== text.slice(0, 10)) return null
  const at = Date.parse(text)
  return Number.isNaN(at) ? null : at
}
