export const MICROS_PER_USD = 1_000_000

/** Made once: to make one takes much longer than to format with it. */
const GROUPED = new Intl.NumberFormat('en-US')

/** Formats a balance: cents, rounded down, so that it never shows more than there is. */
export function balanceUsd(micros: number): string {
  const cents = Math.floor(micros / 10_000)
  return `${cents < 0 ? '-' : ''}$${grouped(Math.floor(Math.abs(cents) / 100))}.${pad(Math.abs(cents) % 100, 2)}`
}

/** Formats a cost: cents, plus up to four more decimals if needed. */
export function costUsd(micros: number): string {
  const size = Math.abs(micros)
  const digits = pad(size % MICROS_PER_USD, 6).replace(/0{1,4}$/, '')
  return `${micros < 0 ? '-' : ''}$${grouped(Math.floor(size / MICROS_PER_USD))}.${digits}`
}

/** Parses an amount of USD into micro-USD; null unless it is an amount with at most two decimals. */
export function typedUsd(text: string): number | null {
  const match = /^\s*\$?(\d{1,7})(?:\.(\d{1,2}))?\s*$/.exec(text)
  if (!match) return null
  return Number(match[1]) * MICROS_PER_USD + Number((match[2] ?? '').padEnd(2, '0')) * 10_000
}

/** Parses an amount of USD into micro-USD; null unless it is an amount with at most six decimals. */
export function parseMicros(text: string): number | null {
  const match = /^\s*\$?(\d{1,9})(?:\.(\d{1,6}))?\s*$/.exec(text)
  if (!match) return null
  return Number(match[1]) * MICROS_PER_USD + Number((match[2] ?? '').padEnd(6, '0'))
}

const MAX_LIMIT_MICROS = 1_000_000 * MICROS_PER_USD

/** Parses a limit into USD; null unless the server accepts it: from 0.000001 to 1,000,000, with at most six decimals. */
export function limitUsd(text: string): number | null {
  const micros = parseMicros(text)
  return micros !== null && micros > 0 && micros <= MAX_LIMIT_MICROS ? micros / MICROS_PER_USD : null
}

/** An amount of USD of the API, with at most six decimals, in micro-USD. */
export function usdMicros(usd: number): number {
  return Math.round(usd * MICROS_PER_USD)
}

/** Formats a count: exact below a million, then in millions. Show the exact one next to it or as a title. */
export function shortCount(count: number): string {
  return count < 1_000_000 ? grouped(count) : `${tenth(count / 1_000_000)}M`
}

export function grouped(count: number): string {
  return GROUPED.format(count)
}

/** Formats a share as a percentage; a dash if the whole is 0. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return '-'
  const share = (part / whole) * 100
  return `${share > 0 && share < 10 ? share.toFixed(1) : Math.round(share)}%`
}

function tenth(value: number): string {
  return (Math.floor(value * 10) / 10).toFixed(1).replace(/\.0$/, '')
}

function pad(value: number, length: number): string {
  return String(value).padStart(length, '0')
}
