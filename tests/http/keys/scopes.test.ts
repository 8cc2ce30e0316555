import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Account } from '../../../server/core/accounts/account'
import type { UsageReport } from '../../../server/http/usage/record'
import { type Harness, type MadeKey, openHarness } from '../../support/harness'
import { closeReconciled, IMAGES, keyBench, read } from '../owner-bench'

const PRICE = 5000

let gateway: Harness
let account: Account
beforeAll(async () => {
  gateway = await openHarness()
  account = await gateway.account(100)
})
afterAll(() => closeReconciled(gateway))

const call = (key: MadeKey, scope: string | null, from = gateway) =>
  from.as(key, IMAGES, { headers: scope === null ? {} : { 'x-budget-scope': scope } })
const status = async (key: MadeKey, scope: string | null, from = gateway) => (await call(key, scope, from)).status
const usageOf = (key: MadeKey) => read<UsageReport>(gateway.as(key, '/v1/usage?group_by=scope'))
const perDay = (limit_usd: number) => ({ limit_usd, period: 'day' as const })

describe('a budget for each scope of a key', () => {
  test('serves exactly what fits of each of two hundred calls at once, and other scopes and calls without one go on', async () => {
    const key = await gateway.key(account, { scope_budget: perDay(0.05) })
    const scopes = ['run_1', 'run_2']
    const ends = await Promise.all(
      Array.from({ length: 200 }, async (_, i) => [scopes[i % 2], await status(key, scopes[i % 2] ?? null)] as const),
    )
    for (const scope of scopes) expect(ends.filter(([name, end]) => name === scope && end === 200)).toHaveLength(10)
    const { error } = await read<{ error: Record<string, unknown> }>(call(key, 'run_1'), 429)
    expect(error).toMatchObject({ code: 'quota_exceeded', limit_source: 'key' })
    expect(error['message']).toContain(
      'the budget of scope run_1, 0.05 USD a day, leaves less than that until 2026-11-22',
    )
    expect([await status(key, 'run_3'), await status(key, null)]).toEqual([200, 200])
    expect((await usageOf(key)).groups?.map(({ name, requests }) => [name, requests])).toEqual([
      ['run_1', 10],
      ['run_2', 10],
      ['run_3', 1],
    ])
  })

  test('counts within the limit of the key, which stays the first to bind for all', async () => {
    const key = await gateway.key(account, { scope_budget: perDay(0.05), spending_limit: 0.02 })
    const ends = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map((scope) => status(key, scope)))
    expect(ends.filter((end) => end === 200)).toHaveLength(4)
    expect(await status(key, 'a')).toBe(402)
  })

  test('of a failed call is given back', async () => {
    const key = await gateway.key(account, { scope_budget: perDay(0.005) })
    const good = gateway.images.answer
    gateway.images.answer = async () => ({ ok: false, error: { kind: 'error', reason: 'broken' } })
    expect(await status(key, 'x')).toBe(502)
    gateway.images.answer = good
    expect([await status(key, 'x'), await status(key, 'x')]).toEqual([200, 429])
  })

  test('set later counts what its scopes spent today, and a successor shares it', async () => {
    const bench = keyBench(await gateway.owner())
    const { key: made, secret } = await bench.create()
    const key = { id: made.id, secret }
    expect([await status(key, 'c'), await status(key, 'c')]).toEqual([200, 200])
    expect(await bench.change(made.id, { scope_budget: perDay(0.015) })).toMatchObject({ scope_budget: perDay(0.015) })
    expect([await status(key, 'c'), await status(key, 'c')]).toEqual([200, 429])
    const next = await bench.rotate(made.id)
    expect(await status({ id: next.key.id, secret: next.secret }, 'c')).toBe(429)
    await bench.change(made.id, { scope_budget: perDay(0.02) })
    expect([await status(key, 'c'), await status(key, 'c')]).toEqual([200, 429])
    await bench.change(made.id, { scope_budget: { limit_usd: 0.03, period: 'month' } })
    expect([await status(key, 'c'), await status(key, 'c'), await status(key, 'c')]).toEqual([200, 200, 429])
    await bench.change(made.id, { scope_budget: null })
    expect(await status(key, 'c')).toBe(200)
  })

  test('begins anew with the day in UTC', async () => {
    const key = await gateway.key(account, { scope_budget: perDay(0.005) })
    expect([await status(key, 'n'), await status(key, 'n')]).toEqual([200, 429])
    gateway.clock.advance(86_400_000)
    expect([await status(key, 'n'), await status(key, 'n')]).toEqual([200, 429])
  })

  test('is read from the tables before the first hold after a restart', async () => {
    const before = await openHarness()
    const who = await before.account(1)
    const key = await before.key(who, { scope_budget: perDay(0.02) })
    for (const scope of ['a', 'a', 'b']) expect(await status(key, scope, before)).toBe(200)
    await before.close(true)
    const after = await openHarness({ folder: before.folder, now: before.clock.now() })
    const ends = await Promise.all(Array.from({ length: 40 }, (_, i) => status(key, i % 2 ? 'a' : 'b', after)))
    expect(ends.filter((end) => end === 200)).toHaveLength(5)
    await closeReconciled(after)
  })
})

describe('X-Budget-Scope', () => {
  test.each(['', 'a b', 'ä', 'x'.repeat(65), '{}'])('%j is refused by its rule', async (scope) => {
    const key = await gateway.key(account)
    const { error } = await read<{ error: Record<string, unknown> }>(call(key, scope), 400)
    expect(error).toMatchObject({ code: 'invalid_parameter', param: 'x-budget-scope' })
  })

  test('is counted in usage on a key without a budget for it, for the owner too, and changes nothing else', async () => {
    const owner = await gateway.owner()
    const { key: made, secret } = await keyBench(owner).create()
    const key = { id: made.id, secret }
    for (const scope of ['cust:7', 'cust:7', 'cust@9', null]) expect(await status(key, scope)).toBe(200)
    const { groups } = await read<UsageReport>(owner.api('/api/usage?group_by=scope'))
    expect(groups?.map(({ name, charged_micros_usd }) => [name, charged_micros_usd])).toEqual([
      ['cust:7', 2 * PRICE],
      ['cust@9', PRICE],
    ])
    expect((await usageOf(key)).totals.requests).toBe(4)
    expect((await usageOf(await gateway.key(account))).groups).toEqual([])
  })
})
