import { describe, expect, test } from 'bun:test'
import { MemoryHolds } from '../../server/adapters/stores/memory/holds'
import type { RequestId } from '../../server/core/ids'
import { MAX_SCOPES } from '../../server/core/ledger/hold'
import { micros, ZERO } from '../../server/core/money'
import { accountId, NOON, poolId, requestId } from '../support/ledger-parts'
import { holdStoreContract } from './hold-store.contract'

holdStoreContract('memory', () => new MemoryHolds())

const DAY_MS = 86_400_000

describe('hold store: memory, after a restart', () => {
  const restored = () => {
    const store = new MemoryHolds()
    const [account, pool] = [accountId(), poolId()]
    store.restoreAccount(account, ZERO, micros(100), micros(100))
    const daily = { limit: micros(50), period: 'day', timezone: 'UTC' } as const
    const stored = { budget: daily, at: NOON, spent: micros(5), spentBefore: ZERO }
    store.restorePool({ id: pool, account, limit: null }, ZERO, [stored])
    const asked = { account, pool, creditPays: false }
    const restore = (amount: number, at: number) => {
      const hold = { ...asked, request: requestId(), amount: micros(amount), at }
      store.restoreHold({ ...hold, split: { credit: ZERO, paid: micros(amount) } })
      return hold.request
    }
    const hold = (amount: number) => store.hold({ ...asked, request: requestId(), amount: micros(amount), at: NOON })
    const budget = async () => {
      const { spent, held } = (await store.pool(pool, NOON))?.windows[0] ?? {}
      return [Number(spent), Number(held)]
    }
    return { store, restore, hold, budget }
  }

  test('a hold that outlived its process counts toward the budget of its day, until it is captured or released', async () => {
    const { store, restore, hold, budget } = restored()
    const request = restore(40, NOON - 1000)
    expect(await budget()).toEqual([5, 40])
    expect(hold(6)).toMatchObject({ ok: false, error: { window: { period: 'day' } } })
    store.fix(request, micros(30))
    store.captured(request)
    expect(await budget()).toEqual([35, 0])
    const other = restore(15, NOON - 1000)
    expect(hold(1)).toMatchObject({ ok: false, error: { window: { period: 'day' } } })
    store.release(other)
    expect([hold(15).ok, await budget()]).toEqual([true, [35, 15]])
  })

  test("one that began the day before does not count toward today's budget", async () => {
    const { store, restore, budget } = restored()
    const request = restore(40, NOON - DAY_MS)
    store.fix(request, micros(40))
    store.captured(request)
    expect(await budget()).toEqual([5, 0])
  })
})

test('a repeated capture gets the result of the first one after 4,096 and after 8,191 others, and is then forgotten', async () => {
  const store = new MemoryHolds()
  const account = accountId()
  store.restoreAccount(account, ZERO, micros(100_000), ZERO)
  const charge = (request: RequestId) => {
    const asked = { request, account, pool: null, amount: micros(1), creditPays: false, at: NOON }
    expect(store.hold(asked).ok).toBe(true)
    store.fix(request, micros(1))
    store.captured(request)
  }
  const others = (count: number) => {
    for (let calls = 0; calls < count; calls++) charge(requestId())
  }
  const request = requestId()
  charge(request)
  others(4096)
  expect(store.fix(request, micros(1))).toMatchObject({ ok: true, value: { first: false } })
  expect(store.fix(request, micros(2))).toEqual({ ok: false, error: 'settled_differently' })
  expect(() => charge(request)).toThrow('has its hold already')
  others(4095 - 1)
  expect(store.fix(request, micros(1))).toMatchObject({ ok: true, value: { first: false } })
  others(1)
  expect(store.fix(request, micros(1))).toEqual({ ok: false, error: 'unknown_hold' })
})

test('an account under review holds nothing until it is opened again; others and what it holds already go on', async () => {
  const store = new MemoryHolds()
  const [account, other] = [accountId(), accountId()]
  for (const id of [account, other]) store.restoreAccount(id, ZERO, micros(100), micros(100))
  const hold = (id: typeof account, request = requestId()) =>
    store.hold({ account: id, request, pool: null, amount: micros(10), creditPays: true, at: NOON })
  const open = requestId()
  expect(hold(account, open).ok).toBe(true)
  store.review(new Set([account]))
  expect([hold(account), hold(other).ok]).toEqual([{ ok: false, error: 'account_under_review' }, true])
  store.fix(open, micros(10))
  store.captured(open)
  expect(Number((await store.balance(account))?.posted)).toBe(90)
  store.review(new Set())
  expect(hold(account).ok).toBe(true)
})

describe('scopes in memory', () => {
  const opened = async () => {
    const store = new MemoryHolds()
    const [account, pool] = [accountId(), poolId()]
    store.restoreAccount(account, ZERO, micros(1_000_000), ZERO)
    store.restorePool({ id: pool, account, limit: null }, ZERO)
    await store.setScopeBudget(pool, { limit: micros(10), period: 'day', timezone: 'UTC' })
    const hold = (scope: string, at = NOON) => {
      expect(store.load(account, pool, scope, at)).toBeNull()
      const request = requestId()
      return { request, held: store.hold({ request, account, pool, scope, amount: micros(6), creditPays: true, at }) }
    }
    return { store, pool, hold }
  }

  test('are 10,000 in one period, and the next is refused by name, until a name that spent nothing leaves or the period ends', async () => {
    const { store, hold } = await opened()
    const first = hold('0')
    for (let i = 1; i < MAX_SCOPES; i++) expect(hold(String(i)).held).toMatchObject({ ok: true })
    expect(hold('one more').held).toEqual({ ok: false, error: 'too_many_scopes' })
    expect(hold('0').held).toMatchObject({ ok: false, error: { kind: 'scope', window: { spent: ZERO, held: 6 } } })
    store.release(first.request)
    expect(hold('one more').held.ok).toBe(true)
    expect(hold('two more').held).toEqual({ ok: false, error: 'too_many_scopes' })
    expect(hold('two more', NOON + DAY_MS).held).toEqual({ ok: false, error: 'too_many_scopes' })
  })

  test('with a call in progress keep it through any change of the budget', async () => {
    const { store, pool, hold } = await opened()
    const { request } = hold('run')
    await store.setScopeBudget(pool, { limit: micros(10), period: 'month', timezone: 'UTC' })
    expect(hold('run').held.ok).toBe(false)
    store.fix(request, micros(5))
    store.captured(request)
    expect(hold('run').held.ok).toBe(false)
    await store.setScopeBudget(pool, { limit: micros(11), period: 'month', timezone: 'UTC' })
    expect(hold('run').held.ok).toBe(true)
  })
})
