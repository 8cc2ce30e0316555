import { describe, expect, test } from 'bun:test'
import { NOTHING, type Take, type WindowStore, type WindowUsage } from '../../server/core/limits/limiter'

const MINUTE = 29_000_000

const take = (name: string, cost: Partial<WindowUsage>, limits: Partial<Take['subject']['limits']> = {}): Take => ({
  subject: { name, limits: { rpm: 3, tpm: 100, concurrency: 2, ...limits } },
  cost: { ...NOTHING, ...cost },
})

/** The rules of every window store. */
export function windowStoreContract(name: string, open: () => WindowStore | Promise<WindowStore>): void {
  const used = async (store: WindowStore, subject: string, minute = MINUTE) =>
    (await store.takeAll([take(subject, {})], minute)).used[0]

  describe(`window store: ${name}`, () => {
    test('takes up to the limit and not one more, however many ask at once', async () => {
      const store = await open()
      const results = await Promise.all(
        Array.from({ length: 20 }, () => store.takeAll([take('a', { requests: 1 })], MINUTE)),
      )
      expect(results.filter((result) => result.taken)).toHaveLength(3)
      expect(await used(store, 'a')).toEqual({ requests: 3, tokens: 0, slots: 0 })
    })

    test('takes from all subjects or from none, and names the one that refused', async () => {
      const store = await open()
      const both = [take('wide', { requests: 1 }, { rpm: 100 }), take('narrow', { requests: 1 }, { rpm: 1 })]
      expect((await store.takeAll(both, MINUTE)).taken).toBe(true)
      expect(await store.takeAll(both, MINUTE)).toEqual({
        taken: false,
        used: [
          { requests: 1, tokens: 0, slots: 0 },
          { requests: 1, tokens: 0, slots: 0 },
        ],
        by: { index: 1, dimension: 'requests' },
      })
      expect(await used(store, 'wide')).toEqual({ requests: 1, tokens: 0, slots: 0 })
    })

    test('checks each dimension of a cost and takes none of it if one is over', async () => {
      const store = await open()
      for (const [cost, dimension] of [
        [{ tokens: 101, slots: 1 }, 'tokens'],
        [{ tokens: 1, slots: 3 }, 'slots'],
        [{ requests: 4, tokens: 1 }, 'requests'],
      ] as const)
        expect(await store.takeAll([take('a', cost)], MINUTE)).toMatchObject({ taken: false, by: { dimension } })
      expect(await used(store, 'a')).toEqual(NOTHING)
    })

    test('never refuses a cost of zero, also when the window is full or the limit is zero', async () => {
      const store = await open()
      expect((await store.takeAll([take('a', {}, { rpm: 0, tpm: 0, concurrency: 0 })], MINUTE)).taken).toBe(true)
      await store.takeAll([take('a', { requests: 3 })], MINUTE)
      expect((await store.takeAll([take('a', {}, { rpm: 1 })], MINUTE)).taken).toBe(true)
    })

    test('resets requests and tokens in the next minute, and keeps the slots', async () => {
      const store = await open()
      await store.takeAll([take('a', { requests: 3, tokens: 100, slots: 2 })], MINUTE)
      expect(await used(store, 'a', MINUTE + 1)).toEqual({ requests: 0, tokens: 0, slots: 2 })
    })

    test('keeps slots for as long as they are held, however many minutes and subjects pass', async () => {
      const store = await open()
      await store.takeAll([take('a', { slots: 2 })], MINUTE)
      for (let later = 1; later < 10; later++) await store.takeAll([take('b', { requests: 1 })], MINUTE + later)
      expect((await store.takeAll([take('a', { slots: 1 })], MINUTE + 10)).taken).toBe(false)
      await store.adjust('a', { ...NOTHING, slots: -2 }, MINUTE)
      expect((await store.takeAll([take('a', { slots: 1 })], MINUTE + 10)).taken).toBe(true)
    })

    test('knows what was taken in a minute that the clock goes back to, also after other subjects moved on', async () => {
      const store = await open()
      await store.takeAll([take('a', { requests: 3 })], MINUTE)
      await store.takeAll([take('b', { requests: 1 })], MINUTE + 1)
      const again: boolean[] = []
      for (const back of [0, -1, 0, -1, 1, 0, 1])
        again.push((await store.takeAll([take('a', { requests: 2 })], MINUTE + back)).taken)
      expect(again).toEqual([false, true, false, false, true, false, false])
    })

    test('one call while the clock is far ahead does not affect the minutes after it is corrected', async () => {
      const store = await open()
      const ask = async (minute: number) => (await store.takeAll([take('a', { requests: 2 })], minute)).taken
      expect([await ask(MINUTE), await ask(MINUTE + 10_000_000), await ask(MINUTE)]).toEqual([true, true, false])
      for (let later = 1; later < 10; later++)
        expect([await ask(MINUTE + later), await ask(MINUTE + later)]).toEqual([true, false])
    })

    test('corrects tokens within their minute, in both directions, and never below zero', async () => {
      const store = await open()
      await store.takeAll([take('a', { tokens: 50, slots: 1 })], MINUTE)
      expect(await store.adjust('a', { requests: 0, tokens: -30, slots: -1 }, MINUTE)).toEqual({
        requests: 0,
        tokens: 20,
        slots: 0,
      })
      expect((await store.adjust('a', { requests: 0, tokens: 90, slots: 0 }, MINUTE)).tokens).toBe(110)
      expect((await store.adjust('a', { requests: 0, tokens: -500, slots: -9 }, MINUTE)).tokens).toBe(0)
    })

    test('ignores a correction of tokens of a past minute, but returns the slot', async () => {
      const store = await open()
      await store.takeAll([take('a', { tokens: 50, slots: 1 })], MINUTE)
      await store.takeAll([take('a', { tokens: 10 })], MINUTE + 1)
      await store.adjust('a', { requests: 0, tokens: -50, slots: -1 }, MINUTE)
      expect(await used(store, 'a', MINUTE + 1)).toEqual({ requests: 0, tokens: 10, slots: 0 })
    })

    test('counts each subject separately', async () => {
      const store = await open()
      await store.takeAll([take('a', { requests: 3 })], MINUTE)
      expect((await store.takeAll([take('b', { requests: 3 })], MINUTE)).taken).toBe(true)
    })
  })
}
