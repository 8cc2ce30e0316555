import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Account } from '../../../server/core/accounts/account'
import type { Budget } from '../../../server/core/credentials/api-key'
import { micros } from '../../../server/core/money'
import { ok } from '../../../server/core/result'
import type { KeyRecord } from '../../../server/http/keys/record'
import { type Harness, type MadeKey, openHarness } from '../../support/harness'
import { closeReconciled, IMAGES, keyBench, read } from '../owner-bench'

const PRICE = 5000
const HOUR = 3_600_000

let gateway: Harness
let account: Account
beforeAll(async () => {
  gateway = await openHarness()
  account = await gateway.account(100)
})
afterAll(() => closeReconciled(gateway))

const daily = (limit_usd: number, timezone = 'UTC', period = 'day') => ({
  limit_usd,
  period: period as Budget['period'],
  timezone,
})
const call = (key: MadeKey, from = gateway) => from.as(key, IMAGES)
const until = (time: string) => gateway.clock.advance(Date.parse(time) - gateway.clock.now())

/** Status, code and Retry-After of one call. */
async function outcome(key: MadeKey, from = gateway): Promise<string> {
  const answer = await call(key, from)
  if (answer.status === 200) return '200'
  const { error } = (await answer.json()) as { error: { code: string; retry_after?: number } }
  const wait = answer.headers.get('retry-after')
  if (wait !== null) expect(String(error.retry_after)).toBe(wait)
  return `${answer.status} ${error.code}${wait === null ? '' : ` ${wait}`}`
}

/** Calls until one is refused; gives how many were served, and the refusal. */
async function served(key: MadeKey, from = gateway): Promise<[number, string]> {
  for (let count = 0; ; count++) {
    const end = await outcome(key, from)
    if (end !== '200') return [count, end]
  }
}

describe('a budget per period (spec 7, spec D3)', () => {
  test('stops at the amount with 429 quota_exceeded, Retry-After to the end of the day in its zone, and charges nothing', async () => {
    until('2026-11-22T12:00:20Z')
    const key = await gateway.key(account, { budget: daily(0.012, 'Asia/Kathmandu') })
    // 17:45:20 in Kathmandu: 6 h 14 min 40 s to midnight.
    expect(await served(key)).toEqual([2, '429 quota_exceeded 22480'])
    const answer = await call(key)
    expect(answer.headers.get('x-cost-micros-usd')).toBe('0')
    const { error } = (await answer.json()) as { error: Record<string, unknown> }
    expect(error).toMatchObject({ type: 'rate_limit_error', limit_source: 'key' })
    expect(error['message']).toContain('2026-11-22T18:15:00.000Z')
    gateway.clock.advance(22_480_000 - 1)
    expect(await outcome(key)).toBe('429 quota_exceeded 1')
    gateway.clock.advance(1)
    expect(await served(key)).toEqual([2, '429 quota_exceeded 86400'])
  })

  test("one call while the clock is four years ahead locks nothing: today's budget is unchanged, and tomorrow starts a new one", async () => {
    until('2026-11-25T23:00:00Z')
    const key = await gateway.key(account, { budget: daily(0.012) })
    expect(await outcome(key)).toBe('200')
    until('2030-11-25T12:00:00Z')
    expect(await outcome(key)).toBe('200')
    until('2026-11-25T23:10:00Z')
    expect(await served(key)).toEqual([1, '429 quota_exceeded 3000'])
    until('2026-11-26T00:00:00Z')
    expect(await served(key)).toEqual([2, '429 quota_exceeded 86400'])
  })

  test.each([
    ['day', '2027-03-28T00:30:00+01:00', 22.5],
    ['day', '2027-10-31T00:30:00+02:00', 24.5],
    ['week', '2027-03-22T00:30:00+01:00', 6 * 24 + 22.5],
    ['week', '2027-10-25T00:30:00+02:00', 6 * 24 + 24.5],
    ['month', '2028-03-01T00:30:00+01:00', 30 * 24 + 22.5],
    ['month', '2028-10-01T00:30:00+02:00', 30 * 24 + 24.5],
  ])(
    'of a %s in Berlin from %s lasts exactly that calendar period, through clock changes',
    async (period, from, hours) => {
      until(from)
      const key = await gateway.key(account, { budget: daily(0.005, 'Europe/Berlin', period) })
      expect(await served(key)).toEqual([1, `429 quota_exceeded ${hours * 3600}`])
      gateway.clock.advance(hours * HOUR - 1)
      expect(await outcome(key)).toBe('429 quota_exceeded 1')
      gateway.clock.advance(1)
      expect((await served(key))[0]).toBe(1)
    },
  )

  test('is not exceeded by twenty calls at once: calls in progress count', async () => {
    const key = await gateway.key(account, { budget: daily(0.04) })
    const ends = await Promise.all(Array.from({ length: 20 }, () => outcome(key)))
    expect(ends.filter((end) => end === '200')).toHaveLength(8)
    expect(ends.filter((end) => end.startsWith('429 quota_exceeded'))).toHaveLength(12)
  })

  test('releases the hold of a failed call', async () => {
    const key = await gateway.key(account, { budget: daily(0.005) })
    const good = gateway.images.answer
    gateway.images.answer = async () => ({ ok: false, error: { kind: 'error', reason: 'broken' } })
    expect(await outcome(key)).toBe('502 upstream_error')
    gateway.images.answer = good
    expect((await served(key))[0]).toBe(1)
  })

  test('counts a call in the period in which it began, also when it ends in the next', async () => {
    until('2028-12-01T23:59:59.500Z')
    const key = await gateway.key(account, { budget: daily(0.005) })
    const gate = Promise.withResolvers<void>()
    const good = gateway.images.answer
    gateway.images.answer = async () => {
      await gate.promise
      return ok({ body: '{}' })
    }
    const late = call(key)
    expect(await outcome(key)).toBe('429 quota_exceeded 1')
    gateway.clock.advance(1000)
    gateway.images.answer = good
    expect((await served(key))[0]).toBe(1)
    gate.resolve()
    expect((await late).status).toBe(200)
    expect(await outcome(key)).toStartWith('429 quota_exceeded')
  })

  test('is checked after the spending limit and before the balance', async () => {
    const poor = await gateway.account()
    const empty = async (body: Record<string, unknown>) => outcome(await gateway.key(poor, body))
    const drain = await gateway.key(poor)
    const balance = await gateway.core.ledger.balance(poor.id)
    await gateway.core.ledger.hold({
      request: 'req_drain',
      account: poor.id,
      pool: null,
      creditPays: true,
      at: 0,
      amount: micros(balance?.available ?? 0),
    })
    expect(await outcome(drain)).toBe('402 insufficient_balance')
    expect(await empty({ budget: daily(0.001) })).toStartWith('429 quota_exceeded')
    expect(await empty({ budget: daily(0.001), spending_limit: 0.001 })).toBe('402 insufficient_api_key_balance')
  })

  test('bounds what a quote says is available', async () => {
    const key = await gateway.key(account, { budget: daily(0.012) })
    await call(key)
    const answer = await gateway.as(key, IMAGES, { headers: { 'x-cost-mode': 'quote' } })
    expect(await answer.json()).toMatchObject({ quote: { available_micros_usd: 7000 } })
  })
})

describe('several budgets of a key', () => {
  const message = async (key: MadeKey) =>
    String(((await (await call(key)).json()) as { error: { message: string } }).error.message)

  test('all hold: the refusal names the one that leaves less, and the next day serves up to the month', async () => {
    until('2031-11-10T12:00:00Z')
    const key = await gateway.key(account, { budgets: [daily(0.03, 'UTC', 'month'), daily(0.02)] })
    expect(await served(key)).toEqual([4, '429 quota_exceeded 43200'])
    expect(await message(key)).toContain(
      'the budget of this key, 0.02 USD a day, leaves less than that until 2031-11-11',
    )
    until('2031-11-11T00:00:00Z')
    expect((await served(key))[0]).toBe(2)
    expect(await message(key)).toContain('0.03 USD a month, leaves less than that until 2031-12-01')
    until('2031-12-01T00:00:00Z')
    expect((await served(key))[0]).toBe(4)
  })

  test('serve exactly what fits of two hundred calls at once', async () => {
    const key = await gateway.key(account, { budgets: [daily(0.25), daily(0.2, 'Asia/Tokyo', 'week')] })
    const ends = await Promise.all(Array.from({ length: 200 }, () => outcome(key)))
    expect(ends.filter((end) => end === '200')).toHaveLength(40)
  })

  test('are shown shortest first, and the old member budget shows and sets the only one', async () => {
    const bench = keyBench(await gateway.owner())
    const month = { ...daily(3, 'UTC', 'month'), raise: { usd: 2, until: '2099-01-01T00:00:00.000Z' } }
    const { key } = await bench.create({ budgets: [month, daily(1)] })
    expect(key).toMatchObject({ budgets: [daily(1), month], budget: daily(1) })
    expect(key.budget_windows.map((one) => [one.period, one.remaining_micros_usd])).toEqual([
      ['day', 1_000_000],
      ['month', 5_000_000],
    ])
    const changed = await bench.change(key.id, { budget: daily(2, 'UTC', 'week') })
    expect(changed).toMatchObject({ budgets: [daily(2, 'UTC', 'week')], budget: daily(2, 'UTC', 'week') })
    const { budget, budgets } = key
    expect((await bench.change(key.id, { budget, budgets })).budgets).toEqual(budgets)
    const owner = await gateway.owner()
    const both = await owner.api('/api/keys', { name: 'both', budget: daily(2), budgets: [daily(1)] })
    expect([both.status, await both.text()]).toEqual([400, expect.stringContaining('must not differ')])
  })

  test('a raise serves more until its end to the millisecond, and a change of it forgets no spending', async () => {
    until('2032-03-01T10:00:00Z')
    const bench = keyBench(await gateway.owner())
    const { key: made, secret } = await bench.create({ budgets: [daily(0.01)] })
    const key = { id: made.id, secret }
    expect((await served(key))[0]).toBe(2)
    await bench.change(made.id, { budgets: [{ ...daily(0.01), raise: { usd: 0.02, until: '2032-03-01T10:00:05Z' } }] })
    expect(await outcome(key)).toBe('200')
    gateway.clock.advance(4_999)
    expect(await outcome(key)).toBe('200')
    gateway.clock.advance(1)
    expect(await outcome(key)).toBe('429 quota_exceeded 50395')
    expect((await bench.get(made.id)).budgets).toEqual([daily(0.01)])
    until('2032-03-02T00:00:00Z')
    expect((await served(key))[0]).toBe(2)
  })
})

describe('the owner', () => {
  test('sees what is spent of the running period and when it ends', async () => {
    const owner = await gateway.owner()
    const { key, secret } = await keyBench(owner).create({ budget: daily(0.012, 'UTC', 'month') })
    expect(key.budget_window).toMatchObject({ spent_micros_usd: 0, remaining_micros_usd: 12_000 })
    await call({ id: key.id, secret })
    const now = new Date(gateway.clock.now())
    expect((await keyBench(owner).get(key.id)).budget_window).toEqual({
      spent_micros_usd: PRICE,
      remaining_micros_usd: 7000,
      starts_at: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth())).toISOString(),
      ends_at: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString(),
    })
    expect((await keyBench(owner).create()).key.budget_window).toBeNull()
  })

  test('adds a budget to a key with spending: earlier charges of the period count, from the ledger', async () => {
    until('2029-05-10T10:00:00Z')
    const owner = await gateway.owner()
    const { key, secret } = await keyBench(owner).create()
    const made = { id: key.id, secret }
    for (let i = 0; i < 3; i++) await call(made)
    gateway.clock.advance(24 * HOUR)
    for (let i = 0; i < 2; i++) await call(made)
    const spent = async (period: string) =>
      (await keyBench(owner).change(key.id, { budget: daily(0.03, 'UTC', period) })).budget_window?.spent_micros_usd
    expect(await spent('day')).toBe(2 * PRICE)
    expect(await spent('week')).toBe(5 * PRICE)
    expect(await served(made)).toEqual([1, expect.stringMatching(/^429 quota_exceeded/)])
    await keyBench(owner).change(key.id, { budget: null })
    expect(await outcome(made)).toBe('200')
    expect(await spent('day')).toBe(4 * PRICE)
  })

  test('changes it while calls run: only calls already in progress can exceed the new amount', async () => {
    const owner = await gateway.owner()
    const { key, secret } = await keyBench(owner).create({ budget: daily(0.1) })
    const made = { id: key.id, secret }
    const ends = Array.from({ length: 8 }, () => outcome(made))
    const changed = keyBench(owner).change(key.id, { budget: daily(0.05) })
    const more = Array.from({ length: 8 }, () => outcome(made))
    await changed
    const done = (await Promise.all([...ends, ...more])).filter((end) => end === '200').length
    expect((await keyBench(owner).get(key.id)).budget_window?.spent_micros_usd).toBe(done * PRICE)
    expect(await served(made)).toEqual([Math.max(0, 10 - done), expect.stringMatching(/^429/)])
  })

  test('rotates the key: the successor shares the budget and what is spent of it', async () => {
    const owner = await gateway.owner()
    const first = await keyBench(owner).create({ budget: daily(0.02) })
    await call({ id: first.key.id, secret: first.secret })
    const next = await keyBench(owner).rotate(first.key.id)
    const window = (record: KeyRecord) => record.budget_window?.spent_micros_usd
    expect(window(next.key)).toBe(PRICE)
    expect((await served({ id: next.key.id, secret: next.secret }))[0]).toBe(3)
    expect(await outcome({ id: first.key.id, secret: first.secret })).toStartWith('429 quota_exceeded')
  })
})

test('a restart computes what is spent of every budget from the ledger', async () => {
  const before = await openHarness()
  const rich = await before.account(10)
  const periods = ['day', 'week', 'month'] as const
  const keys = await Promise.all(
    periods.map((period) => before.key(rich, { budget: daily(0.05, 'America/New_York', period) })),
  )
  const plain = await before.key(rich)
  const all = await before.key(rich, { budgets: periods.map((period) => daily(0.05, 'America/New_York', period)) })
  // The 1st is a Sunday; 04:00 to 06:00 UTC is around midnight in New York, an hour later after the clock went back.
  for (const time of ['2026-12-01T04:59:59Z', '2026-12-01T05:00:00Z', '2026-12-07T04:59:59Z', '2026-12-07T05:00:00Z']) {
    before.clock.advance(Date.parse(time) - before.clock.now())
    for (const key of [...keys, plain, all]) expect(await outcome(key, before)).toBe('200')
  }
  const spent = async (from: Harness) => {
    const windows = await Promise.all(
      [...keys, all].map(async (key) => {
        const found = await from.core.credentials.byId(key.id as `key_${string}`)
        return found && (await from.core.ledger.pool(found.poolId))?.windows.map((window) => window.spent)
      }),
    )
    return windows.flat()
  }
  const expected = [PRICE, PRICE, 3 * PRICE, PRICE, PRICE, 3 * PRICE].map(micros)
  expect(await spent(before)).toEqual(expected)
  await before.close(true)
  const after = await openHarness({ folder: before.folder, now: before.clock.now() })
  expect(await spent(after)).toEqual(expected)
  expect((await served(keys[2] as MadeKey, after))[0]).toBe(7)
  expect(await read<unknown>(after.as(plain, IMAGES))).toBeDefined()
  await closeReconciled(after)
})
