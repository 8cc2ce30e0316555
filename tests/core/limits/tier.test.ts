import { describe, expect, test } from 'bun:test'
import { minuteOf, resetSeconds, secondsToReset } from '../../../server/core/limits/limiter'
import { limitsOf, TIER_LIMITS, type TierFacts, tierOf, withKeyLimits } from '../../../server/core/limits/tier'
import { micros } from '../../../server/core/money'

const facts = (toppedUpUsd: number, more: Partial<TierFacts> = {}): TierFacts => ({
  toppedUp: micros(Math.round(toppedUpUsd * 1e6)),
  growthApproved: false,
  maxKeys: null,
  customLimits: null,
  ...more,
})

describe('the tier (spec 3, 8)', () => {
  test('is Free, Starter with the first top-up, Growth at 500 USD of top-ups or when approved', () => {
    const tiers = [0, 0.000001, 499.999999, 500, 10_000].map((usd) => tierOf(facts(usd)))
    expect(tiers).toEqual(['free', 'starter', 'starter', 'growth', 'growth'])
    expect(tierOf(facts(0, { growthApproved: true }))).toBe('growth')
  })

  test('is Enterprise with limits of its own, whatever else applies', () => {
    const customLimits = { rpm: 1, tpm: 2, concurrency: 3 }
    expect(tierOf(facts(500, { customLimits, growthApproved: true }))).toBe('enterprise')
    expect(limitsOf(facts(0, { customLimits }))).toEqual(customLimits)
  })

  test('gives the limits of its row', () => {
    expect(limitsOf(facts(0))).toEqual({ rpm: 60, tpm: 60_000, concurrency: 5 })
    expect(limitsOf(facts(1))).toEqual({ rpm: 600, tpm: 600_000, concurrency: 20 })
    expect(limitsOf(facts(500))).toEqual({ rpm: 3000, tpm: 3_000_000, concurrency: 50 })
  })

  test('is lowered by a key, never raised', () => {
    const { free } = TIER_LIMITS
    expect(withKeyLimits(free, { rpmLimit: 7, tpmLimit: null })).toEqual({ ...free, rpm: 7 })
    expect(withKeyLimits(free, { rpmLimit: 9999, tpmLimit: 10 ** 9 })).toEqual(free)
  })
})

describe('a window (spec D9)', () => {
  const noon = Date.UTC(2026, 10, 21, 12)
  test('is the minute of the wall clock', () => {
    expect(minuteOf(noon + 59_999)).toBe(minuteOf(noon))
    expect(minuteOf(noon + 60_000)).toBe(minuteOf(noon) + 1)
  })

  test('ends at the next full minute, in UNIX seconds', () => {
    for (const ms of [0, 1, 59_999]) expect(resetSeconds(noon + ms)).toBe(noon / 1000 + 60)
  })

  test('is waited for in whole seconds, at least one and never too short', () => {
    expect([0, 1, 1000, 58_999, 59_000, 59_001, 59_999].map((ms) => secondsToReset(noon + ms))).toEqual([
      60, 60, 59, 2, 1, 1, 1,
    ])
  })
})
