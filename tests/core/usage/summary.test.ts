import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { micros } from '../../../server/core/money'
import type { UsageGroup } from '../../../server/core/usage/reports'
import { summarize } from '../../../server/core/usage/summary'
import { added, NO_USAGE, type UsageSums } from '../../../server/core/usage/sums'

const HOUR = 3_600_000
const NOON = Date.UTC(2026, 10, 21, 12)
const sums = (more: Partial<UsageSums> = {}): UsageSums => ({
  requests: 1,
  failedRequests: 0,
  inputTokens: 1,
  outputTokens: 2,
  cacheReadTokens: 3,
  cacheWriteTokens: 4,
  charged: micros(5),
  ...more,
})
const group = (name: string, more: Partial<UsageSums> = {}): UsageGroup => ({ name, ...sums(more) })
const edges = [NOON, NOON + HOUR, NOON + 2 * HOUR, NOON + 3 * HOUR]
const whole = { from: NOON, to: NOON + 3 * HOUR }
const empty = [NO_USAGE, NO_USAGE, NO_USAGE]

describe('a usage summary', () => {
  test('cuts its first and last bucket to the requested range', () => {
    const { buckets, totals } = summarize({ buckets: empty, groups: [] }, edges, {
      from: NOON + 10,
      to: NOON + 2 * HOUR + 5,
    })
    expect(buckets.map(({ from, to }) => [from - NOON, to - NOON])).toEqual([
      [10, HOUR],
      [HOUR, 2 * HOUR],
      [2 * HOUR, 2 * HOUR + 5],
    ])
    expect(buckets.every((bucket) => bucket.requests === 0)).toBe(true)
    expect(totals).toEqual(NO_USAGE)
  })

  test('keeps the figures of each bucket with its time', () => {
    const figures = { buckets: [sums({ requests: 2 }), NO_USAGE, sums({ requests: 1 })], groups: [] }
    const { buckets, totals } = summarize(figures, edges, whole)
    expect(buckets.map((bucket) => [bucket.from - NOON, bucket.requests])).toEqual([
      [0, 2],
      [HOUR, 0],
      [2 * HOUR, 1],
    ])
    expect(totals).toEqual({
      requests: 3,
      failedRequests: 0,
      inputTokens: 2,
      outputTokens: 4,
      cacheReadTokens: 6,
      cacheWriteTokens: 8,
      charged: micros(10),
    })
  })

  test('has totals that equal the sum of its buckets, for any sums', () => {
    const any = fc.record({
      requests: fc.nat(1000),
      failedRequests: fc.nat(1000),
      inputTokens: fc.nat(),
      outputTokens: fc.nat(),
      cacheReadTokens: fc.nat(),
      cacheWriteTokens: fc.nat(),
      charged: fc.nat(10 ** 9).map(micros),
    })
    fc.assert(
      fc.property(fc.array(any, { minLength: 3, maxLength: 3 }), (buckets) => {
        const { totals } = summarize({ buckets, groups: [] }, edges, whole)
        for (const name of Object.keys(NO_USAGE) as (keyof UsageSums)[])
          expect(totals[name] as number).toBe(buckets.reduce((sum, bucket) => sum + bucket[name], 0))
      }),
    )
  })

  test('lists its groups by spend, descending, then by requests, then by name', () => {
    const groups = [
      group('key_few', { charged: micros(1) }),
      group('key_b', { charged: micros(2) }),
      group('key_many', { charged: micros(1), requests: 9 }),
      group('key_a', { charged: micros(2) }),
      group('key_dear', { charged: micros(100) }),
    ]
    const summary = summarize({ buckets: empty, groups }, edges, whole)
    expect(summary.groups.map(({ name }) => name)).toEqual(['key_dear', 'key_a', 'key_b', 'key_many', 'key_few'])
    expect(summary.groups[0]).toEqual(group('key_dear', { charged: micros(100) }))
  })
})

test('sums are added name by name', () => {
  expect(added(sums(), NO_USAGE)).toEqual(sums())
  expect(added(sums({ failedRequests: 3 }), sums({ charged: micros(7) }))).toEqual({
    requests: 2,
    failedRequests: 3,
    inputTokens: 2,
    outputTokens: 4,
    cacheReadTokens: 6,
    cacheWriteTokens: 8,
    charged: micros(12),
  })
})
