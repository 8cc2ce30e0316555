import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { Shares } from '../../../server/core/limits/shares'

const HOLDERS = ['a', 'b', 'c']

test('whatever is taken and given back, no holder has more than half or its own bound, all together never more than there are, and nothing is lost', () => {
  const act = fc.record({
    takes: fc.boolean(),
    holder: fc.constantFrom(...HOLDERS),
    resource: fc.constantFrom('x', 'y'),
  })
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 9 }),
      fc.integer({ min: 1, max: 6 }),
      fc.array(act, { maxLength: 60 }),
      (slots, own, acts) => {
        const shares = new Shares()
        const model = new Map<string, number>()
        const count = (resource: string, holder: string) => model.get(`${resource}${holder}`) ?? 0
        const all = (resource: string) => HOLDERS.reduce((sum, holder) => sum + count(resource, holder), 0)
        const most = Math.min(own, Math.max(1, Math.floor(slots / 2)))
        for (const { takes, holder, resource } of acts) {
          const [before, mine] = [all(resource), count(resource, holder)]
          if (takes) {
            const why = shares.take(resource, holder, slots, own)
            const expected = before >= slots ? 'full' : mine >= most ? 'own_share' : null
            expect(why).toBe(expected)
            if (why === null) model.set(`${resource}${holder}`, mine + 1)
          } else {
            shares.giveBack(resource, holder)
            model.set(`${resource}${holder}`, Math.max(0, mine - 1))
          }
          expect([shares.held(resource), shares.heldBy(resource, holder)]).toEqual([
            all(resource),
            count(resource, holder),
          ])
        }
      },
    ),
  )
})

test('a full resource is over for those with an equal part of it or more, and not for the others', () => {
  const shares = new Shares()
  for (const holder of ['a', 'a', 'a', 'b']) shares.add('x', holder)
  expect(HOLDERS.map((holder) => shares.isOver('x', holder, 4))).toEqual([true, false, false])
  expect(HOLDERS.map((holder) => shares.isOver('x', holder, 5))).toEqual([false, false, false])
})
