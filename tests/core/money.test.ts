import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  formatUsd,
  fromUsdNumber,
  type Money,
  micros,
  min,
  minus,
  parseUsd,
  plus,
  toUsdNumber,
} from '../../server/core/money'

const money = fc.maxSafeNat().map(micros)
/** What `spending_limit` may be, and far more (spec D3). */
const limit = fc.integer({ min: 0, max: 4_000_000_000_000_000 }).map(micros)

describe('micro-USD', () => {
  test('are whole numbers: a fraction or an unsafe integer throws', () => {
    for (const wrong of [0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, -(2 ** 53)])
      expect(() => micros(wrong)).toThrow(RangeError)
  })

  test('add and subtract exactly, and throw instead of losing a micro', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), (a, b) => {
        expect(minus(plus(micros(a), micros(b)), micros(b))).toBe(micros(a))
      }),
    )
    expect(() => plus(micros(Number.MAX_SAFE_INTEGER), micros(1))).toThrow(RangeError)
  })

  test('the minimum of two is one of them', () => {
    expect(min(micros(2), micros(1))).toBe(micros(1))
    expect(min(micros(1), micros(2))).toBe(micros(1))
  })
})

describe('text of USD', () => {
  test('reads back what it wrote, for every amount', () => {
    fc.assert(fc.property(money, (amount) => parseUsd(formatUsd(amount)) === amount))
  })

  test('is the shortest exact decimal', () => {
    const forms: [number, string][] = [
      [0, '0'],
      [1, '0.000001'],
      [5000, '0.005'],
      [100_000, '0.1'],
      [2_000_000, '2'],
      [1_500_001, '1.500001'],
      [-5000, '-0.005'],
      [-1_000_000, '-1'],
    ]
    for (const [amount, text] of forms) expect(formatUsd(micros(amount))).toBe(text)
  })

  test('reads up to six decimals', () => {
    expect(parseUsd('0.000001')).toBe(micros(1))
    expect(parseUsd('1.5')).toBe(micros(1_500_000))
    expect(parseUsd('9007199254.740991')).toBe(micros(Number.MAX_SAFE_INTEGER))
  })

  test('refuses everything that is not a plain decimal amount, or not a safe number of micros', () => {
    const wrong = [
      ...['', ' 1', '1 ', '-1', '+1', '1.', '.5', '1.0000001', '1e3', '0x1', '1,5', '1_0', 'NaN', '١'],
      ...['9007199254.740992', '9999999999', '10000000000', '1\n'],
    ]
    expect(wrong.filter((text) => parseUsd(text) !== null)).toEqual([])
  })
})

describe('a JSON number of USD', () => {
  test('reads back what it wrote, for every limit a key can have', () => {
    fc.assert(fc.property(limit, (amount) => fromUsdNumber(toUsdNumber(amount)) === amount))
  })

  test('reads each number of at most six decimals the way people mean it', () => {
    const meant: [number, number][] = [
      [1.005, 1_005_000],
      [0.1, 100_000],
      [0.3, 300_000],
      [0.07, 70_000],
      [4.35, 4_350_000],
      [8.2, 8_200_000],
      [1.1, 1_100_000],
      [0.000001, 1],
      [1e6, 1_000_000_000_000],
    ]
    for (const [usd, amount] of meant) expect(fromUsdNumber(usd)).toBe(micros(amount))
  })

  test('refuses rounding residue of floats, negatives, and what is not a finite number', () => {
    const wrong = [
      0.1 + 0.2,
      1.1 + 2.2,
      0.0000001,
      1.0000005,
      -0.000001,
      -1,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      9_000_000_001,
      Number.MAX_VALUE,
      Number.MIN_VALUE,
    ]
    expect(wrong.filter((usd) => fromUsdNumber(usd) !== null)).toEqual([])
  })

  test('is never read as a different amount than its text', () => {
    fc.assert(
      fc.property(limit, (amount) => {
        const read: Money | null = fromUsdNumber(JSON.parse(formatUsd(amount)))
        expect(read).toBe(amount)
      }),
    )
  })
})
