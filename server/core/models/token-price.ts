import { type Money, micros } from '../money'
import type { ChargeLine } from '../usage/call-record'
import type { ModelTokens } from './model-tokens'

/** The price of a million tokens of each kind. Zero is a valid price; a model without a price is refused (spec D8). */
export interface TokenPrice {
  /** Input that was neither read from nor written to a cache. */
  readonly input: Money
  readonly output: Money
  readonly cacheRead: Money
  readonly cacheWrite: Money
  /** Input that is cached for an hour instead of minutes. Absent where it costs the same as `cacheWrite`. */
  readonly cacheWriteHour?: Money
}

const MILLION = 1_000_000 as const

/** The charge lines of a metered call, one for each kind of token that it used. */
export function tokenLines(price: TokenPrice, tokens: ModelTokens): ChargeLine[] {
  const plain = tokens.input - tokens.cacheRead - tokens.cacheWrite
  const hour = price.cacheWriteHour === undefined ? 0 : (tokens.hourWrite ?? 0)
  const lines: ChargeLine[] = []
  addLine(lines, 'input_tokens', plain, price.input)
  addLine(lines, 'cache_read_tokens', tokens.cacheRead, price.cacheRead)
  addLine(lines, 'cache_write_tokens', tokens.cacheWrite - hour, price.cacheWrite)
  addLine(lines, 'cache_write_1h_tokens', hour, price.cacheWriteHour ?? price.cacheWrite)
  addLine(lines, 'output_tokens', tokens.output, price.output)
  return lines
}

function addLine(lines: ChargeLine[], item: string, units: number, unitPrice: Money): void {
  if (units > 0) lines.push({ item, units, unitPrice, per: MILLION })
}

/** The exact sum of all lines, rounded up once to a whole micro-USD (spec D1). Plain integers are exact up to 2^53, and make no objects. */
export function costOfLines(lines: readonly ChargeLine[]): Money {
  let millionths = 0
  for (const { units, unitPrice, per } of lines) millionths += units * unitPrice * (MILLION / per)
  // No line is negative, so a product or sum that was too large to be exact makes the whole sum too large.
  return Number.isSafeInteger(millionths + MILLION) ? roundedUp(millionths) : costOfLargeLines(lines)
}

function roundedUp(millionths: number): Money {
  const rest = millionths % MILLION
  return micros((millionths - rest) / MILLION + (rest > 0 ? 1 : 0))
}

function costOfLargeLines(lines: readonly ChargeLine[]): Money {
  let millionths = 0n
  for (const { units, unitPrice, per } of lines) millionths += BigInt(units) * BigInt(unitPrice) * BigInt(MILLION / per)
  return micros(Number((millionths + BigInt(MILLION - 1)) / BigInt(MILLION)))
}

/** The maximum cost of a number of tokens, whatever is cached. `hourCache`: input may be cached for an hour. */
export function maxTokenCost(
  price: TokenPrice,
  bounds: { readonly input: number; readonly output: number; readonly hourCache?: boolean },
): Money {
  const hour = bounds.hourCache ? (price.cacheWriteHour ?? 0) : 0
  const dearest = Math.max(price.input, price.cacheRead, price.cacheWrite, hour)
  const millionths = bounds.input * dearest + bounds.output * price.output
  if (Number.isSafeInteger(millionths + MILLION)) return roundedUp(millionths)
  return costOfLargeLines([
    { item: 'input_tokens', units: bounds.input, unitPrice: micros(dearest), per: MILLION },
    { item: 'output_tokens', units: bounds.output, unitPrice: price.output, per: MILLION },
  ])
}
