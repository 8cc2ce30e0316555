import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { TokenPart } from '../../../server/core/models/model-tokens'
import { costOfLines, maxTokenCost, tokenLines } from '../../../server/core/models/token-price'
import { micros } from '../../../server/core/money'

const RATES = {
  input: micros(2_500_000),
  output: micros(10_000_000),
  cache_read: micros(1_250_000),
  cache_write: micros(3_125_000),
}
const PRICE = [{ rates: RATES }]

describe('cost of tokens (spec D1)', () => {
  test('is exact, and rounded up once for the whole call, not once per kind', () => {
    const price = [{ rates: { input: micros(1), output: micros(1), cache_read: micros(1), cache_write: micros(1) } }]
    const lines = tokenLines(price, { input: 3, output: 1, cacheRead: 1, cacheWrite: 1 })
    expect(lines).toHaveLength(4)
    expect(Number(costOfLines(lines))).toBe(1)
  })

  test('charges cached input at its own price, and the rest as input', () => {
    const lines = tokenLines(PRICE, { input: 1000, output: 100, cacheRead: 400, cacheWrite: 200 })
    expect(lines.map(({ item, units }) => [item, units])).toEqual([
      ['input_tokens', 400],
      ['cache_read_tokens', 400],
      ['cache_write_tokens', 200],
      ['output_tokens', 100],
    ])
    // 400 x 2.5 + 400 x 1.25 + 200 x 3.125 + 100 x 10 = 3125 micro-USD
    expect(Number(costOfLines(lines))).toBe(3125)
  })

  test('charges one-hour cache writes at their own price, if there is one', () => {
    const tokens = { input: 1000, output: 0, cacheRead: 0, cacheWrite: 600, parts: { cache_write_1h: 200 } }
    const hourly = [{ rates: { ...RATES, cache_write_1h: micros(5_000_000) } }]
    const priced = tokenLines(hourly, tokens)
    expect(priced.map(({ item, units }) => [item, units])).toEqual([
      ['input_tokens', 400],
      ['cache_write_tokens', 400],
      ['cache_write_1h_tokens', 200],
    ])
    // 400 x 2.5 + 400 x 3.125 + 200 x 5 = 3250 micro-USD
    expect(Number(costOfLines(priced))).toBe(3250)
    expect(tokenLines(PRICE, tokens).map(({ item, units }) => [item, units])).toEqual([
      ['input_tokens', 400],
      ['cache_write_tokens', 600],
    ])
    const most = (...parts: readonly TokenPart[]) => Number(maxTokenCost(hourly, { input: 1000, output: 0, parts }))
    expect([most(), most('cache_write_1h')]).toEqual([3125, 5000])
  })

  test('stays exact where the product passes 2^53', () => {
    const lines = [{ item: 'x', units: 9_007_199_254, unitPrice: micros(1_000_001), per: 1_000_000 as const }]
    expect(Number(costOfLines(lines))).toBe(9_007_208_262)
  })

  test('is the same as in BigInt for any lines, below and above 2^53', () => {
    const line = fc.record({
      item: fc.constant('x'),
      units: fc.oneof(fc.nat(200_000), fc.nat(9_007_199_254)),
      unitPrice: fc.oneof(fc.nat(100_000_000), fc.nat(2 ** 31 - 1)).map(micros),
      per: fc.constantFrom(1 as const, 1_000_000 as const),
    })
    const cost = fc.property(fc.array(line, { maxLength: 6 }), (lines) => {
      const millionths = lines.reduce(
        (sum, { units, unitPrice, per }) => sum + BigInt(units) * BigInt(unitPrice) * BigInt(1_000_000 / per),
        0n,
      )
      const rounded = Number((millionths + 999_999n) / 1_000_000n)
      if (Number.isSafeInteger(rounded)) expect(Number(costOfLines(lines))).toBe(rounded)
      else expect(() => costOfLines(lines)).toThrow(RangeError)
    })
    fc.assert(cost, { numRuns: 2000 })
  })

  test('of no tokens is zero', () => {
    expect(Number(costOfLines(tokenLines(PRICE, { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 })))).toBe(0)
  })

  test('is never above the hold, however much input comes from a cache', () => {
    const most = maxTokenCost(PRICE, { input: 1000, output: 100 })
    for (const [cacheRead, cacheWrite] of [
      [0, 0],
      [1000, 0],
      [0, 1000],
      [333, 333],
    ] as const) {
      const cost = costOfLines(tokenLines(PRICE, { input: 1000, output: 100, cacheRead, cacheWrite }))
      expect(cost).toBeLessThanOrEqual(most)
    }
  })
})
