import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import type { AccountId } from '../../../server/core/ids'
import type { OneDelivery, OneWebhook, WebhookList } from '../../../server/http/webhooks/record'
import { type Harness, openHarness } from '../../support/harness'
import { audit } from '../../support/ledger-parts'
import { until } from '../../support/until'
import { codeOfWebhook, confirmWebhook } from '../../support/webhooks'
import { closeReconciled, keyBench, type Owner, read, refusalOf } from '../owner-bench'

interface Received {
  readonly path: string
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

let gateway: Harness
let owner: Owner
let receiver: Bun.Server<undefined>
let received: Received[]
let answer: (event: Received) => Response | Promise<Response>

beforeEach(async () => {
  received = []
  answer = () => new Response('thanks')
  receiver = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { type, data } = (await request.json()) as Received
      const event = { path: new URL(request.url).pathname, type, data }
      received.push(event)
      return answer(event)
    },
  })
  await open()
})
afterEach(async () => {
  await closeReconciled(gateway)
  await receiver.stop(true)
})

async function open(env: Record<string, string> = {}): Promise<void> {
  await gateway?.close()
  gateway = await openHarness({ env: { WEBHOOKS_ALLOW_PRIVATE: 'true', ...env } })
  owner = await gateway.owner()
}

const url = (path: string) => `http://127.0.0.1:${receiver.port}${path}`
const post = (path: string, body?: unknown, of = owner) => of.api(`/api/webhooks${path}`, body, 'POST')
const create = async (path: string, of = owner) =>
  (await read<OneWebhook>(post('', { url: url(path) }, of), 201)).webhook
async function confirmed(path: string, of = owner) {
  const { id } = await create(path, of)
  await confirmWebhook(gateway, of, id)
  return id
}
async function one(id: string, of = owner) {
  const { webhooks } = await read<WebhookList>(of.api('/api/webhooks'))
  return webhooks.find((webhook) => webhook.id === id)
}
const events = () => received.filter(({ type }) => type !== 'webhook.confirm')
const codes = () => received.filter(({ type }) => type === 'webhook.confirm')

async function round(): Promise<void> {
  await gateway.gateway.delivering.run()
  await gateway.gateway.delivering.settled()
}

/** Rounds a second apart, as the job makes them. */
async function seconds(count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    gateway.clock.advance(1_000)
    await round()
  }
}

/** The key of each owner that is switched, made by the first call. */
const keys = new WeakMap<Owner, string>()

/** Switches a key off and on, which makes an event each time that it is off. */
async function toggles(times: number, of = owner): Promise<void> {
  const bench = keyBench(of)
  const id = keys.get(of) ?? (await bench.create()).key.id
  keys.set(of, id)
  for (let i = 0; i < times; i++) {
    await bench.move(id, 'disable')
    await bench.move(id, 'enable')
  }
}

/** Events of several accounts, which become deliveries in one round. */
async function publish(count: number, owners: readonly Owner[]): Promise<void> {
  const at = gateway.clock.now()
  const accounts = await Promise.all(owners.map((each) => read<{ id: AccountId }>(each.api('/api/account'))))
  const event = (id: AccountId, i: number) =>
    ({ id: `evt_${id}_${i}`, type: 'balance.low', accountId: id, keyId: null, at, data: { i } }) as const
  await gateway.core.stores.webhooks.addEvents(
    accounts.flatMap(({ id }) => Array.from({ length: count }, (_, i) => event(id, i))),
  )
}

describe('the host of a stranger', () => {
  test('gets one code for each endpoint, whatever their owner does, and after the confirmations no more than its minute', async () => {
    answer = () => new Response('what is this?', { status: 404 })
    const ids: string[] = []
    for (let i = 0; i < 10; i++) ids.push((await create(`/${i}`)).id)
    await toggles(20)
    for (const id of ids) {
      await read(owner.api(`/api/webhooks/${id}`, { status: 'paused' }, 'PATCH'))
      await read(owner.api(`/api/webhooks/${id}`, { status: 'active' }, 'PATCH'))
      expect(await refusalOf(post(`/${id}/test`))).toMatchObject({ status: 409, code: 'invalid_state' })
    }
    await seconds(5)
    gateway.clock.advance(2 * DAY_MS)
    await seconds(5)
    expect(received.map(({ path, type }) => `${path} ${type}`).sort()).toEqual(
      ids.map((_, i) => `/${i} webhook.confirm`),
    )
    for (const id of ids) {
      await read(post(`/${id}/code`), ids.indexOf(id) < 5 ? 202 : 429)
      if (ids.indexOf(id) < 5) await confirmWebhook(gateway, owner, id)
    }
    await toggles(40)
    gateway.clock.advance(MINUTE_MS)
    received = []
    answer = () => new Response('ok')
    await seconds(59)
    expect(received).toHaveLength(60)
    await seconds(60)
    expect(received).toHaveLength(120)
  }, 60_000)

  test('gets no more codes because endpoints are deleted and created again, or moved', async () => {
    const statuses: number[] = []
    for (let i = 0; i < 20; i++) {
      const answer = await post('', { url: url(`/${i}`) })
      statuses.push(answer.status)
      if (answer.status !== 201) continue
      const { webhook } = (await answer.json()) as OneWebhook
      const moved = await owner.api(`/api/webhooks/${webhook.id}`, { url: url(`/moved${i}`) }, 'PATCH')
      statuses.push(moved.status)
      await round()
      await owner.api(`/api/webhooks/${webhook.id}`, undefined, 'DELETE')
    }
    expect(statuses.filter((status) => status < 300)).toHaveLength(30)
    expect(received.length).toBeLessThanOrEqual(30)
    expect(await refusalOf(post('', { url: url('/more') }))).toMatchObject({ status: 429, code: 'rate_limit_exceeded' })
    gateway.clock.advance(DAY_MS)
    await create('/tomorrow', await gateway.signIn(owner.email))
  })
})

describe('a new URL', () => {
  test('gets events from its confirmation on, and none of before', async () => {
    const { id, status } = await create('/hook')
    expect(status).toBe('unconfirmed')
    await toggles(1)
    await round()
    const [first] = codes()
    const code = String(first?.data['code'])
    expect(code).toMatch(/^[0-9A-Z]{8}$/)
    expect(first?.data['webhook_id']).toBe(id)
    const entered = ` ${code.slice(0, 4).toLowerCase()}-${code.slice(4)} `
    const { webhook } = await read<OneWebhook>(post(`/${id}/confirm`, { code: entered }))
    expect(webhook).toMatchObject({ id, status: 'active' })
    // A second click changes nothing.
    await read(post(`/${id}/confirm`, { code: 'whatever' }))
    await round()
    expect(events()).toEqual([])
    await keyBench(owner).create()
    await round()
    expect(events()).toMatchObject([{ path: '/hook', type: 'key.created' }])
    const { entries } = await read<{ entries: { action: string; actor: string }[] }>(owner.api('/api/audit'))
    expect(entries.filter(({ action }) => action === 'webhook.confirm')).toMatchObject([{ actor: 'owner' }])
  })

  test('is confirmed by an answer that is the code, not by one that repeats the request', async () => {
    answer = ({ path, data, type }) =>
      path === '/echo' ? new Response(JSON.stringify({ type, data })) : new Response(`${data['code']}\n`)
    const [echo, script] = [await create('/echo'), await create('/script')]
    await round()
    expect([await one(echo.id), await one(script.id)]).toMatchObject([{ status: 'unconfirmed' }, { status: 'active' }])
    await keyBench(owner).create()
    await round()
    expect(events().map(({ path }) => path)).toEqual(['/script'])
  })

  test('is not confirmed by a refusal that is the code, or by the answer of a URL that it no longer has', async () => {
    const { id } = await create('/hook')
    answer = ({ data }) => new Response(String(data['code']), { status: 400 })
    await round()
    expect(await one(id)).toMatchObject({ status: 'unconfirmed' })
    const { webhooks } = gateway.core.stores
    await webhooks.confirm({ id: id as 'hook_', url: url('/before') }, 1, audit())
    expect(await one(id)).toMatchObject({ status: 'unconfirmed' })
  })

  test('that changes again is sent the newest code, and the one before is sent nothing', async () => {
    const { id } = await create('/first')
    const { webhooks } = gateway.core.stores
    const due = webhooks.due.bind(webhooks)
    // The change comes between the reading of endpoints and that of their deliveries.
    webhooks.due = async (now) => {
      webhooks.due = due
      const found = await due(now)
      await read(owner.api(`/api/webhooks/${id}`, { url: url('/second') }, 'PATCH'))
      return found
    }
    await round()
    await round()
    expect(received.map(({ path }) => path)).toEqual(['/second'])
    await read(post(`/${id}/confirm`, { code: received[0]?.data['code'] }))
  })

  test('has a code that neither the log nor the database shows', async () => {
    answer = ({ data }) => new Response(`you sent ${data['code']}`)
    const { id } = await create('/hook')
    await round()
    const code = String(codes()[0]?.data['code'])
    expect(code).toBe(await codeOfWebhook(gateway, id))
    const log = await (await owner.api(`/api/webhooks/${id}/deliveries`)).text()
    expect(log).toContain('********')
    const rows = await gateway.core.stores.db.all(sql`SELECT * FROM webhook_deliveries, webhooks, events`)
    for (const text of [log, JSON.stringify(rows), gateway.logged.join('')]) expect(text).not.toContain(code)
    const [sent] = (await read<{ deliveries: OneDelivery['delivery'][] }>(owner.api(`/api/webhooks/${id}/deliveries`)))
      .deliveries
    await confirmWebhook(gateway, owner, id)
    const again = post(`/${id}/deliveries/${sent?.id}/resend`)
    expect(await refusalOf(again)).toMatchObject({ status: 409, message: 'A code cannot be sent again.' })
  })

  test('whose code is guessed five times needs a new one, and only the newest works, for a day', async () => {
    const { id } = await create('/hook')
    const first = await codeOfWebhook(gateway, id)
    const tries = await Promise.all(Array.from({ length: 9 }, () => post(`/${id}/confirm`, { code: 'WRONG000' })))
    expect(tries.map(({ status }) => status).sort()).toEqual([...Array(5).fill(400), ...Array(4).fill(409)])
    expect(await refusalOf(post(`/${id}/confirm`, { code: first }))).toMatchObject({ code: 'invalid_state' })
    await read(post(`/${id}/code`), 202)
    await round()
    expect(codes().length).toBeLessThanOrEqual(2)
    expect(await refusalOf(post(`/${id}/confirm`, { code: first }))).toMatchObject({ status: 400, param: 'code' })
    gateway.clock.advance(DAY_MS)
    const late = await codeOfWebhook(gateway, id)
    expect(await refusalOf(post(`/${id}/confirm`, { code: late }))).toMatchObject({ code: 'invalid_state' })
    expect(await one(id)).toMatchObject({ status: 'unconfirmed' })
  })

  test('gets a new code five times a day, and a failed one is not sent again by itself', async () => {
    answer = () => new Response('no', { status: 500 })
    const { id } = await create('/hook')
    await round()
    const statuses: number[] = []
    for (let i = 0; i < 7; i++) {
      statuses.push((await post(`/${id}/code`)).status)
      gateway.clock.advance(HOUR_MS)
      await round()
    }
    expect(statuses).toEqual([...Array(5).fill(202), 429, 429])
    expect(codes()).toHaveLength(6)
    expect(new Set(codes().map(({ data }) => data['code'])).size).toBe(6)
  })

  test('of an endpoint that was confirmed is confirmed again; what waited for the old one goes nowhere', async () => {
    answer = ({ path }) => new Response('', { status: path === '/old' ? 500 : 200 })
    const id = await confirmed('/old')
    await toggles(1)
    await round()
    expect(events().length).toBeGreaterThan(0)
    const { webhook } = await read<OneWebhook>(owner.api(`/api/webhooks/${id}`, { url: url('/new') }, 'PATCH'))
    expect(webhook).toMatchObject({ status: 'unconfirmed', failing_since: null })
    received = []
    await toggles(1)
    gateway.clock.advance(HOUR_MS)
    await round()
    await confirmWebhook(gateway, owner, id)
    await round()
    expect(received.map(({ path, type }) => `${path} ${type}`)).toEqual(['/new webhook.confirm'])
    // The same URL is no new one.
    await read(owner.api(`/api/webhooks/${id}`, { url: url('/new'), events: [] }, 'PATCH'))
    expect(await one(id)).toMatchObject({ status: 'active' })
  })
})

describe('deliveries within a minute', () => {
  test('are bounded for a host over all accounts, and an account has half while another waits', async () => {
    await open({ WEBHOOK_HOST_RPM: '20' })
    const other = await gateway.owner()
    for (let i = 0; i < 5; i++) await confirmed(`/loud${i}`)
    await confirmed('/other', other)
    await publish(30, [owner, other])
    // An endpoint that was slow once, on a busy machine, gets its next ones in the next rounds.
    await seconds(5)
    const to = (path: string) => events().filter((one) => one.path.startsWith(path)).length
    expect([to('/loud'), to('/other')]).toEqual([10, 10])
    await seconds(55)
    expect(received).toHaveLength(20)
    await seconds(5)
    expect([to('/loud'), to('/other')]).toEqual([20, 20])
  })

  test('are all of its host for an account that is alone there', async () => {
    await open({ WEBHOOK_HOST_RPM: '20' })
    for (let i = 0; i < 5; i++) await confirmed(`/${i}`)
    await toggles(10)
    await seconds(2)
    expect(received).toHaveLength(20)
  })

  test('are bounded for an account over all hosts, codes included', async () => {
    await open({ WEBHOOK_ACCOUNT_RPM: '7' })
    for (let i = 0; i < 3; i++) await confirmed(`/${i}`)
    for (let i = 0; i < 3; i++) await create(`/new${i}`)
    await toggles(5)
    await seconds(59)
    expect(received).toHaveLength(7)
    await seconds(60)
    expect(received).toHaveLength(14)
  })

  test('wait, but no more than 1,500 for an endpoint: the oldest are dropped, counted and never sent', async () => {
    const id = await confirmed('/hook')
    const { db } = gateway.core.stores
    // Beside the code, which was entered before it was sent.
    await publish(2500, [owner])
    await round()
    const [log] = await db.all<Record<'sent' | 'waiting' | 'dropped', number>>(
      sql`SELECT sum(state = 'delivered') AS sent, sum(state = 'pending') AS waiting, sum(error LIKE '%dropped%') AS dropped
      FROM webhook_deliveries WHERE webhook_id = ${id}`,
    )
    if (!log) throw new Error('nothing was queued')
    expect(log.waiting).toBeLessThanOrEqual(1500)
    expect(log.sent + log.waiting + log.dropped).toBe(2501)
    // The log shows those that were being sent as sent.
    const dropped = (await one(id))?.dropped_events ?? 0
    expect(dropped - log.dropped).toBeWithin(0, 5)
    await seconds(MINUTE_MS / 1000)
    expect(events().length).toBeLessThanOrEqual(2 * 60)
    const lost = await db.all<{ i: number }>(
      sql`SELECT json_extract(body, '$.data.i') AS i FROM webhook_deliveries WHERE error LIKE '%dropped%'`,
    )
    const sent = new Set(events().map(({ data }) => data['i']))
    expect(lost.filter(({ i }) => sent.has(i))).toEqual([])
    expect(lost.map(({ i }) => i)).not.toContain(2499)
  })
})

describe('a host that refuses everything for a day', () => {
  const REFUSAL = () => new Response('', { status: 403 })

  async function refusedFor(hours: number, others: readonly Owner[]): Promise<void> {
    for (let hour = 0; hour < hours; hour++) {
      for (const each of others) await toggles(1, each)
      gateway.clock.advance(HOUR_MS)
      await round()
    }
  }

  test('pauses its endpoints of all accounts with a notice, and a test that succeeds resumes one', async () => {
    const other = await gateway.owner()
    const ids = [await confirmed('/mine'), await confirmed('/other', other)] as const
    answer = REFUSAL
    await refusedFor(23, [owner, other])
    expect([await one(ids[0]), await one(ids[1], other)]).toMatchObject([{ status: 'active' }, { status: 'active' }])
    await refusedFor(4, [owner, other])
    expect([await one(ids[0]), await one(ids[1], other)]).toMatchObject([{ status: 'paused' }, { status: 'paused' }])
    for (const [i, each] of [owner, other].entries()) {
      const { notices } = await read<{ notices: { type: string; data: object }[] }>(each.api('/api/notices'))
      expect(notices.filter(({ type }) => type === 'webhook.paused')).toMatchObject([{ data: { webhook_id: ids[i] } }])
    }
    const before = received.length
    await refusedFor(2, [owner, other])
    expect(received).toHaveLength(before)
    // A test that fails is sent once and resumes nothing.
    await read(post(`/${ids[0]}/test`), 202)
    await refusedFor(3, [])
    expect(received).toHaveLength(before + 1)
    answer = () => new Response('ok')
    await read(post(`/${ids[0]}/test`), 202)
    await round()
    expect([await one(ids[0]), await one(ids[1], other)]).toMatchObject([{ status: 'active' }, { status: 'paused' }])
    await toggles(1)
    await round()
    expect(received.slice(before + 1).map(({ type }) => type)).toEqual(['webhook.test', 'key.disabled'])
  })

  test('is none if one endpoint there still receives, and pauses none that failed for less than an hour', async () => {
    const other = await gateway.owner()
    const [mine, second] = [await confirmed('/mine'), await confirmed('/second')]
    const theirs = await confirmed('/theirs', other)
    answer = ({ path }) => (path === '/mine' ? REFUSAL() : new Response('ok'))
    await refusedFor(26, [owner, other])
    expect(await one(mine)).toMatchObject({ status: 'active' })
    answer = REFUSAL
    await refusedFor(27, [owner])
    expect([await one(mine), await one(second)]).toMatchObject([{ status: 'paused' }, { status: 'paused' }])
    await toggles(1, other)
    await round()
    expect(await one(theirs, other)).toMatchObject({ status: 'active', failing_since: expect.any(String) })
  })

  test('resumes by no test an endpoint that its owner paused, also during an attempt that failed', async () => {
    const id = await confirmed('/hook')
    const attempt = Promise.withResolvers<Response>()
    answer = () => attempt.promise
    await toggles(1)
    await gateway.gateway.delivering.run()
    await until(() => events().length > 0)
    await read(owner.api(`/api/webhooks/${id}`, { status: 'paused' }, 'PATCH'))
    attempt.resolve(REFUSAL())
    await gateway.gateway.delivering.settled()
    expect(await one(id)).toMatchObject({ status: 'paused', failing_since: null })
    expect(await refusalOf(post(`/${id}/test`))).toMatchObject({ code: 'invalid_state' })
  })
})
