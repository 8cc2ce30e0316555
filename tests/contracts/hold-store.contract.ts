import { describe, expect, test } from 'bun:test'
import type { HoldRequest, HoldStore } from '../../server/core/ledger/hold'
import { micros, ZERO } from '../../server/core/money'
import { accountId, NOON, poolId, requestId } from '../support/ledger-parts'

interface Money {
  readonly credit?: number
  readonly paid?: number
  readonly limit?: number | null
}

/** The rules of every hold store. */
export function holdStoreContract(name: string, open: () => HoldStore | Promise<HoldStore>): void {
  /** A store with one account and one pool of it. */
  async function funded({ credit = 0, paid = 0, limit = null }: Money) {
    const store = await open()
    const [account, pool] = [accountId(), poolId()]
    await store.openAccount(account)
    store.credited({ account, part: 'credit', amount: micros(credit), toppedUp: ZERO })
    store.credited({ account, part: 'paid', amount: micros(paid), toppedUp: micros(paid) })
    await store.openPool({ id: pool, account, limit: limit === null ? null : micros(limit) })
    const request = (amount: number, more: Partial<HoldRequest> = {}): HoldRequest => ({
      request: requestId(),
      account,
      pool,
      amount: micros(amount),
      creditPays: true,
      at: NOON,
      ...more,
    })
    const hold = (amount: number, more: Partial<HoldRequest> = {}) => store.hold(request(amount, more))
    const balance = async () => {
      const all = await store.balance(account)
      return { posted: Number(all?.posted), held: Number(all?.held), available: Number(all?.available) }
    }
    const counted = async () => {
      const all = await store.pool(pool, NOON)
      return { spent: Number(all?.spent), held: Number(all?.held) }
    }
    /** Holds an amount and names the hold. */
    const held = (amount: number, more: Partial<HoldRequest> = {}) => {
      const asked = request(amount, more)
      const granted = store.hold(asked)
      if (!granted.ok) throw new Error(String(granted.error))
      return asked.request
    }
    return { store, account, pool, hold, held, balance, counted }
  }

  describe(`hold store: ${name}`, () => {
    describe('hold', () => {
      test('moves from available to held, on the account and in the pool', async () => {
        const { hold, balance, counted } = await funded({ credit: 100, limit: 50 })
        expect(hold(30).ok).toBe(true)
        expect(await balance()).toEqual({ posted: 100, held: 30, available: 70 })
        expect(await counted()).toEqual({ spent: 0, held: 30 })
      })

      test('is granted up to the balance and not one micro more, however many ask at once', async () => {
        const { hold, balance } = await funded({ credit: 60, paid: 39 })
        const granted = Array.from({ length: 50 }, () => hold(10))
        expect(granted.filter((result) => result.ok)).toHaveLength(9)
        expect(await balance()).toEqual({ posted: 99, held: 90, available: 9 })
        expect(hold(10)).toMatchObject({ error: 'insufficient_balance' })
        expect(hold(9).ok).toBe(true)
      })

      test("is granted up to the pool's limit and not one micro more, however many ask at once", async () => {
        const { hold, counted } = await funded({ credit: 1000, limit: 55 })
        const granted = Array.from({ length: 50 }, () => hold(10))
        expect(granted.filter((result) => result.ok)).toHaveLength(5)
        expect(await counted()).toEqual({ spent: 0, held: 50 })
        expect(hold(5).ok).toBe(true)
        expect(hold(1)).toMatchObject({ error: { window: null } })
      })

      test('that neither the pool nor the account can pay names the pool (spec D2)', async () => {
        const { hold } = await funded({ credit: 1, limit: 1 })
        expect(hold(2)).toMatchObject({ ok: false, error: { window: null } })
      })

      test('that is refused has taken nothing', async () => {
        const { hold, balance, counted } = await funded({ credit: 5, limit: 10 })
        hold(11)
        hold(6)
        expect(await balance()).toEqual({ posted: 5, held: 0, available: 5 })
        expect(await counted()).toEqual({ spent: 0, held: 0 })
      })

      test('spends signup credit before paid money (spec D4)', async () => {
        const { hold } = await funded({ credit: 30, paid: 100 })
        expect(hold(20)).toMatchObject({ value: { split: { credit: 20, paid: 0 } } })
        expect(hold(20)).toMatchObject({ value: { split: { credit: 10, paid: 10 } } })
        expect(hold(20)).toMatchObject({ value: { split: { credit: 0, paid: 20 } } })
      })

      test('for what credit must not buy takes paid money only, and reports if only credit is left', async () => {
        const { hold } = await funded({ credit: 100, paid: 10 })
        expect(hold(10, { creditPays: false })).toMatchObject({ value: { split: { credit: 0, paid: 10 } } })
        expect(hold(10, { creditPays: false })).toEqual({ ok: false, error: 'insufficient_paid_balance' })
        expect(hold(101, { creditPays: false })).toEqual({ ok: false, error: 'insufficient_balance' })
        expect(hold(100).ok).toBe(true)
      })

      test('without a pool is limited only by the balance', async () => {
        const { hold, counted } = await funded({ credit: 100, limit: 0 })
        expect(hold(100, { pool: null }).ok).toBe(true)
        expect(await counted()).toEqual({ spent: 0, held: 0 })
      })

      test('happens once per request: a second one throws, also after the capture', async () => {
        const { store, held, hold } = await funded({ credit: 100 })
        const request = held(10)
        expect(() => hold(10, { request })).toThrow()
        store.fix(request, micros(10))
        store.captured(request)
        expect(() => hold(10, { request })).toThrow()
      })

      test('of a negative amount throws', async () => {
        const { hold } = await funded({ credit: 100 })
        expect(() => hold(-1)).toThrow(RangeError)
      })
    })

    describe('a pool with a parent', () => {
      /** Two pools without limits of their own under a parent with one, each asked in turn. */
      async function family(limit: number) {
        const { store, account, hold } = await funded({ credit: 1000 })
        const parent = poolId()
        await store.openPool({ id: parent, account, limit: micros(limit) })
        const children = [poolId(), poolId()] as const
        for (const child of children) await store.openPool({ id: child, account, limit: null, parent })
        const read = async (pool: (typeof children)[0]) => {
          const all = await store.pool(pool, NOON)
          return { spent: Number(all?.spent), held: Number(all?.held), available: Number(all?.available) }
        }
        return { store, hold, parent, children, read }
      }

      test("is granted up to its parent's limit and not one micro more, however many pools and calls ask at once", async () => {
        const { hold, parent, children, read } = await family(55)
        const pools = [...children, parent]
        const granted = Array.from({ length: 60 }, (_, i) => hold(10, { pool: pools[i % 3]! }))
        expect(granted.filter((result) => result.ok)).toHaveLength(5)
        expect(await read(parent)).toEqual({ spent: 0, held: 50, available: 5 })
        expect(hold(6, { pool: children[0] })).toMatchObject({ ok: false, error: { pool: parent, window: null } })
        expect(hold(5, { pool: children[1] }).ok).toBe(true)
      })

      test('spends, releases and gets back in both', async () => {
        const { store, hold, parent, children, read } = await family(100)
        const [spent, released] = [requestId(), requestId()]
        expect(hold(30, { pool: children[0], request: spent })).toMatchObject({ ok: true })
        hold(40, { pool: children[1], request: released })
        expect(store.fix(spent, micros(20))).toMatchObject({ value: { counted: { parents: [parent], windows: [] } } })
        store.captured(spent)
        store.release(released)
        expect(await read(parent)).toEqual({ spent: 20, held: 0, available: 80 })
        expect(await read(children[0])).toEqual({ spent: 20, held: 0, available: 80 })
        const account = (await store.pool(parent, NOON))!.accountId
        store.credited({ account, part: 'credit', amount: micros(20), toppedUp: ZERO, pool: children[0] })
        expect(await read(parent)).toEqual({ spent: 0, held: 0, available: 100 })
      })
    })

    describe('capture', () => {
      test('spends the captured amount and releases the rest', async () => {
        const { store, held, balance, counted } = await funded({ credit: 100, limit: 100 })
        const request = held(30)
        expect(store.fix(request, micros(20))).toMatchObject({
          value: { first: true, split: { credit: 20, paid: 0 } },
        })
        expect(await balance()).toEqual({ posted: 100, held: 30, available: 70 })
        store.captured(request)
        expect(await balance()).toEqual({ posted: 80, held: 0, available: 80 })
        expect(await counted()).toEqual({ spent: 20, held: 0 })
      })

      test('takes credit first when it takes less than was held', async () => {
        const { store, account, held } = await funded({ credit: 10, paid: 90 })
        const request = held(50)
        expect(store.fix(request, micros(15))).toMatchObject({ value: { split: { credit: 10, paid: 5 } } })
        store.captured(request)
        expect(await store.balance(account)).toMatchObject({ credit: ZERO, paid: micros(85) })
      })

      test('of more than was held is refused, and the hold stays', async () => {
        const { store, held, balance } = await funded({ credit: 100 })
        const request = held(30)
        expect(store.fix(request, micros(31))).toEqual({ ok: false, error: 'exceeds_hold' })
        expect(await balance()).toEqual({ posted: 100, held: 30, available: 70 })
        expect(store.fix(request, micros(30)).ok).toBe(true)
      })

      test('of a negative amount throws', async () => {
        const { store, held } = await funded({ credit: 100 })
        const request = held(30)
        expect(() => store.fix(request, micros(-1))).toThrow(RangeError)
      })

      test('repeated returns the same result and moves nothing', async () => {
        const { store, held, balance } = await funded({ credit: 100 })
        const request = held(30)
        store.fix(request, micros(20))
        store.captured(request)
        expect(store.fix(request, micros(20))).toMatchObject({ value: { first: false, split: { credit: 20 } } })
        expect(store.fix(request, micros(21))).toEqual({ ok: false, error: 'settled_differently' })
        expect(await balance()).toEqual({ posted: 80, held: 0, available: 80 })
      })

      test('that will be undone is not remembered: a repeat does not report the charge', async () => {
        const { store, held } = await funded({ credit: 100 })
        const request = held(30)
        store.fix(request, micros(30))
        store.captured(request, true)
        expect(store.fix(request, micros(30))).toEqual({ ok: false, error: 'unknown_hold' })
      })

      test('is applied by one of many at once', async () => {
        const { store, held } = await funded({ credit: 100 })
        const request = held(30)
        const fixed = Array.from({ length: 10 }, () => store.fix(request, micros(30)))
        expect(fixed.filter((result) => result.ok)).toHaveLength(1)
        expect(fixed.filter((result) => !result.ok && result.error === 'settling')).toHaveLength(9)
      })

      test('without a hold is refused', async () => {
        const { store } = await funded({ credit: 100 })
        expect(store.fix(requestId(), micros(1))).toEqual({ ok: false, error: 'unknown_hold' })
        expect(() => store.captured(requestId())).toThrow()
      })
    })

    describe('release', () => {
      test('returns everything, once', async () => {
        const { store, held, balance, counted } = await funded({ credit: 100, limit: 50 })
        const request = held(30)
        expect(store.release(request)).toBe(true)
        expect(store.release(request)).toBe(false)
        expect(await balance()).toEqual({ posted: 100, held: 0, available: 100 })
        expect(await counted()).toEqual({ spent: 0, held: 0 })
        expect(store.fix(request, micros(1))).toEqual({ ok: false, error: 'unknown_hold' })
      })

      test('leaves a hold that is being captured alone, unless the capture itself releases it', async () => {
        const { store, held, balance } = await funded({ credit: 100 })
        const request = held(30)
        store.fix(request, micros(30))
        expect(store.release(request)).toBe(false)
        expect(await balance()).toEqual({ posted: 100, held: 30, available: 70 })
        expect(store.release(request, true)).toBe(true)
        expect(await balance()).toEqual({ posted: 100, held: 0, available: 100 })
        expect(() => store.captured(request)).toThrow()
      })

      test('after the capture does nothing', async () => {
        const { store, held, balance } = await funded({ credit: 100 })
        const request = held(30)
        store.fix(request, micros(30))
        store.captured(request)
        expect(store.release(request, true)).toBe(false)
        expect(await balance()).toEqual({ posted: 70, held: 0, available: 70 })
      })
    })

    describe('limit', () => {
      test('lowered during open holds grants no further one, but open holds can be captured', async () => {
        const { store, pool, held, hold, counted } = await funded({ credit: 100, limit: 50 })
        const request = held(40)
        await store.setPoolLimit(pool, micros(20))
        expect(hold(1)).toMatchObject({ ok: false, error: { window: null } })
        store.fix(request, micros(40))
        store.captured(request)
        expect(await counted()).toEqual({ spent: 40, held: 0 })
        expect(hold(1)).toMatchObject({ ok: false, error: { window: null } })
      })

      test('raised or removed grants again', async () => {
        const { store, pool, held, hold } = await funded({ credit: 100, limit: 10 })
        held(10)
        await store.setPoolLimit(pool, micros(11))
        expect(hold(1).ok).toBe(true)
        expect(hold(1).ok).toBe(false)
        await store.setPoolLimit(pool, null)
        expect(hold(50).ok).toBe(true)
      })
    })

    describe('budget', () => {
      const daily = (limit: number) => ({ limit: micros(limit), period: 'day' as const, timezone: 'UTC' })

      test('is granted up to the amount and not one micro more, however many ask at once, and again the next day', async () => {
        const { store, pool, hold } = await funded({ credit: 1000 })
        await store.setPoolBudgets(pool, [daily(55)], NOON, [])
        const granted = Array.from({ length: 50 }, () => hold(10))
        expect(granted.filter((result) => result.ok)).toHaveLength(5)
        expect(hold(6)).toMatchObject({ ok: false, error: { window: { period: 'day' } } })
        expect(hold(5).ok).toBe(true)
        expect(hold(55, { at: NOON + 86_400_000 }).ok).toBe(true)
        expect((await store.pool(pool, NOON + 86_400_000))?.windows).toMatchObject([{ spent: ZERO, held: micros(55) }])
      })

      test("set later counts the ledger's sum of the period, later charges, and open holds", async () => {
        const { store, pool, hold, held } = await funded({ credit: 1000 })
        const request = held(30)
        store.fix(request, micros(20))
        store.captured(request)
        held(7)
        await store.setPoolBudgets(pool, [daily(40)], NOON, [{ inPeriod: micros(5), inAll: micros(8) }])
        expect((await store.pool(pool, NOON))?.windows).toMatchObject([{ spent: micros(17), held: micros(7) }])
        expect(hold(17)).toMatchObject({ ok: false, error: { window: { period: 'day' } } })
        await store.setPoolBudgets(pool, [], NOON, [])
        expect((await store.pool(pool, NOON))?.windows).toEqual([])
        expect(hold(17).ok).toBe(true)
      })
    })

    describe('incoming money', () => {
      test('is available at once; what was paid in counts toward the tier', async () => {
        const { store, account } = await funded({ credit: 1, paid: 2 })
        store.credited({ account, part: 'paid', amount: micros(40), toppedUp: micros(40) })
        expect(await store.balance(account)).toEqual({
          credit: micros(1),
          paid: micros(42),
          posted: micros(43),
          held: ZERO,
          available: micros(43),
          toppedUp: micros(42),
          debt: ZERO,
        })
      })

      test('of a reversed charge lowers what its pool spent', async () => {
        const { store, account, pool, held, counted } = await funded({ credit: 100, limit: 30 })
        const request = held(30)
        store.fix(request, micros(30))
        store.captured(request)
        store.credited({ account, part: 'credit', amount: micros(30), toppedUp: ZERO, pool })
        expect(await counted()).toEqual({ spent: 0, held: 0 })
      })
    })

    test('is corrected both ways, without a hold, and a balance stops at zero', async () => {
      const { store, account, pool, balance, counted } = await funded({ credit: 100, paid: 20 })
      const spent = { poolId: pool, amount: 30, at: NOON }
      store.corrected({ account, credit: -30, paid: 0, spent })
      expect([await balance(), await counted()]).toMatchObject([{ posted: 90 }, { spent: 30 }])
      store.corrected({ account, credit: 30, paid: 0, spent: { ...spent, amount: -30 } })
      expect([await balance(), await counted()]).toMatchObject([{ posted: 120 }, { spent: 0 }])
      store.corrected({ account, credit: -1000, paid: -5 })
      expect(await balance()).toMatchObject({ posted: 15 })
      store.corrected({ account: accountId(), credit: 5, paid: 5, spent: { poolId: poolId(), amount: 5, at: NOON } })
    })

    test('is not added again if the account is opened again', async () => {
      const { store, account, pool, held, counted, balance } = await funded({ credit: 100, limit: 50 })
      held(10)
      await store.openAccount(account)
      await store.openPool({ id: pool, account, limit: null })
      expect(await balance()).toEqual({ posted: 100, held: 10, available: 90 })
      expect(await counted()).toEqual({ spent: 0, held: 10 })
      expect((await store.pool(pool, NOON))?.limit).toBe(micros(50))
    })

    test('needs an account and pool that were opened', async () => {
      const { store, hold } = await funded({ credit: 100 })
      expect(await store.balance(accountId())).toBeNull()
      expect(await store.pool(poolId(), NOON)).toBeNull()
      expect(() => hold(1, { account: accountId() })).toThrow()
      expect(() => hold(1, { pool: poolId() })).toThrow()
    })
  })
}
