import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { MAX_PER_ACCOUNT } from '../../../server/adapters/stores/memory/events'
import type { Listening } from '../../../server/listen'
import { eventSource } from '../../support/agents/event-source'
import { type Harness, openHarness, WIDE } from '../../support/harness'
import { listenTo } from '../../support/servers/listen-to'
import { until } from '../../support/until'
import { type AccountBody, closeReconciled, IMAGES, keyBench, type Owner, read, refusalOf } from '../owner-bench'

let gateway: Harness
let web: Listening
let owner: Owner
let other: Owner

beforeAll(async () => {
  gateway = await openHarness()
  web = listenTo(gateway.gateway, (error) => {
    throw error
  })
  owner = await gateway.owner()
  other = await gateway.owner()
})
afterAll(async () => {
  await web.stop(0)
  await closeReconciled(gateway)
})

/** Listens as a browser does, over a socket. */
async function listening(who: Owner, after?: string) {
  const query = after === undefined ? '' : `?${new URLSearchParams({ after })}`
  const answer = await fetch(`http://127.0.0.1:${web.port}/api/events${query}`, { headers: { cookie: who.cookie } })
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toBe('text/event-stream')
  expect(answer.headers.get('cache-control')).toBe('no-store')
  const source = eventSource(answer)
  expect(await source.next()).toEqual({ event: 'ping', data: {} })
  return source
}

const accountOf = async (who: Owner) => read<AccountBody>(who.api('/api/account'))

describe('GET /api/events', () => {
  test('requires the session cookie; a key is ignored', async () => {
    const { secret } = await keyBench(owner).create()
    for (const headers of [{}, { authorization: `Bearer ${secret}` }])
      expect(await refusalOf(gateway.call('/api/events', { headers }))).toMatchObject({
        status: 401,
        code: 'missing_session',
      })
  })

  test('answers a HEAD with its headers, and waits for no event', async () => {
    for (let i = 0; i < MAX_PER_ACCOUNT + 1; i++) {
      const signal = AbortSignal.timeout(5000)
      const answer = await fetch(`http://127.0.0.1:${web.port}/api/events`, {
        method: 'HEAD',
        headers: { cookie: other.cookie },
        signal,
      })
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
    }
  })

  test('reports a served call and the balance after it', async () => {
    const { key, secret } = await keyBench(owner).create()
    const source = await listening(owner)
    const answer = await gateway.as(secret, IMAGES)
    expect(answer.status).toBe(200)
    expect(await source.nextOf('call')).toMatchObject({
      data: {
        id: answer.headers.get('x-gateway-request-id'),
        key_id: key.id,
        operation: 'image-search',
        status: 200,
        code: null,
        cost_micros_usd: 5000,
      },
    })
    const { data } = await source.nextOf('balance')
    expect(data['balance_micros_usd']).toBe((await accountOf(owner)).balance_micros_usd)
    await source.close()
  })

  test('reports a refused call, which cost nothing and moved no balance', async () => {
    const { secret } = await keyBench(owner).create()
    const source = await listening(owner)
    await gateway.as(secret, '/apis/v1/websearch/images/search')
    expect(await source.next()).toMatchObject({
      event: 'call',
      data: { status: 400, code: 'missing_parameter', cost_micros_usd: 0 },
    })
    await keyBench(owner).create()
    expect((await source.next())?.event).toBe('key')
    await source.close()
  })

  test('reports every change to a key, grants and a new tier', async () => {
    const source = await listening(owner)
    const keys = keyBench(owner)
    const { key } = await keys.create()
    expect(await source.next()).toEqual({ event: 'key', data: { id: key.id } })
    for (const change of [
      () => keys.change(key.id, { spending_limit: 1 }),
      () => keys.move(key.id, 'disable'),
      () => keys.move(key.id, 'enable'),
    ]) {
      await change()
      expect(await source.next()).toEqual({ event: 'key', data: { id: key.id } })
    }
    const successor = (await keys.rotate(key.id)).key
    expect([await source.next(), await source.next()].map((event) => event?.data['id'])).toEqual([key.id, successor.id])
    const { id } = await accountOf(owner)
    const actor = { kind: 'operator', id: 'test', address: null } as const
    await gateway.core.operator.grant(actor, id as `acct_${string}`, 1_000_000 as never, 'gift', 'gift')
    expect((await source.nextOf('balance')).data['balance_micros_usd']).toBe(
      (await accountOf(owner)).balance_micros_usd,
    )
    await gateway.core.operator.setLimits(actor, id as `acct_${string}`, WIDE)
    expect(await source.next()).toEqual({ event: 'tier', data: { tier: 'enterprise' } })
    await source.close()
  })

  test('begins with what happened since the account was read, and after a stream that broke off with what it had not sent', async () => {
    const { events_mark: mark } = await accountOf(owner)
    const { key, secret } = await keyBench(owner).create()
    await gateway.as(secret, IMAGES)
    const source = await listening(owner, mark)
    expect(await source.next()).toEqual({ event: 'key', data: { id: key.id } })
    expect((await source.nextOf('call')).data['key_id']).toBe(key.id)
    const { data } = await source.nextOf('balance')
    expect(data['balance_micros_usd']).toBe((await accountOf(owner)).balance_micros_usd)
    await source.close()
    const next = await keyBench(owner).create()
    const resumed = await listening(owner, source.lastId())
    expect(await resumed.next()).toEqual({ event: 'key', data: { id: next.key.id } })
    await resumed.close()
  })

  test('begins with `missed` when events since then are unknown, and reports no event to another account', async () => {
    const { events_mark: theirs } = await accountOf(other)
    await keyBench(other).create()
    for (const unknown of [theirs, 'of a process before this one.3', '']) {
      const source = await listening(owner, unknown)
      expect(await source.next()).toEqual({ event: 'missed', data: {} })
      const { key } = await keyBench(owner).create()
      expect(await source.next()).toEqual({ event: 'key', data: { id: key.id } })
      await source.close()
    }
  })

  test('reports nothing of another account', async () => {
    const source = await listening(other)
    const { secret } = await keyBench(owner).create()
    await gateway.as(secret, IMAGES)
    const mine = await keyBench(other).create()
    expect(await source.next()).toEqual({ event: 'key', data: { id: mine.key.id } })
    await source.close()
  })

  test('contains no secret', async () => {
    const source = await listening(owner)
    const { secret } = await keyBench(owner).create()
    await gateway.as(secret, IMAGES)
    const seen = [await source.nextOf('key'), await source.nextOf('call'), await source.nextOf('balance')]
    expect(JSON.stringify(seen)).not.toContain(secret.slice(4))
    await source.close()
  })

  test('accepts a bounded number of listeners per account; one that leaves makes room', async () => {
    const busy = await gateway.owner()
    const sources = await Promise.all(Array.from({ length: MAX_PER_ACCOUNT }, () => listening(busy)))
    expect(await refusalOf(gateway.call('/api/events', { headers: { cookie: busy.cookie } }))).toMatchObject({
      status: 429,
      code: 'rate_limit_exceeded',
    })
    await Promise.all(sources.map((source) => source.close()))
    // The server learns of it from the socket.
    const id = (await accountOf(busy)).id as `acct_${string}`
    await until(() => {
      const watcher = gateway.core.events.watch(id)
      watcher?.close()
      return watcher !== null
    })
    await (await listening(busy)).close()
  })
})

describe('the stream ends', () => {
  test('at once when its session signs out', async () => {
    const leaving = await gateway.owner()
    const source = await listening(leaving)
    await leaving.api('/api/auth/sign-out', undefined, 'POST')
    expect(await source.rest()).toEqual([])
  })

  test('at once when another session of the owner ends it, and that one continues', async () => {
    const twice = await gateway.owner()
    const source = await listening(twice)
    const signedIn = await gateway.call('/api/auth/sign-in/email', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: twice.email, password: 'correct horse battery' }),
    })
    const second = { ...twice, cookie: (signedIn.headers.getSetCookie()[0] ?? '').split(';')[0] ?? '' }
    const staying = await listening(second)
    await gateway.call('/api/auth/revoke-other-sessions', { method: 'POST', headers: { cookie: second.cookie } })
    expect(await source.rest()).toEqual([])
    expect((await twice.api('/api/account')).status).toBe(401)
    await staying.close()
  })

  test('within a ping when its session has expired', async () => {
    const own = await openHarness({ pingMs: 30 })
    const who = await own.owner()
    const answer = await own.call('/api/events', { headers: { cookie: who.cookie } })
    const source = eventSource(answer)
    await source.nextOf('ping')
    await source.nextOf('ping')
    const { db } = own.core.stores
    await db.run('UPDATE identity_session SET expires_at = 1')
    expect((await source.rest()).every(({ event }) => event === 'ping')).toBe(true)
    await own.close()
  })

  test('when its session has expired, also while there is never a pause for a ping', async () => {
    const own = await openHarness({ pingMs: 30 })
    const who = await own.owner()
    const { id } = await read<AccountBody>(who.api('/api/account'))
    const source = eventSource(await own.call('/api/events', { headers: { cookie: who.cookie } }))
    const busy = setInterval(() => own.core.events.publish(id as `acct_${string}`, { type: 'balance' }), 5)
    await source.nextOf('balance')
    await own.core.stores.db.run('UPDATE identity_session SET expires_at = 1')
    const rest = await source.rest()
    clearInterval(busy)
    expect(rest.length).toBeLessThan(5)
    await own.close()
  })

  test('when the gateway drains', async () => {
    const own = await openHarness()
    const who = await own.owner()
    const source = eventSource(await own.call('/api/events', { headers: { cookie: who.cookie } }))
    await source.nextOf('ping')
    own.gateway.stopping.drain()
    expect(await source.rest()).toEqual([])
    await own.close()
  })
})
