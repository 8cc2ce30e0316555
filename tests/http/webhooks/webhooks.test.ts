import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { Webhook } from 'standardwebhooks'
import { KeyRing } from '../../../server/adapters/sealing/key-ring'
import { auditEntry } from '../../../server/core/audit'
import { type AccountId, makeId } from '../../../server/core/ids'
import { webhookContext } from '../../../server/core/webhooks/webhooks'
import { oauthApp } from '../../support/agents/oauth'
import { type Harness, openHarness } from '../../support/harness'
import { audit } from '../../support/ledger-parts'
import { until } from '../../support/until'
import { confirmWebhook } from '../../support/webhooks'
import { closeReconciled, keyBench, type Owner, read, refusalOf } from '../owner-bench'

interface Made {
  readonly webhook: { readonly id: string; readonly status: string; readonly failing_since: string | null }
  readonly secret: string
}
interface Deliveries {
  readonly deliveries: readonly {
    readonly id: string
    readonly event_id: string
    readonly type: string
    readonly status: string
    readonly attempts: number
    readonly response_status: number | null
    readonly response_body: string | null
    readonly error: string | null
  }[]
}
interface Received {
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: string
}

const HOUR_MS = 3_600_000

let gateway: Harness
let owner: Owner
let receiver: Bun.Server<undefined>
let received: Received[]
let answer: (path: string) => Response | Promise<Response>
const held: (() => void)[] = []

beforeEach(async () => {
  received = []
  answer = () => new Response('ok')
  receiver = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const path = new URL(request.url).pathname
      const body = await request.text()
      // The codes are the subject of another file.
      if (JSON.parse(body).type === 'webhook.confirm') return new Response('ok')
      received.push({ path, headers: Object.fromEntries(request.headers), body })
      return answer(path)
    },
  })
  gateway = await openHarness({ env: { WEBHOOKS_ALLOW_PRIVATE: 'true' } })
  await gateway.owner('operator@example.com')
  owner = await gateway.owner()
})
afterEach(async () => {
  for (const release of held.splice(0)) release()
  await closeReconciled(gateway)
  await receiver.stop(true)
})

const url = (path = '/hook') => `http://127.0.0.1:${receiver.port}${path}`
async function create(body: Record<string, unknown> = {}, of = owner): Promise<Made> {
  const made = await read<Made>(of.api('/api/webhooks', { url: url(), ...body }), 201)
  await confirmWebhook(gateway, of, made.webhook.id)
  return made
}
/** An app's request with its token: a new endpoint, or a change of one. Its owner enters the code. */
async function byApp(token: string, path = '', body: unknown = { url: url('/app') }, method = 'POST'): Promise<Made> {
  const init = { method, body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
  const made = (await (await gateway.as(token, `/v1/webhooks${path}`, init)).json()) as Made
  await confirmWebhook(gateway, owner, made.webhook.id)
  return made
}
const log = async ({ webhook }: Made) =>
  eventsIn(await read<Deliveries>(owner.api(`/api/webhooks/${webhook.id}/deliveries`)))
const eventsIn = ({ deliveries }: Deliveries) => deliveries.filter(({ type }) => type !== 'webhook.confirm')
const one = async ({ webhook }: Made) => {
  const { webhooks } = await read<{ webhooks: Made['webhook'][] }>(owner.api('/api/webhooks'))
  return webhooks.find(({ id }) => id === webhook.id)
}

/** The clock stands in the past, where `verify` would refuse the time. */
function isSignedBy(secret: string, { headers, body }: Received = { path: '', headers: {}, body: '' }): boolean {
  const at = new Date(Number(headers['webhook-timestamp']) * 1000)
  const signatures = headers['webhook-signature']?.split(' ') ?? []
  return signatures.includes(new Webhook(secret).sign(headers['webhook-id'] ?? '', at, body))
}

/** A round, and all that it sends. */
async function round(): Promise<void> {
  await gateway.gateway.delivering.run()
  await gateway.gateway.delivering.settled()
}

describe('an event', () => {
  test('arrives signed by the secret that was shown once, with an id that a repeat has too', async () => {
    const made = await create()
    const { key } = await keyBench(owner).create()
    await round()
    const [event] = received
    if (!event) throw new Error('nothing arrived')
    expect(isSignedBy(made.secret, event)).toBe(true)
    expect(JSON.parse(event.body)).toMatchObject({ type: 'key.created', data: { id: key.id, name: key.name } })
    const [delivery] = await log(made)
    expect(delivery).toMatchObject({ status: 'delivered', attempts: 1, response_status: 200, response_body: 'ok' })
    await read(owner.api(`/api/webhooks/${made.webhook.id}/deliveries/${delivery?.id}/resend`, undefined, 'POST'), 202)
    await round()
    expect(received).toHaveLength(2)
    expect(received[1]?.headers['webhook-id']).toBe(event.headers['webhook-id'] ?? '')
    expect(received[1]?.body).toBe(event.body)
    expect(JSON.stringify(await read(owner.api('/api/webhooks')))).not.toContain(made.secret)
  })

  test('reaches only the accounts it concerns, at endpoints that subscribe to it', async () => {
    const stranger = await gateway.owner()
    await create({ url: url('/stranger') }, stranger)
    await create({ url: url('/revoked'), events: ['key.revoked'] })
    await create({ url: url('/all') })
    const keys = keyBench(owner)
    const { key } = await keys.create()
    await keys.move(key.id, 'revoke')
    await round()
    const arrived = received.map(({ path, body }) => `${path} ${JSON.parse(body).type}`)
    expect(arrived.sort()).toEqual(['/all key.created', '/all key.revoked', '/revoked key.revoked'])
  })

  test('is signed by both secrets for a day after a rotation', async () => {
    const made = await create()
    const { secret } = await read<Made>(owner.api(`/api/webhooks/${made.webhook.id}/rotate`, undefined, 'POST'), 201)
    const arrival = async () => {
      await read(owner.api(`/api/webhooks/${made.webhook.id}/test`, undefined, 'POST'), 202)
      await round()
      return [made.secret, secret].map((one) => isSignedBy(one, received.at(-1)))
    }
    expect(await arrival()).toEqual([true, true])
    gateway.clock.advance(24 * HOUR_MS)
    expect(await arrival()).toEqual([false, true])
  })

  test('is retried with growing pauses for a day, and a redirect is a failure that is not followed', async () => {
    answer = (path) => (path === '/hook' ? Response.redirect(url('/elsewhere'), 307) : new Response('ok'))
    const made = await create()
    await keyBench(owner).create()
    await round()
    await round()
    expect(received).toHaveLength(1)
    expect((await log(made))[0]).toMatchObject({ status: 'pending', attempts: 1, response_status: 307 })
    for (const seconds of [5, 30, 120]) {
      gateway.clock.advance(seconds * 1000)
      await round()
    }
    expect(received.map(({ path }) => path)).toEqual(['/hook', '/hook', '/hook', '/hook'])
    for (let hours = 0; hours < 26; hours++) {
      gateway.clock.advance(HOUR_MS)
      await round()
    }
    expect((await log(made))[0]?.status).toBe('failed')
    expect(received.length).toBeGreaterThan(7)
  })

  test('keeps 4 KB of the answer', async () => {
    answer = () => new Response('x'.repeat(50_000))
    const made = await create()
    await keyBench(owner).create()
    await round()
    expect((await log(made))[0]?.response_body).toBe('x'.repeat(4096))
  })

  test('is sent again after a restart that lost the answer', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    held.push(resolve)
    answer = () => promise.then(() => new Response('late'))
    const made = await create()
    await keyBench(owner).create()
    await gateway.gateway.delivering.run()
    await until(() => received.length === 1)
    expect(await one(made)).toMatchObject({ status: 'active' })
    await gateway.close(true)
    answer = () => new Response('ok')
    gateway = await openHarness({ folder: gateway.folder, env: { WEBHOOKS_ALLOW_PRIVATE: 'true' } })
    await round()
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    expect(received).toHaveLength(2)
  })
})

describe('an event about a record that is gone', () => {
  test('stops none behind it: it is sent as it was stored', async () => {
    await create()
    const { key } = await keyBench(owner).create()
    await gateway.core.stores.db.run(sql`UPDATE events SET key_id = 'key_gone' WHERE key_id = ${key.id}`)
    await keyBench(owner).move(key.id, 'disable')
    gateway.core.credentials.lastUsedAt = () => Promise.reject(new Error('unreadable'))
    await round()
    expect(received.map(({ body }) => JSON.parse(body).type).sort()).toEqual(['key.created', 'key.disabled'])
    expect(gateway.logged.join('')).toContain('unreadable')
  })
})

/** Endpoints of a stranger at a receiver that holds its answers, each with 20 deliveries queued. Returns what lets it answer. */
async function crowd(endpoints: number, { status, isFailing }: { status: number; isFailing: boolean }) {
  const stranger = await read<{ id: `acct_${string}` }>((await gateway.owner()).api('/api/account'))
  const { promise, resolve } = Promise.withResolvers<void>()
  held.push(resolve)
  answer = (path) => (path === '/crowd' ? promise.then(() => new Response('', { status })) : new Response('ok'))
  const { webhooks, db } = gateway.core.stores
  const ring = new KeyRing(gateway.config.sealingKeys)
  const at = gateway.clock.now()
  const audit = () => auditEntry({ at, actor: { kind: 'system', id: 'test', address: null }, action: 'webhook.create' })
  for (let i = 0; i < endpoints; i++) {
    const id = makeId('hook', at)
    const secret = ring.seal(`whsec_${btoa('x'.repeat(32))}`, webhookContext(id, 'secret'))
    const settings = { url: url('/crowd'), events: [], status: 'active', failingSince: isFailing ? at : null } as const
    const none = { previousSecret: null, previousUntil: null, app: null, codeTries: 0, dropped: 0, confirmedAt: at }
    await webhooks.create({ id, accountId: stranger.id, secret, createdAt: at, ...settings, ...none }, audit())
    await db.run(sql`INSERT INTO webhook_deliveries (id, webhook_id, event_id, type, body, state, created_at, next_at, expires_at)
      SELECT 'dlv_' || ${id} || value, ${id}, 'evt_' || value, 'key.created', '{}', 'pending', ${at}, ${at}, ${at + 24 * HOUR_MS}
      FROM json_each('[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]')`)
  }
  return resolve
}
const arrivedAt = (path: string) => received.filter((one) => one.path === path).length

describe('many endpoints of one account that hang', () => {
  test.each([
    { lane: 'and fail', endpoints: 70, most: 16, crowded: { status: 500, isFailing: true } },
    { lane: 'and then answer', endpoints: 20, most: 32, crowded: { status: 200, isFailing: false } },
  ])('$lane take neither the places of another one nor all connections', async ({ endpoints, most, crowded }) => {
    const release = await crowd(endpoints, crowded)
    const made = await create({ url: url('/alive') })
    if (crowded.isFailing)
      await gateway.core.stores.db.run(sql`UPDATE webhooks SET failing_since = ${gateway.clock.now()}`)
    await gateway.gateway.delivering.run()
    await until(() => arrivedAt('/crowd') >= most)
    await keyBench(owner).create()
    await gateway.gateway.delivering.run()
    expect(arrivedAt('/crowd')).toBe(most)
    release()
    await gateway.gateway.delivering.settled()
    // The job may have begun a round while all places were taken.
    for (let i = 0; i < 3; i++) await round()
    expect((await log(made)).map(({ attempts }) => attempts)).toEqual([1])
    expect(arrivedAt('/alive')).toBe(1)
  })
})

describe('an endpoint', () => {
  test('that hangs with 10,000 events queued delays no other endpoint and no call', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    held.push(resolve)
    answer = (path) => (path === '/hangs' ? promise.then(() => new Response('late')) : new Response('ok'))
    const dead = await create({ url: url('/hangs'), events: ['key.disabled'] })
    const { $client } = gateway.core.stores.db as unknown as { $client: { execute(sql: string): Promise<unknown> } }
    await $client.execute(`INSERT INTO webhook_deliveries (id, webhook_id, event_id, type, body, state, created_at, next_at, expires_at)
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
      SELECT 'dlv_' || i, '${dead.webhook.id}', 'evt_' || i, 'key.disabled', '{}', 'pending', ${gateway.clock.now()}, ${gateway.clock.now()}, ${gateway.clock.now() + 24 * HOUR_MS} FROM n`)
    await create({ url: url('/alive') })
    const { secret } = await keyBench(owner).create()
    await gateway.gateway.delivering.run()
    expect((await gateway.as(secret, '/apis/v1/websearch/images/search?q=card')).status).toBe(200)
    await until(() => received.some(({ path }) => path === '/alive'))
    expect(received.filter(({ path }) => path === '/hangs').length).toBeLessThanOrEqual(4)
  })

  test('that failed for 3 days is paused, and its owner is notified', async () => {
    answer = (path) => new Response('no', { status: path === '/hook' ? 500 : 200 })
    const made = await create()
    const keys = keyBench(owner)
    const { key } = await keys.create()
    for (let day = 0; day < 4; day++) {
      await keys.move(key.id, 'disable')
      await keys.move(key.id, 'enable')
      await round()
      gateway.clock.advance(24 * HOUR_MS)
    }
    expect(await one(made)).toMatchObject({ status: 'paused' })
    await round()
    const { notices, unread } = await read<{ notices: { id: string; type: string; read: boolean }[]; unread: number }>(
      owner.api('/api/notices'),
    )
    expect(notices[0]).toMatchObject({ type: 'webhook.paused', read: false })
    expect(unread).toBe(notices.length)
    const sent = received.length
    await keys.move(key.id, 'disable')
    await round()
    expect(received).toHaveLength(sent)
    await read(owner.api(`/api/webhooks/${made.webhook.id}`, { status: 'active' }, 'PATCH'))
    expect(await one(made)).toMatchObject({ status: 'active', failing_since: null })
    const through = notices[1]?.id
    expect(await read<unknown>(owner.api('/api/notices/read', { through }))).toEqual({ unread: 2 })
    expect(await read<unknown>(owner.api('/api/notices/read', {}))).toEqual({ unread: 0 })
  })

  test('stays paused if a delivery pauses it while its owner changes the URL', async () => {
    const made = await create()
    const { webhooks, db } = gateway.core.stores
    const update = webhooks.update.bind(webhooks)
    webhooks.update = async (...change) => {
      await db.run(sql`update webhooks set status = 'paused' where id = ${made.webhook.id}`)
      return update(...change)
    }
    await read(owner.api(`/api/webhooks/${made.webhook.id}`, { url: url('/other') }, 'PATCH'))
    expect(await one(made)).toMatchObject({ status: 'paused', url: url('/other') })
  })

  test('is not at a private address unless the operator allows it', async () => {
    await gateway.close(true)
    gateway = await openHarness({ folder: gateway.folder })
    expect(await refusalOf(again('/api/webhooks', { url: url() }))).toMatchObject({ status: 400, param: 'url' })
    const made = await read<Made>(again('/api/webhooks', { url: `https://127.0.0.1:${receiver.port}/hook` }), 201)
    await confirmWebhook(gateway, { api: again }, made.webhook.id)
    await read(again(`/api/webhooks/${made.webhook.id}/test`, undefined, 'POST'), 202)
    await round()
    expect(received).toEqual([])
    const { deliveries } = await read<Deliveries>(again(`/api/webhooks/${made.webhook.id}/deliveries`))
    expect(deliveries[0]).toMatchObject({ status: 'pending', error: expect.stringContaining('not public') })
  })

  test.each([
    ['ftp://example.com/', 'url'],
    ['https://user:password@example.com/', 'url'],
    ['no url', 'url'],
  ])('%s is refused', async (address, param) => {
    const answer = await owner.api('/api/webhooks', { url: address })
    // The form shows it as it is.
    expect(await answer.clone().text()).toContain('"The URL must be an https URL without user name and fragment."')
    expect(await refusalOf(Promise.resolve(answer))).toMatchObject({ status: 400, param })
  })

  test("may not ask for operators' events, and an account has at most 10", async () => {
    const asked = { url: url(), events: ['ledger.alarm'] }
    expect(await refusalOf(owner.api('/api/webhooks', asked))).toMatchObject({ status: 400, param: 'events' })
    await Promise.all(Array.from({ length: 10 }, () => create()))
    const refused = await refusalOf(owner.api('/api/webhooks', { url: url() }))
    expect(refused.code).toBe('limit_reached')
  })

  test('gets 10 test events a minute', async () => {
    const { webhook } = await create()
    const tries = await Promise.all(
      Array.from({ length: 12 }, () => owner.api(`/api/webhooks/${webhook.id}/test`, undefined, 'POST')),
    )
    expect(tries.map(({ status }) => status).sort()).toEqual([...Array<number>(10).fill(202), 429, 429])
    gateway.clock.advance(60_001)
    await read(owner.api(`/api/webhooks/${webhook.id}/test`, undefined, 'POST'), 202)
    expect(await refusalOf(owner.api('/api/webhooks/stripe', {}, 'DELETE'))).not.toMatchObject({ status: 200 })
  })

  test('gets no more test events because it is deleted and created again', async () => {
    const statuses: number[] = []
    for (let i = 0; i < 3; i++) {
      const { webhook } = await create()
      for (let j = 0; j < 5; j++)
        statuses.push((await owner.api(`/api/webhooks/${webhook.id}/test`, undefined, 'POST')).status)
      await read(owner.api(`/api/webhooks/${webhook.id}`, undefined, 'DELETE'))
    }
    expect(statuses).toEqual([...Array<number>(10).fill(202), ...Array<number>(5).fill(429)])
  })

  test('is sent 60 deliveries again in a minute', async () => {
    const made = await create()
    await read(owner.api(`/api/webhooks/${made.webhook.id}/test`, undefined, 'POST'), 202)
    const [delivery] = await log(made)
    const resend = () =>
      owner.api(`/api/webhooks/${made.webhook.id}/deliveries/${delivery?.id}/resend`, undefined, 'POST')
    for (let i = 0; i < 60; i++) expect((await resend()).status).toBe(202)
    expect(await refusalOf(resend())).toMatchObject({ status: 429, code: 'rate_limit_exceeded' })
    gateway.clock.advance(60_000)
    expect((await resend()).status).toBe(202)
  })

  test('whose secret no key opens any more gets a new one by rotation, and what follows', async () => {
    const made = await create()
    await gateway.core.stores.db.run(sql`UPDATE webhooks SET secret = replace(secret, 'v1.', 'v1.gone')`)
    await keyBench(owner).create()
    await round()
    expect((await log(made))[0]).toMatchObject({ error: 'The secret could not be decrypted. Rotate it.' })
    const { secret } = await read<Made>(owner.api(`/api/webhooks/${made.webhook.id}/rotate`, undefined, 'POST'), 201)
    gateway.clock.advance(5_000)
    await round()
    expect(received.map((event) => isSignedBy(secret, event))).toEqual([true])
  })

  test('that an app made is paused with the app: what waited and what comes is not sent', async () => {
    const app = oauthApp(gateway, owner)
    const connected = async () => (await app.connect('webhooks:write offline_access', ['/v1'])).access_token
    const patch = (made: Made, body: unknown) => read(owner.api(`/api/webhooks/${made.webhook.id}`, body, 'PATCH'))
    const token = await connected()
    const own = await create({ url: url('/own') })
    const moved = await create({ url: url('/before') })
    await byApp(token, `/${moved.webhook.id}`, { url: url('/moved') }, 'PATCH')
    const made = await byApp(token)
    const taken = await byApp(token)
    await patch(taken, { url: url('/taken') })
    await confirmWebhook(gateway, owner, taken.webhook.id)
    const maker = { created_by: { id: expect.stringMatching(/^conn_/), name: 'Gateway command line' } }
    expect(await one(made)).toMatchObject({ status: 'active', ...maker })
    expect(await one(moved)).toMatchObject({ status: 'active', ...maker })
    expect([await one(own), await one(taken)]).toMatchObject([{ created_by: null }, { created_by: null }])
    answer = () => new Response('no', { status: 500 })
    const keys = keyBench(owner)
    await keys.create()
    await round()
    const toApp = () => received.filter(({ path }) => path === '/app' || path === '/moved')
    expect(new Set(toApp().map(({ path }) => path))).toEqual(new Set(['/app', '/moved']))
    received = []
    answer = () => new Response('ok')
    await read(owner.api('/api/apps/disconnect', undefined, 'POST'))
    expect([await one(made), await one(moved)]).toMatchObject([
      { status: 'paused', ...maker },
      { status: 'paused', ...maker },
    ])
    expect([await one(own), await one(taken)]).toMatchObject([{ status: 'active' }, { status: 'active' }])
    expect((await log(made))[0]).toMatchObject({ status: 'failed', error: expect.stringContaining('disconnected') })
    await keys.create()
    gateway.clock.advance(HOUR_MS)
    await round()
    expect(received.map(({ path }) => path)).toContain('/own')
    expect(toApp()).toEqual([])
    // The owner takes over what the app left, and nothing old is sent.
    await patch(made, { status: 'active' })
    expect(await one(made)).toMatchObject({ status: 'active', created_by: null })
    await round()
    expect(toApp()).toEqual([])
    // A request of the app that was still running.
    const { db } = gateway.core.stores
    await db.run(sql`insert into webhooks (id, account_id, url, events, status, secret, created_at, connection_id)
      select 'hook_late', account_id, url, events, 'active', secret, created_at, connection_id from webhooks where id = ${moved.webhook.id}`)
    await db.run(sql`update webhooks set status = 'active' where id = ${moved.webhook.id}`)
    expect(await db.all(sql`select status from webhooks where connection_id is not null`)).toEqual([
      { status: 'paused' },
      { status: 'paused' },
    ])
  })

  test('that an app made is paused when the app revokes its last token', async () => {
    const app = oauthApp(gateway, owner)
    const tokens = await app.connect('webhooks:write offline_access', ['/v1'])
    const made = await byApp(tokens.access_token)
    const revoke = (token: string) => app.form('/oauth2/revoke', { client_id: 'gateway-cli', token })
    expect((await revoke(tokens.access_token)).status).toBe(200)
    expect(await one(made)).toMatchObject({ status: 'active' })
    expect((await revoke(tokens.refresh_token)).status).toBe(200)
    expect(await one(made)).toMatchObject({ status: 'paused' })
    await keyBench(owner).create()
    await round()
    expect(received).toEqual([])
  })

  test('that is sent again during an attempt is sent after it', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    held.push(resolve)
    answer = () => promise.then(() => new Response('ok'))
    const made = await create({ events: ['key.disabled'] })
    await read(owner.api(`/api/webhooks/${made.webhook.id}/test`, undefined, 'POST'), 202)
    await gateway.gateway.delivering.run()
    await until(() => received.length === 1)
    const [delivery] = await log(made)
    await read(owner.api(`/api/webhooks/${made.webhook.id}/deliveries/${delivery?.id}/resend`, undefined, 'POST'), 202)
    resolve()
    await gateway.gateway.delivering.settled()
    await round()
    expect(received).toHaveLength(2)
    expect(await log(made)).toMatchObject([{ status: 'delivered', attempts: 2 }])
  })

  test("of a former operator is sent no operators' events, and its log shows none", async () => {
    const operator = await gateway.owner('second@example.com')
    const { id } = await read<{ id: AccountId }>(operator.api('/api/account'))
    const { directory, webhooks } = gateway.core.stores
    await directory.setRole(id, 'operator', audit())
    const made = await create({}, operator)
    const path = `/api/webhooks/${made.webhook.id}/deliveries`
    const types = async () => eventsIn(await read<Deliveries>(operator.api(path))).map(({ type }) => type)
    const at = gateway.clock.now()
    const event = { type: 'upstream.down' as const, accountId: null, keyId: null, at, data: {} }
    answer = () => new Response('no', { status: 500 })
    await webhooks.addEvents([{ ...event, id: 'evt_down' }])
    await keyBench(operator).create()
    await round()
    expect((await types()).toSorted()).toEqual(['key.created', 'upstream.down'])
    const { deliveries } = await read<Deliveries>(operator.api(path))
    const reserved = deliveries.find(({ type }) => type === 'upstream.down')
    await directory.setRole(id, null, audit())
    answer = () => new Response('ok')
    received = []
    gateway.clock.advance(HOUR_MS)
    await round()
    expect(received.map(({ body }) => JSON.parse(body).type)).toEqual(['key.created'])
    expect(await types()).toEqual(['key.created'])
    expect((await refusalOf(operator.api(`${path}/${reserved?.id}/resend`, undefined, 'POST'))).status).toBe(404)
  })

  test('is deleted with its log', async () => {
    const made = await create()
    await read(owner.api(`/api/webhooks/${made.webhook.id}`, undefined, 'DELETE'))
    expect(await refusalOf(owner.api(`/api/webhooks/${made.webhook.id}/deliveries`))).toMatchObject({ status: 404 })
    expect(await read<unknown>(owner.api('/api/webhooks'))).toEqual({ webhooks: [] })
  })
})

/** The owner's session at a gateway that was opened again. */
function again(path: string, body?: unknown, method = body === undefined ? 'GET' : 'POST') {
  return gateway.call(path, {
    method,
    headers: { cookie: owner.cookie, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
}
