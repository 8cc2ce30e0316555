import { describe, expect, test } from 'bun:test'
import { LATENCY_BUCKETS, latencyBucket, latencyQuantile, latencyQuantiles } from '../../../server/core/usage/latency'

function counted(times: readonly number[]): Map<number, number> {
  const counts = new Map<number, number>()
  for (const ms of times) counts.set(latencyBucket(ms), (counts.get(latencyBucket(ms)) ?? 0) + 1)
  return counts
}

describe('latency buckets', () => {
  test('every time up to an hour is in one bucket, and is shown with an error below 10 %', () => {
    for (let ms = 0; ms < 3_600_000; ms += ms < 10_000 ? 1 : 997) {
      const shown = latencyQuantile(counted([ms]), 0.5)
      expect(Math.abs((shown ?? Number.NaN) - ms)).toBeLessThanOrEqual(ms * 0.1)
    }
  })

  test('the buckets never change: the database stores counts by their numbers', () => {
    expect(LATENCY_BUCKETS.length).toBe(77)
    expect(LATENCY_BUCKETS.slice(0, 12)).toEqual([0, 1, 2, 3, 4, 5, 7, 9, 11, 14, 17, 21])
    expect(latencyBucket(1000)).toBe(31)
    expect(latencyBucket(Number.MAX_SAFE_INTEGER)).toBe(76)
    expect(latencyBucket(-5)).toBe(0)
  })

  test('quantiles of a real distribution, and of merged ones, are within 10 % of the exact ranks', () => {
    let seed = 1
    const random = () => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed / 2_147_483_647
    }
    const times = Array.from({ length: 5000 }, () =>
      Math.round(20 * Math.exp(2 * (random() + random() + random() - 1.5))),
    )
    const [some, others] = [counted(times.slice(0, 1700)), counted(times.slice(1700))]
    const merged = new Map(some)
    for (const [bucket, count] of others) merged.set(bucket, (merged.get(bucket) ?? 0) + count)
    const sorted = times.toSorted((a, b) => a - b)
    for (const share of [0.5, 0.95, 0.99]) {
      const exact = sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN
      expect(Math.abs((latencyQuantile(merged, share) ?? Number.NaN) - exact)).toBeLessThanOrEqual(exact * 0.1)
    }
  })

  test('no calls have no quantiles', () => {
    expect(latencyQuantiles(new Map())).toBeNull()
    expect(latencyQuantiles(new Map([[3, 0]]))).toBeNull()
  })
})
