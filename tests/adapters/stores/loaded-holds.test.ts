import { describe, expect, test } from 'bun:test'
import { LoadedHolds } from '../../../server/adapters/stores/memory/loaded-holds'
import type { AccountId, PoolId } from '../../../server/core/ids'
import type { StoredAccount, StoredPool } from '../../../server/core/ledger/hold'
import { micros, ZERO } from '../../../server/core/money'
import { reasonOf } from '../../../server/core/result'
import { accountId, NOON, poolId, requestId } from '../../support/ledger-parts'

/** Tables that answer when they are told to, with what they had when they were asked. */
class SlowTables {
  readonly accounts = new Map<AccountId, StoredAccount>()
  readonly pools = new Map<PoolId, StoredPool>()
  readonly spent = new Map<string, number>()
  reads = 0
  private gate = Promise.withResolvers<void>()

  constructor() {
    this.gate.resolve()
  }

  /** Answers nothing until `answer`. */
  wait(): void {
    this.gate = Promise.withResolvers()
  }

  answer(): void {
    this.gate.resolve()
  }

  fail(error: Error): void {
    this.gate.reject(error)
  }

  async scope(_pool: PoolId, scope: string) {
    this.reads++
    const spent = micros(this.spent.get(scope) ?? 0)
    await this.gate.promise
    return { at: NOON, spent, spentBefore: ZERO }
  }

  account(id: AccountId) {
    return this.later(this.accounts.get(id) ?? null)
  }

  pool(id: PoolId) {
    return this.later(this.pools.get(id) ?? null)
  }

  private async later<T>(found: T): Promise<T> {
    this.reads++
    await this.gate.promise
    return found
  }
}

const balance = (paid: number): StoredAccount => ({ credit: ZERO, paid: micros(paid), toppedUp: ZERO, debt: ZERO })

/** Why something failed. `expect(...).rejects` would not let the tables answer meanwhile. */
const reasonFor = (asked: Promise<unknown> | null): Promise<string> =>
  Promise.resolve(asked).then(() => 'it did not fail', reasonOf)

function opened() {
  const holds = new LoadedHolds()
  const tables = new SlowTables()
  const [account, pool] = [accountId(), poolId()]
  tables.accounts.set(account, balance(100))
  const stored = (limit: number | null, more: Partial<StoredPool> = {}) =>
    tables.pools.set(pool, {
      accountId: account,
      spent: ZERO,
      budgets: [],
      limit: limit === null ? null : micros(limit),
      ...more,
    })
  stored(null)
  holds.readFrom(tables)
  const hold = async (amount: number, at = NOON) => {
    await holds.load(account, pool)
    return holds.hold({ request: requestId(), account, pool, amount: micros(amount), creditPays: true, at })
  }
  return { holds, tables, account, pool, stored, hold }
}

describe('counters that are read at their first use', () => {
  test('decide exactly when a hundred calls are the first use of an account and its pool', async () => {
    const { holds, account, tables, hold } = opened()
    tables.wait()
    const calls = Array.from({ length: 100 }, () => hold(7))
    tables.answer()
    const granted = (await Promise.all(calls)).filter(({ ok }) => ok).length
    expect([granted, Number((await holds.balance(account))?.available)]).toEqual([14, 2])
  })

  test('are read once', async () => {
    const { holds, account, pool, tables, hold } = opened()
    await hold(1)
    expect(tables.reads).toBe(3)
    tables.accounts.set(account, balance(1_000_000))
    await hold(1)
    expect(holds.load(account, pool)).toBeNull()
    expect(Number((await holds.balance(account))?.paid)).toBe(100)
    expect(Number((await holds.pool(pool, NOON))?.held)).toBe(2)
    expect(tables.reads).toBe(3)
  })

  test('keep what was held and added while a slower read of them was on its way', async () => {
    const { holds, account, tables, hold } = opened()
    tables.wait()
    const slow = Promise.all([holds.load(account), hold(60)])
    tables.answer()
    await holds.load(account)
    holds.credited({ account, part: 'paid', amount: micros(5), toppedUp: micros(5) })
    await slow
    expect(Number((await holds.balance(account))?.available)).toBe(45)
  })

  test('have a limit that is set while the pool is read for the first time', async () => {
    const { holds, pool, tables, hold } = opened()
    tables.wait()
    const first = holds.pool(pool, NOON)
    const set = holds.setPoolLimit(pool, micros(10))
    tables.answer()
    await Promise.all([first, set])
    expect(Number((await holds.pool(pool, NOON))?.limit)).toBe(10)
    expect(await hold(11)).toMatchObject({ ok: false, error: { window: null } })
  })

  test('grant nothing and count nothing when the tables cannot be read, and are read again', async () => {
    const { holds, account, tables, hold } = opened()
    tables.wait()
    const refused = [hold(5), holds.balance(account), holds.load(account)].map(reasonFor)
    tables.fail(new Error('the database is gone'))
    expect(await Promise.all(refused)).toEqual(Array(3).fill('the database is gone'))
    tables.wait()
    tables.answer()
    expect((await hold(100)).ok).toBe(true)
    expect((await hold(1)).ok).toBe(false)
  })

  test('refuse what they are asked to change without having it', async () => {
    const { holds, account } = opened()
    const change = { account, part: 'paid' as const, amount: micros(5), toppedUp: ZERO }
    expect(() => holds.credited(change)).toThrow('unknown account')
    expect(() => holds.takenBack(account, { paid: micros(5), debt: ZERO }, ZERO)).toThrow('unknown account')
  })

  test('know the balance of an account that exists, and none of one that does not', async () => {
    const { holds, account } = opened()
    const nobody = accountId()
    await holds.openAccount(account)
    expect(Number((await holds.balance(account))?.paid)).toBe(100)
    expect(await holds.balance(nobody)).toBeNull()
    await holds.openAccount(nobody)
    expect(Number((await holds.balance(nobody))?.posted)).toBe(0)
  })

  test('read a scope again that left memory, with what it was charged meanwhile', async () => {
    const { holds, account, pool, tables } = opened()
    await holds.load(account, pool)
    await holds.setScopeBudget(pool, { limit: micros(9), period: 'day', timezone: 'UTC' })
    const hold = async (scope: string, amount: number) => {
      await holds.load(account, pool, scope, NOON)
      const request = requestId()
      const asked = { account, pool, scope, request, amount: micros(amount), creditPays: true, at: NOON }
      return { request, granted: holds.hold(asked) }
    }
    const first = await hold('first', 4)
    holds.fix(first.request, micros(4))
    holds.captured(first.request)
    for (let i = 0; i < 2000; i++) await hold(`other ${i}`, 0)
    tables.spent.set('first', 4)
    expect((await hold('first', 6)).granted).toMatchObject({ ok: false, error: { kind: 'scope' } })
    expect((await hold('first', 5)).granted.ok).toBe(true)
  })

  test('a scope that is charged and leaves while an older read of it is on its way is read again', async () => {
    const { holds, account, pool, tables } = opened()
    await holds.load(account, pool)
    await holds.setScopeBudget(pool, { limit: micros(9), period: 'day', timezone: 'UTC' })
    tables.wait()
    const slow = holds.load(account, pool, 'run', NOON)
    // Another period: all that is known of scopes is forgotten.
    await holds.setScopeBudget(pool, { limit: micros(9), period: 'month', timezone: 'UTC' })
    tables.spent.set('run', 9)
    tables.answer()
    await slow
    const asked = { account, pool, scope: 'run', request: requestId(), amount: micros(1), creditPays: true, at: NOON }
    expect(holds.hold(asked)).toMatchObject({ ok: false, error: { kind: 'scope' } })
  })

  test('count a call that began before midnight toward the budget of that day, whenever they were read', async () => {
    const { holds, pool, stored, hold } = opened()
    const midnight = Date.UTC(2026, 10, 22)
    const day = { limit: micros(50), period: 'day', timezone: 'UTC' } as const
    stored(null, { budgets: [{ budget: day, at: midnight + 1000, spent: micros(3), spentBefore: micros(45) }] })
    await holds.pool(pool, NOON)
    expect(await hold(6, midnight - 1)).toMatchObject({ ok: false, error: { window: { period: 'day' } } })
    expect((await hold(5, midnight - 1)).ok).toBe(true)
    expect((await hold(47, midnight + 2000)).ok).toBe(true)
    expect(await hold(1, midnight + 2000)).toMatchObject({ ok: false, error: { window: { period: 'day' } } })
  })
})
