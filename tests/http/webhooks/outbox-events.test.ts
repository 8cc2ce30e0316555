import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { micros } from '../../../server/core/money'
import { type Harness, openHarness } from '../../support/harness'
import { until } from '../../support/until'
import { closeReconciled, IMAGES, keyBench, read } from '../owner-bench'

interface OutboxEvent {
  readonly id: string
  readonly type: string
  readonly key_id: string | null
  readonly data: string
}

let gateway: Harness
beforeEach(async () => {
  gateway = await openHarness()
  await gateway.account()
})
afterEach(() => closeReconciled(gateway))

const OPERATOR = { kind: 'operator', id: 'test', address: null } as const

/** The outbox, oldest first, once the tables have every charge. */
async function eventsOf(type: string, of: Harness = gateway): Promise<OutboxEvent[]> {
  await of.core.stores.applied()
  return of.core.stores.db.all<OutboxEvent>(
    sql`SELECT id, type, key_id, data FROM events WHERE type = ${type} ORDER BY seq`,
  )
}

const percents = (rows: readonly OutboxEvent[]) => rows.map(({ data }) => Number(JSON.parse(data).percent))

async function calls(key: { secret: string }, count: number): Promise<void> {
  const answers = await Promise.all(Array.from({ length: count }, () => gateway.as(key.secret, IMAGES)))
  expect(answers.filter(({ status }) => status !== 200)).toEqual([])
}

/** The price of a call. */
async function price(): Promise<number> {
  const account = await gateway.account()
  const key = await gateway.key(account)
  await calls(key, 1)
  const { posted } = (await gateway.core.ledger.balance(account.id)) ?? { posted: micros(0) }
  return 2_000_000 - posted
}

describe('the threshold of a limit', () => {
  test('is sent once, whatever crosses it: 64 calls at once and a restart make one event for each percentage', async () => {
    const cost = await price()
    const account = await gateway.account(100)
    const key = await gateway.key(account, { spending_limit: (cost * 64) / 1_000_000 })
    await calls(key, 64)
    expect(percents(await eventsOf('budget.threshold'))).toEqual([50, 80, 100])
    expect((await eventsOf('key.exhausted')).map(({ key_id }) => key_id)).toEqual([key.id])
    const before = await eventsOf('budget.threshold')
    await gateway.close(true)
    gateway = await openHarness({ folder: gateway.folder })
    expect(await eventsOf('budget.threshold')).toEqual(before)
    expect(new Set(before.map(({ id }) => id)).size).toBe(3)
  })

  test('is sent again under a new limit, and only what spending crosses after it', async () => {
    const cost = await price()
    const owner = await gateway.owner()
    const keys = keyBench(owner)
    const { key, secret } = await keys.create({ spending_limit: (cost * 10) / 1_000_000 })
    await calls({ secret }, 6)
    expect(percents(await eventsOf('budget.threshold'))).toEqual([50])
    await keys.change(key.id, { spending_limit: (cost * 20) / 1_000_000 })
    await calls({ secret }, 2)
    expect(percents(await eventsOf('budget.threshold'))).toEqual([50])
    await calls({ secret }, 2)
    expect(percents(await eventsOf('budget.threshold'))).toEqual([50, 50])
    await calls({ secret }, 6)
    expect(percents(await eventsOf('budget.threshold'))).toEqual([50, 50, 80])
  })
})

describe('the threshold of a budget', () => {
  test('is sent once a period, and again in the next one', async () => {
    const cost = await price()
    const account = await gateway.account(100)
    const budget = { limit_usd: (cost * 10) / 1_000_000, period: 'day', timezone: 'Europe/Berlin' }
    const key = await gateway.key(account, { budget })
    await calls(key, 8)
    expect(percents(await eventsOf('budget.threshold'))).toEqual([50, 80])
    gateway.clock.advance(24 * 3_600_000)
    await calls(key, 5)
    expect(percents(await eventsOf('budget.threshold'))).toEqual([50, 80, 50])
    const [first] = await eventsOf('budget.threshold')
    expect(JSON.parse(first?.data ?? '')).toMatchObject({
      period: 'day',
      limit_micros_usd: cost * 10,
      period_starts_at: Date.UTC(2026, 10, 20, 23),
    })
  })

  test('counts what the key spent in the period before it had the budget', async () => {
    const cost = await price()
    const owner = await gateway.owner()
    const keys = keyBench(owner)
    const { key, secret } = await keys.create()
    await calls({ secret }, 7)
    await keys.change(key.id, { budget: { limit_usd: (cost * 10) / 1_000_000, period: 'month', timezone: 'UTC' } })
    await calls({ secret }, 1)
    expect(percents(await eventsOf('budget.threshold'))).toEqual([50, 80])
  })
})

describe('an account gets an event', () => {
  test('of a top-up in full, also when a part of it pays back debt, and of its new tier', async () => {
    const { id } = await gateway.account(0, null)
    const { ledger } = gateway.core
    const move = { account: id, description: 'card' }
    await ledger.credit({ ...move, part: 'paid', kind: 'top_up', amount: micros(10_000_000), reference: 'one' })
    await ledger.takeBack({ ...move, kind: 'refund', amount: micros(10_000_000), reference: 'back' })
    await ledger.takeBack({ ...move, kind: 'refund', amount: micros(3_000_000), reference: 'more' })
    await ledger.credit({ ...move, part: 'paid', kind: 'top_up', amount: micros(5_000_000), reference: 'two' })
    const amounts = (await eventsOf('topup.completed')).map(({ data }) => JSON.parse(data).amount_micros_usd)
    expect(amounts).toEqual([10_000_000, 5_000_000])
    // The first change of a tier is that of another account.
    const [, changed] = await eventsOf('tier.changed')
    expect(JSON.parse(changed?.data ?? '')).toEqual({ tier: 'starter', previous_tier: 'free' })
  })

  test('once that a key expires within three days, and not of one that lives longer', async () => {
    const account = await gateway.account()
    const expires = (days: number) => new Date(gateway.clock.now() + days * 86_400_000).toISOString()
    const soon = await gateway.key(account, { expires_at: expires(2) })
    await gateway.key(account, { expires_at: expires(9) })
    // The first look follows a second after the start.
    await until(async () => (await eventsOf('key.expiring')).length > 0)
    expect((await eventsOf('key.expiring')).map(({ key_id }) => key_id)).toEqual([soon.id])
  })

  test('when its balance runs low and empty, once for each time it does', async () => {
    const account = await gateway.account()
    const key = await gateway.key(account)
    const cost = await price()
    await calls(key, Math.ceil(1_000_001 / cost))
    expect(await eventsOf('balance.low')).toHaveLength(1)
    expect(await eventsOf('balance.empty')).toEqual([])
    await gateway.core.operator.grant(OPERATOR, account.id, micros(1_000_000), 'more', 'once')
    await calls(key, Math.ceil(1_000_000 / cost) + 1)
    expect(await eventsOf('balance.low')).toHaveLength(2)
  })

  test('of every change to a key, without its secret', async () => {
    const owner = await gateway.owner()
    const keys = keyBench(owner)
    const { key, secret } = await keys.create()
    const rotated = await keys.rotate(key.id)
    await keys.move(rotated.key.id, 'disable')
    await keys.move(rotated.key.id, 'revoke')
    await gateway.gateway.delivering.run()
    const rows = await gateway.core.stores.db.all<OutboxEvent>(
      sql`SELECT id, type, key_id, data FROM events WHERE type LIKE 'key.%' ORDER BY seq`,
    )
    expect(rows.map(({ type }) => type)).toEqual(['key.created', 'key.rotated', 'key.disabled', 'key.revoked'])
    for (const { data } of rows) for (const hidden of [secret, rotated.secret]) expect(data).not.toContain(hidden)
    expect(JSON.parse(rows[3]?.data ?? '')).toMatchObject({ id: rotated.key.id, status: 'revoked' })
  })

  test('of a request for limits and its decision, as the API shows them', async () => {
    const owner = await gateway.owner()
    const { id } = await read<{ id: `acct_${string}` }>(owner.api('/api/account'))
    const wish = { peak_rpm: 9999, peak_tpm: 1, endpoints: ['image-search'], use_case: 'A catalog of many pictures.' }
    const { request } = await read<{ request: { id: string } }>(owner.api('/api/limit-requests', wish), 201)
    await gateway.core.limitRequests.approve(OPERATOR, request.id, null, null)
    await gateway.gateway.delivering.run()
    const [decided] = await eventsOf('limits.decided')
    expect(JSON.parse(decided?.data ?? '')).toMatchObject({ id: request.id, status: 'approved', workspace_id: id })
    const changed = (await eventsOf('tier.changed')).at(-1)
    expect(JSON.parse(changed?.data ?? '')).toEqual({ tier: 'growth', previous_tier: 'free' })
  })
})

test('the log of an endpoint keeps its newest 10,000 deliveries, however many events its owner makes', async () => {
  const owner = await gateway.owner()
  const { webhook } = await read<{ webhook: { id: string } }>(
    owner.api('/api/webhooks', { url: 'https://203.0.113.7/hook' }),
    201,
  )
  const { db } = gateway.core.stores
  await db.run(sql`INSERT INTO webhook_deliveries (id, webhook_id, event_id, type, body, state, created_at, next_at, expires_at)
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10049)
    SELECT 'dlv_' || printf('%012x', i), ${webhook.id}, 'evt_' || i, 'key.created', '{}', 'delivered', 1, 1, 1 FROM n`)
  await keyBench(owner).create()
  await gateway.gateway.delivering.run()
  await gateway.gateway.delivering.settled()
  const [log] = await db.all(sql`SELECT count(*) AS rows, sum(created_at > 1) AS newer
    FROM webhook_deliveries WHERE webhook_id = ${webhook.id}`)
  expect(log).toMatchObject({ rows: 10_000, newer: 1 })
})
