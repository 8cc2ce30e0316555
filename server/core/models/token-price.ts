import { type Money, micros } from '../money'
import type { ChargeLine } from '../usage/call-record'
import type { ModelTokens } from './model-tokens'

/** What a million tokens of each kind cost, in micro-USD. Zero is a price; a model without one is refused (spec-answers 8). */
export interface TokenPrice {
  /** Input that was neither read from nor written to a cache. */
  readonly input: Money
  readonly output: Money
  readonly cacheRead: Money
  readonly cacheWrite: Money
  /** Input that a cache keeps for an hour, not for minutes; absent where that costs as `cacheWrite` does. */
  readonly cacheWriteHour?: Money
}

const MILLION = 1_000_000 as const

/** What a metered call is charged for, one line per kind of token that there was. */
export function tokenLines(price: TokenPrice, tokens: ModelTokens): ChargeLine[] {
  const line = (item: string, units: number, unitPrice: Money): ChargeLine => ({ item, units, unitPrice, per: MILLION })
  const plain = tokens.input - tokens.cacheRead - tokens.cacheWrite
  const hour = price.cacheWriteHour === undefined ? 0 : (tokens.hourWrite ?? 0)
  return [
    line('input_tokens', plain, price.input),
    line('cache_read_tokens', tokens.cacheRead, price.cacheRead),
    line('cache_write_tokens', tokens.cacheWrite - hour, price.cacheWrite),
    line('cache_write_1h_tokens', hour, price.cacheWriteHour ?? price.cacheWrite),
    line('output_tokens', tokens.output, price.output),
  ].filter(({ units }) => units > 0)
}

/** The sum of all lines, exact, and rounded up once to a whole micro-USD (spec-answers 1). */
export function costOfLines(lines: readonly ChargeLine[]): Money {
  let millionths = 0n
  for (const { units, unitPrice, per } of lines) millionths += BigInt(units) * BigInt(unitPrice) * BigInt(MILLION / per)
  return micros(Number((millionths + BigInt(MILLION - 1)) / BigInt(MILLION)))
}

/** The most that so many tokens can cost, however the input meets a cache; `hourCache`: it may be kept for an hour. */
export function mostCost(
  price: TokenPrice,
  most: { readonly input: number; readonly output: number; readonly hourCache?: boolean },
): Money {
  const hour = most.hourCache ? (price.cacheWriteHour ?? 0) : 0
  const dearest = Math.max(price.input, price.cacheRead, price.cacheWrite, hour)
  return costOfLines([
    { item: 'input_tokens', units: most.input, unitPrice: micros(dearest), per: MILLION },
    { item: 'output_tokens', units: most.output, unitPrice: price.output, per: MILLION },
  ])
}
