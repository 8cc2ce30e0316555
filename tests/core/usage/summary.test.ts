import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { micros } from '../../../server/core/money'
import type { UsageCell } from '../../../server/core/usage/reports'
import { summarise } from '../../../server/core/usage/summary'

const HOUR = 3_600_000
const NOON = Date.UTC(2026, 10, 21, 12)
const cell = (at: number, more: Partial<UsageCell> = {}): UsageCell => ({
  ...{ at, keyId: 'key_a', operation: 'image-search', status: 200, requests: 1, failedRequests: 0 },
  ...{ inputTokens: 1, outputTokens: 2, cacheReadTokens: 3, cacheWriteTokens: 4, charged: micros(5) },
  ...more,
})
const hoursOf = (from: number, to: number) => ({ from, to, width: '1h' as const, timezone: 'UTC' })

describe('a usage summary', () => {
  test('cuts its first and last bucket to the asked range', () => {
    const { buckets } = summarise([], hoursOf(NOON + 10, NOON + 2 * HOUR + 5), null)
    expect(buckets.map(({ from, to }) => [from - NOON, to - NOON])).toEqual([
      [10, HOUR],
      [HOUR, 2 * HOUR],
      [2 * HOUR, 2 * HOUR + 5],
    ])
    expect(buckets.every((bucket) => bucket.requests === 0)).toBe(true)
  })

  test('puts each cell into the bucket that it begins in', () => {
    const cells = [NOON, NOON + HOUR - 1, NOON + HOUR].map((at) => cell(at))
    const { buckets, totals } = summarise(cells, hoursOf(NOON, NOON + 2 * HOUR), null)
    expect(buckets.map((bucket) => bucket.requests)).toEqual([2, 1])
    expect(totals).toEqual({
      ...{ requests: 3, failedRequests: 0, inputTokens: 3, outputTokens: 6 },
      ...{ cacheReadTokens: 9, cacheWriteTokens: 12, charged: micros(15) },
    })
  })

  test('has totals that are the sum of its buckets and of its groups, for any cells', () => {
    const any = fc.record({
      at: fc.integer({ min: NOON, max: NOON + 5 * HOUR - 1 }),
      ...{ status: fc.constantFrom(200, 402, 502), keyId: fc.constantFrom('key_a' as const, 'key_b' as const) },
      ...{ charged: fc.nat(10 ** 9).map(micros), requests: fc.nat(1000) },
    })
    fc.assert(
      fc.property(fc.array(any), fc.constantFrom('key', 'operation', 'status'), (cells, grouping) => {
        const list = cells.map(({ at, ...more }) => cell(at, more))
        const summary = summarise(list, hoursOf(NOON, NOON + 5 * HOUR), grouping)
        for (const part of [summary.buckets, summary.groups]) {
          const all: readonly { requests: number; charged: number }[] = part
          expect(all.reduce((sum, { requests }) => sum + requests, 0)).toBe(summary.totals.requests)
          expect(all.reduce((sum, { charged }) => sum + charged, 0)).toBe(summary.totals.charged)
        }
      }),
    )
  })

  test('lists its groups by spend, the most first, then by requests', () => {
    const cells = [
      cell(NOON, { keyId: 'key_few', charged: micros(1) }),
      cell(NOON, { keyId: 'key_many', charged: micros(1), requests: 9 }),
      cell(NOON, { keyId: 'key_dear', charged: micros(100) }),
    ]
    const { groups } = summarise(cells, hoursOf(NOON, NOON + HOUR), 'key')
    expect(groups.map((group) => group.name)).toEqual(['key_dear', 'key_many', 'key_few'])
    expect(summarise(cells, hoursOf(NOON, NOON + HOUR), 'status').groups.map((group) => group.name)).toEqual(['200'])
  })
})
