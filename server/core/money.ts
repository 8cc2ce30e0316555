/**
 * An amount of money as an integer number of micro-USD (1 USD = 1,000,000), branded so that no other number passes for one.
 * Exact up to 2^53 micro-USD, about nine billion dollars (spec D1).
 */
export type Money = number & { readonly __money: unique symbol }

export const MICROS_PER_USD = 1_000_000

/** Brands an integer number of micro-USD. Throws on a fraction or an unsafe integer, which is always a bug and never input. */
export function micros(value: number): Money {
  if (!Number.isSafeInteger(value)) throw new RangeError(`not a whole number of micro-USD: ${value}`)
  return value as Money
}

export const ZERO = micros(0)

export function plus(a: Money, b: Money): Money {
  return micros(a + b)
}

export function minus(a: Money, b: Money): Money {
  return micros(a - b)
}

/** The price of several units. */
export function times(price: Money, units: number): Money {
  return micros(price * units)
}

export function min(a: Money, b: Money): Money {
  return a < b ? a : b
}

/** Parses a decimal amount of USD such as `0.005`. Returns null for anything else, including more than six decimals. */
export function parseUsd(text: string): Money | null {
  const match = /^(\d{1,10})(?:\.(\d{1,6}))?$/.exec(text)
  if (!match) return null
  const value = Number(match[1]) * MICROS_PER_USD + Number((match[2] ?? '').padEnd(6, '0'))
  return Number.isSafeInteger(value) ? micros(value) : null
}

/** Formats USD as the shortest exact decimal: `0.005`, `2`, `0.000001`. */
export function formatUsd(amount: Money): string {
  const sign = amount < 0 ? '-' : ''
  const whole = Math.floor(Math.abs(amount) / MICROS_PER_USD)
  const rest = (Math.abs(amount) % MICROS_PER_USD).toString().padStart(6, '0').replace(/0+$/, '')
  return `${sign}${whole}${rest && `.${rest}`}`
}

/** USD as a JSON number, for `spending_limit`, the only wire field that is a number of dollars. */
export function toUsdNumber(amount: Money): number {
  // Division is rounded to the nearest number, as reading the decimal would be.
  return amount / MICROS_PER_USD
}

/** Reads a JSON number of USD. Returns null when it is negative, not finite, too large, or has more than six decimals. */
export function fromUsdNumber(usd: number): Money | null {
  if (!Number.isFinite(usd) || usd < 0 || usd > 9_000_000_000) return null
  const value = Math.round(usd * MICROS_PER_USD)
  return value / MICROS_PER_USD === usd ? micros(value) : null
}
