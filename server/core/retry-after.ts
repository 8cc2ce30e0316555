/** The seconds that `Retry-After` says, as a number or as a date (RFC 9110 10.2.3), or null if it says none. Never negative. */
export function retryAfterSeconds(text: string | null, now = Date.now()): number | null {
  if (text === null || text.trim() === '') return null
  const seconds = /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : (Date.parse(text) - now) / 1000
  return Number.isFinite(seconds) ? Math.max(0, seconds) : null
}
