import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { KnownCells } from '../../../server/compose/cluster/cells/known-cells'

test('names that come once, however many, push out none that came twice', () => {
  const known = new KnownCells(100)
  known.keep('in use', 'c2')
  expect(known.get('in use')).toBe('c2')
  for (let i = 0; i < 10_000; i++) known.keep(`made up ${i}`, 'main')
  expect(known.get('in use')).toBe('c2')
  expect([known.get('made up 0'), known.get('made up 9999')]).toEqual([null, 'main'])
})

test('never says another cell than the one that was kept', () => {
  const acts = fc.array(fc.tuple(fc.boolean(), fc.nat(20)), { maxLength: 200 })
  fc.assert(
    fc.property(acts, (all) => {
      const known = new KnownCells(5)
      const kept = new Set<number>()
      for (const [isKept, i] of all) {
        if (isKept) known.keep(`${i}`, `c${i}`)
        if (isKept) kept.add(i)
        const found = known.get(`${i}`)
        expect(found === null || (kept.has(i) && found === `c${i}`)).toBe(true)
        if (isKept) expect(found).toBe(`c${i}`)
      }
    }),
  )
})
