import { describe, expect, test } from 'bun:test'
import { NOTHING, type Subject, type WindowStore, type WindowUsage } from '../../server/core/limits/limiter'

const MINUTE = 29_000_000
const ONE_REQUEST = { ...NOTHING, requests: 1 }

const subject = (name: string, limits: Partial<Subject['limits']> = {}): Subject => ({
  name,
  limits: { rpm: 3, tpm: 100, concurrency: 2, ...limits },
})

/** The rules of every window store. */
export function windowStoreContract(name: string, open: () => WindowStore): void {
  const take = (store: WindowStore, name: string, cost: Partial<WindowUsage>, minute = MINUTE) =>
    store.takeAll([subject(name)], { ...NOTHING, ...cost }, minute)
  const used = (store: WindowStore, name: string, minute = MINUTE) => store.read(name, minute)

  describe(`window store: ${name}`, () => {
    test('takes up to the limit and not one more', () => {
      const store = open()
      const results = Array.from({ length: 20 }, () => take(store, 'a', { requests: 1 }))
      expect(results.filter((exceeded) => exceeded === null)).toHaveLength(3)
      expect(used(store, 'a')).toEqual({ requests: 3, tokens: 0, slots: 0 })
    })

    test('takes up to a part of the limit, and not one more', () => {
      const store = open()
      const half = (cost: Partial<WindowUsage>) =>
        store.takeAll([subject('a'), subject('b')], { ...NOTHING, ...cost }, MINUTE, 0.5)
      expect([half({ requests: 1 }), half({ requests: 1 })]).toEqual([null, { index: 0, dimension: 'requests' }])
      expect([half({ slots: 1 }), half({ slots: 1 })]).toEqual([null, { index: 0, dimension: 'slots' }])
      expect([half({ tokens: 50 }), half({ tokens: 1 })]).toEqual([null, { index: 0, dimension: 'tokens' }])
      expect(take(store, 'a', { requests: 2, tokens: 50, slots: 1 })).toBeNull()
    })

    test('takes from all subjects or from none, and names the one that refused', () => {
      const store = open()
      const both = [subject('wide', { rpm: 100 }), subject('narrow', { rpm: 1 })]
      expect(store.takeAll(both, ONE_REQUEST, MINUTE)).toBeNull()
      expect(store.takeAll(both, ONE_REQUEST, MINUTE)).toEqual({ index: 1, dimension: 'requests' })
      for (const name of ['wide', 'narrow']) expect(used(store, name)).toEqual({ requests: 1, tokens: 0, slots: 0 })
    })

    test('checks each dimension of a cost and takes none of it if one is over', () => {
      const store = open()
      for (const [cost, dimension] of [
        [{ tokens: 101, slots: 1 }, 'tokens'],
        [{ tokens: 1, slots: 3 }, 'slots'],
        [{ requests: 4, tokens: 1 }, 'requests'],
      ] as const)
        expect(take(store, 'a', cost)).toEqual({ index: 0, dimension })
      expect(used(store, 'a')).toEqual(NOTHING)
    })

    test('never refuses a cost of zero, also when the window is full or the limit is zero', () => {
      const store = open()
      expect(store.takeAll([subject('a', { rpm: 0, tpm: 0, concurrency: 0 })], NOTHING, MINUTE)).toBeNull()
      take(store, 'a', { requests: 3 })
      expect(store.takeAll([subject('a', { rpm: 1 })], NOTHING, MINUTE)).toBeNull()
    })

    test('resets requests and tokens in the next minute, and keeps the slots', () => {
      const store = open()
      take(store, 'a', { requests: 3, tokens: 100, slots: 2 })
      expect(used(store, 'a', MINUTE + 1)).toEqual({ requests: 0, tokens: 0, slots: 2 })
    })

    test('keeps slots for as long as they are held, however many minutes and subjects pass', () => {
      const store = open()
      take(store, 'a', { slots: 2 })
      for (let later = 1; later < 10; later++) take(store, 'b', { requests: 1 }, MINUTE + later)
      expect(take(store, 'a', { slots: 1 }, MINUTE + 10)).not.toBeNull()
      store.adjust('a', { ...NOTHING, slots: -2 }, MINUTE)
      expect(take(store, 'a', { slots: 1 }, MINUTE + 10)).toBeNull()
    })

    test('knows what was taken in a minute that the clock goes back to, also after other subjects moved on', () => {
      const store = open()
      take(store, 'a', { requests: 3 })
      take(store, 'b', { requests: 1 }, MINUTE + 1)
      const again: boolean[] = []
      for (const back of [0, -1, 0, -1, 1, 0, 1]) again.push(take(store, 'a', { requests: 2 }, MINUTE + back) === null)
      expect(again).toEqual([false, true, false, false, true, false, false])
    })

    test('one call while the clock is far ahead does not affect the minutes after it is corrected', () => {
      const store = open()
      const ask = (minute: number) => take(store, 'a', { requests: 2 }, minute) === null
      expect([ask(MINUTE), ask(MINUTE + 10_000_000), ask(MINUTE)]).toEqual([true, true, false])
      for (let later = 1; later < 10; later++) expect([ask(MINUTE + later), ask(MINUTE + later)]).toEqual([true, false])
    })

    test('corrects tokens within their minute, in both directions, and never below zero', () => {
      const store = open()
      take(store, 'a', { tokens: 50, slots: 1 })
      store.adjust('a', { requests: 0, tokens: -30, slots: -1 }, MINUTE)
      expect(used(store, 'a')).toEqual({ requests: 0, tokens: 20, slots: 0 })
      store.adjust('a', { requests: 0, tokens: 90, slots: 0 }, MINUTE)
      expect(used(store, 'a').tokens).toBe(110)
      store.adjust('a', { requests: 0, tokens: -500, slots: -9 }, MINUTE)
      expect(used(store, 'a').tokens).toBe(0)
    })

    test('ignores a correction of tokens of a past minute, but returns the slot', () => {
      const store = open()
      take(store, 'a', { tokens: 50, slots: 1 })
      take(store, 'a', { tokens: 10 }, MINUTE + 1)
      store.adjust('a', { requests: 0, tokens: -50, slots: -1 }, MINUTE)
      expect(used(store, 'a', MINUTE + 1)).toEqual({ requests: 0, tokens: 10, slots: 0 })
    })

    test('counts each subject separately', () => {
      const store = open()
      take(store, 'a', { requests: 3 })
      expect(take(store, 'b', { requests: 3 })).toBeNull()
    })
  })
}
