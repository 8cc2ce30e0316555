import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { GroupPool } from '../../../server/core/accounts/pool-budgets'
import { auditEntry, CONSOLE } from '../../../server/core/audit'
import type { Budget } from '../../../server/core/credentials/api-key'
import { accountPool, makeId } from '../../../server/core/ids'
import type { AccountBudgets } from '../../../server/http/account/account-budgets-record'
import { type Harness, type MadeKey, openHarness } from '../../support/harness'
import { auditRows, closeReconciled, IMAGES, keyBench, type Owner, read, refusalOf } from '../owner-bench'

const PRICE = 5000

let gateway: Harness
let owner: Owner
beforeAll(async () => {
  gateway = await openHarness()
})
afterAll(() => closeReconciled(gateway))

const ofDay = (limit_usd: number) => ({ limit_usd, period: 'day' as const, timezone: 'UTC' })
const put = (budgets: readonly object[], who = owner) => who.api('/api/account/budgets', { budgets }, 'PUT')
const set = (budgets: readonly object[], who = owner) => read<AccountBudgets>(put(budgets, who))
const call = async (key: MadeKey, from = gateway) => (await from.as(key, IMAGES)).status
const made = async (body: Record<string, unknown> = {}) => {
  const { key, secret } = await keyBench(owner).create(body)
  return { id: key.id, secret }
}

describe("an account's budgets", () => {
  beforeAll(async () => {
    owner = await gateway.owner()
  })

  test('are none at first, cap all of its keys at once, and name the workspace in the refusal', async () => {
    expect(await read(owner.api('/api/account/budgets'))).toEqual({ budgets: [], budget_windows: [] })
    const [one, two] = [await made(), await made({ budgets: [ofDay(1)] })]
    expect([await call(one), await call(two)]).toEqual([200, 200])
    const { budgets, budget_windows } = await set([ofDay(0.06)])
    expect(budgets).toEqual([ofDay(0.06)])
    expect(budget_windows).toMatchObject([{ spent_micros_usd: 2 * PRICE, remaining_micros_usd: 10 * PRICE }])
    const ends = await Promise.all(Array.from({ length: 200 }, (_, i) => call(i % 2 === 0 ? one : two)))
    expect(ends.filter((status) => status === 200)).toHaveLength(10)
    gateway.clock.advance(60_000)
    const { error } = await read<{ error: Record<string, unknown> }>(gateway.as(one, IMAGES), 429)
    expect(error).toMatchObject({ code: 'quota_exceeded', limit_source: 'account' })
    expect(error['message']).toContain('the budget of this workspace, 0.06 USD a day')
    expect((await set([])).budgets).toEqual([])
    expect(await call(one)).toBe(200)
  })

  test('may be raised until a time, and the change is in the audit log with the old ones', async () => {
    const key = await made()
    await set([ofDay(0.000001)])
    expect(await call(key)).toBe(429)
    const until = new Date(gateway.clock.now() + 1000).toISOString()
    await set([{ ...ofDay(0.000001), raise: { usd: 5, until } }])
    expect(await call(key)).toBe(200)
    gateway.clock.advance(1000)
    expect(await call(key)).toBe(429)
    expect(await refusalOf(put([{ ...ofDay(1), raise: { usd: 5, until } }]))).toMatchObject({ status: 400 })
    const rows = (await auditRows(gateway)).filter((row) => row.action === 'account.budgets')
    expect(rows.at(-1)?.before).toContain('"limitUsd":0.000001,')
    await set([])
  })

  test('are refused with a rule, and nothing changes', async () => {
    for (const budgets of [[ofDay(0)], [ofDay(1), ofDay(2)], [{ ...ofDay(1), period: 'year' }], 'none', null])
      expect(await refusalOf(put(budgets as never))).toMatchObject({ status: 400, param: 'budgets' })
    expect((await read<AccountBudgets>(owner.api('/api/account/budgets'))).budgets).toEqual([])
  })

  test('belong to their account alone', async () => {
    const other = await gateway.owner()
    await set([ofDay(0.000001)], other)
    expect(await call(await made())).toBe(200)
    expect((await read<AccountBudgets>(owner.api('/api/account/budgets'))).budgets).toEqual([])
  })
})

describe("a member's budgets", () => {
  const daily = (limitUsd: number): Budget => ({ limitUsd, period: 'day', timezone: 'UTC' })
  const whole = (budgets: readonly Budget[]) => ({ isWhole: true, form: { budgets }, errors: [] }) as const

  test('cap all keys made below it, and a moved key takes its spending of the period along', async () => {
    const { poolBudgets, keys, ledger } = gateway.core
    const who = await gateway.account(1)
    const [one, two] = ['a', 'b'].map(
      (): GroupPool => ({ id: makeId('pool', gateway.clock.now()), accountId: who.id, kind: 'member' }),
    ) as [GroupPool, GroupPool]
    for (const pool of [one, two]) await poolBudgets.open(pool)
    await poolBudgets.set(one, whole([daily(0.05)]), CONSOLE)
    await poolBudgets.set(two, whole([daily(0.1)]), CONSOLE)
    const own = { accountId: who.id, tier: { ...who, toppedUp: 0 }, actor: CONSOLE } as never
    const audit = auditEntry({
      at: 1,
      actor: CONSOLE,
      accountId: who.id,
      action: 'key.change',
      detail: {},
      before: null,
    })
    const make = async (name: string) => {
      const created = await keys.create(own, { isWhole: true, form: { name }, errors: [] })
      if (!created.ok) throw new Error(created.error.message)
      await poolBudgets.move(who.id, created.value.key.poolId, one.id, audit)
      return created.value
    }
    const made = [await make('one'), await make('two')]
    const [first, second] = made.map(({ key, secret }) => ({ id: key.id, secret })) as [MadeKey, MadeKey]
    expect([await call(first), await call(first)]).toEqual([200, 200])
    const ends = await Promise.all(Array.from({ length: 200 }, () => call(second)))
    expect(ends.filter((status) => status === 200)).toHaveLength(8)
    const { error } = await read<{ error: Record<string, unknown> }>(gateway.as(first, IMAGES), 429)
    expect(error['message']).toContain('the budget of the member who made this key')
    const pool = made[0]!.key.poolId
    await poolBudgets.move(who.id, pool, two.id, audit)
    const spent = async ({ id }: GroupPool) => Number((await ledger.pool(id))?.windows[0]?.spent)
    expect([await spent(one), await spent(two)]).toEqual([8 * PRICE, 2 * PRICE])
    expect(await call(second)).toBe(200)
    const more = await Promise.all(Array.from({ length: 40 }, () => call(first)))
    expect(more.filter((status) => status === 200)).toHaveLength(18)
  })

  test('are the same after a restart, from what was charged below them', async () => {
    const before = await openHarness()
    const who = await before.account(1)
    const member: GroupPool = { id: makeId('pool', 5), accountId: who.id, kind: 'member' }
    const all: GroupPool = { id: accountPool(who.id), accountId: who.id, kind: 'account' }
    await before.core.poolBudgets.set(member, whole([daily(0.05)]), CONSOLE)
    await before.core.poolBudgets.set(all, whole([daily(0.03), { ...daily(1), period: 'month' }]), CONSOLE)
    const own = { accountId: who.id, tier: { ...who, toppedUp: 0 }, actor: CONSOLE } as never
    const created = await before.core.keys.create(own, { isWhole: true, form: { name: 'one' }, errors: [] })
    if (!created.ok) throw new Error(created.error.message)
    const audit = auditEntry({ at: 1, actor: CONSOLE, accountId: who.id, action: 'key.change' })
    await before.core.poolBudgets.move(who.id, created.value.key.poolId, member.id, audit)
    const key = { id: created.value.key.id, secret: created.value.secret }
    const plain = await before.key(who)
    for (const one of [key, key, plain]) expect(await call(one, before)).toBe(200)
    await before.close(true)
    const after = await openHarness({ folder: before.folder, now: before.clock.now() })
    const windows = async ({ id }: GroupPool) =>
      (await after.core.ledger.pool(id))?.windows.map(({ period, spent }) => [period, Number(spent)])
    expect(await call(plain, after)).toBe(200)
    expect(await windows(all)).toEqual([
      ['day', 4 * PRICE],
      ['month', 4 * PRICE],
    ])
    expect(await windows(member)).toEqual([['day', 2 * PRICE]])
    expect([await call(key, after), await call(key, after), await call(key, after)]).toEqual([200, 200, 429])
    await closeReconciled(after)
  })
})
