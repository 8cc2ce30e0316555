import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { IdRows } from '../../../server/adapters/stores/memory/id-rows'
import { RestingCounters } from '../../../server/adapters/stores/memory/resting-counters'
import { makeId, type PoolId } from '../../../server/core/ids'

const pool = (i: number) => `pool_${i.toString(16).padStart(32, '0')}` as PoolId
const FOREIGN = [
  'pool_1',
  '',
  'pool_',
  `pool_${'A'.repeat(32)}`,
  `acct_${'0'.repeat(32)}`,
  `pool_${'0'.repeat(33)}`,
] as PoolId[]

describe('rows of ids', () => {
  test('give each of 10,000 ids a row of its own, and the id back, however alike the ids are', () => {
    const rows = new IdRows<PoolId>('pool_')
    const ids = Array.from({ length: 10_000 }, (_, i) => (i % 2 === 0 ? pool(i) : makeId('pool', 1_790_000_000_000)))
    expect(ids.map((id) => rows.rowOf(id)).every((row) => row === null)).toBe(true)
    expect(ids.map((id) => rows.add(id))).toEqual(ids.map((_, i) => i))
    expect(ids.map((id) => rows.add(id))).toEqual(ids.map((_, i) => i))
    expect(ids.map((id) => rows.rowOf(id))).toEqual(ids.map((_, i) => i))
    expect(ids.map((_, i) => rows.idOf(i))).toEqual(ids)
    expect(() => rows.idOf(10_000)).toThrow(RangeError)
  })

  test.each(FOREIGN)('take no id of another form: "%s"', (id) => {
    const rows = new IdRows<PoolId>('pool_')
    rows.add(pool(0))
    expect([rows.add(id), rows.rowOf(id)]).toEqual([null, null])
  })
})

interface Sum {
  sum: number
  busy: boolean
}
const FORM = {
  width: 1,
  write({ sum, busy }: Sum, into: Float64Array) {
    if (!busy) into[0] = sum
    return !busy
  },
  read: ([sum = 0]: Float64Array): Sum => ({ sum, busy: false }),
}

describe('counters that rest', () => {
  test('are what a plain map of objects has, whenever they rest', () => {
    const step = fc.record({
      id: fc.nat(40),
      add: fc.integer({ min: -9, max: 9 }),
      busy: fc.boolean(),
      rest: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), fc.nat(3), (steps, maxAwake) => {
        const counters = new RestingCounters<PoolId, Sum>('pool_', FORM, maxAwake)
        const plain = new Map<PoolId, Sum>()
        const idOf = (i: number) => FOREIGN[i] ?? pool(i)
        for (const { id: i, add, busy, rest } of steps) {
          const id = idOf(i)
          if (rest) counters.rest()
          const [ours, theirs] = [counters.get(id), plain.get(id)]
          expect(ours).toEqual(theirs)
          if (ours && theirs) for (const each of [ours, theirs]) Object.assign(each, { sum: each.sum + add, busy })
          else for (const each of [counters, plain]) each.set(id, { sum: add, busy })
        }
        for (let i = 0; i <= 40; i++) expect(counters.get(idOf(i))).toEqual(plain.get(idOf(i)))
      }),
    )
  })

  test('stay the same object until they rest', () => {
    const counters = new RestingCounters<PoolId, Sum>('pool_', FORM, 1)
    for (const i of [1, 2, 3]) counters.set(pool(i), { sum: i, busy: false })
    const first = counters.get(pool(1))
    counters.rest()
    expect(counters.get(pool(1))).toBe(first)
    counters.get(pool(2))
    counters.rest()
    expect(counters.get(pool(1))).not.toBe(first)
    expect(counters.get(pool(1))).toEqual({ sum: 1, busy: false })
  })
})
