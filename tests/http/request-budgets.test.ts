import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { rm, stat } from 'node:fs/promises'
import { zstdCompressSync } from 'node:zlib'
import { sql } from 'drizzle-orm'
import { newSecret } from '../../server/core/credentials/secret'
import type { AccountId } from '../../server/core/ids'
import { batchRoutes } from '../../server/http/account/batch-routes'
import type { OwnerSessions } from '../../server/http/middleware/caller/owner-session'
import { isGated, isProbe } from '../../server/http/routing/endpoint'
import { oauthApp } from '../support/agents/oauth'
import { seedCalls } from '../support/databases/seed-calls'
import { type Harness, openHarness, WIDE } from '../support/harness'
import { keyBench, read } from './owner-bench'
import { IMAGES_CALL } from './wire'

const MINUTE = 60_000
const OWNER_RPM = 2400
const VISITOR_RPM = 600
const LIMIT_HEADERS = ['limit', 'remaining', 'reset'].flatMap((part) => [
  `x-ratelimit-${part}-requests`,
  `x-ratelimit-${part}-tokens`,
])

const requestsOn = ({ headers }: Response, part: 'limit' | 'remaining') =>
  Number(headers.get(`x-ratelimit-${part}-requests`) ?? Number.NaN)
const leftOn = (answer: Response) => requestsOn(answer, 'remaining')

/** The refusal for a full window. All of it is checked. */
async function refusalOf(answer: Response) {
  for (const name of LIMIT_HEADERS) expect(answer.headers.get(name), name).toMatch(/^\d+$/)
  const { error } = (await answer.json()) as { error: Record<string, unknown> }
  expect([answer.status, error['type'], error['code']]).toEqual([429, 'rate_limit_error', 'rate_limit_exceeded'])
  expect(answer.headers.get('retry-after')).toBe(String(error['retry_after']))
  expect(error['request_id']).toBe(answer.headers.get('x-gateway-request-id') as string)
  return { source: error['limit_source'], seconds: error['retry_after'] }
}

let gateway: Harness

/** Real limits; a minute has forty seconds left at the start of each test. */
async function opened(env: Record<string, string> = {}) {
  return openHarness({
    env: {
      OWNER_RPM: String(OWNER_RPM),
      VISITOR_RPM: String(VISITOR_RPM),
      TRUSTED_PROXIES: '127.0.0.1',
      BASE_URL: 'https://gateway.example',
      ...env,
    },
  })
}

beforeAll(async () => {
  gateway = await opened()
})
beforeEach(() => gateway.clock.advance(80_000 - (gateway.clock.now() % MINUTE)))
afterAll(() => gateway.close())

const at = (address: string, path: string, init: RequestInit = {}) =>
  gateway.call(path, { ...init, headers: { ...(init.headers as Record<string, string>), 'x-forwarded-for': address } })

describe('each mounted route', () => {
  const routes = () =>
    gateway.gateway.app.routes
      .filter(({ path }) => !isGated(path) && !isProbe(path))
      .map(({ method, path }) => ({
        method: method === 'ALL' ? 'GET' : method,
        path: path.replace(/:\w+/g, 'x').replace('*', 'x'),
      }))
  const costsLess = async (
    send: (method: string, path: string) => Promise<Response>,
    limit: number,
    isAsked: (route: { readonly path: string }) => boolean = () => true,
  ) => {
    const free: string[] = []
    expect(routes().length).toBeGreaterThan(150)
    for (const { method, path } of routes().filter(isAsked)) {
      gateway.clock.advance(MINUTE)
      const answer = await send(method, path)
      await answer.body?.cancel()
      const left = leftOn(answer)
      const isCounted = requestsOn(answer, 'limit') === limit && left < limit
      if (!isCounted || LIMIT_HEADERS.some((name) => !answer.headers.has(name))) free.push(`${method} ${path} ${left}`)
    }
    return free
  }
  const bodyOf = (method: string) =>
    method === 'GET' || method === 'OPTIONS' ? {} : { body: '{}', headers: { 'content-type': 'application/json' } }

  test('takes from the window of the address of a stranger, and says how much is left', async () => {
    const sent = (method: string, path: string) => at('203.0.113.1', path, { method, ...bodyOf(method) })
    expect(await costsLess(sent, VISITOR_RPM)).toEqual([])
  })

  test('takes from the window of the account of a session, once its session was seen', async () => {
    const owner = await gateway.owner()
    await read(owner.api('/api/account'))
    const sent = (method: string, path: string) => {
      const { headers, ...body }: RequestInit = bodyOf(method)
      return gateway.call(path, {
        method,
        ...body,
        headers: { ...(headers as Record<string, string>), cookie: owner.cookie },
      })
    }
    const endsSession = ({ path }: { readonly path: string }) =>
      /\/(sign-out|end(-others|-all)?|revoke(-other)?-sessions|close)$/.test(path)
    expect(await costsLess(sent, OWNER_RPM, (route) => !endsSession(route))).toEqual([])
  })

  test('probes take nothing, so that strangers cannot take the gateway out of service', async () => {
    for (let i = 0; i < VISITOR_RPM + 1; i++) await at('203.0.113.2', '/openapi.json')
    expect((await at('203.0.113.2', '/health')).status).toBe(200)
    const ready = await at('203.0.113.2', '/ready', { headers: { cookie: 'better-auth.session_token=made.up' } })
    expect(await ready.json()).toEqual({ status: 'ready' })
  })
})

describe('a full window', () => {
  test('of a stranger at /mcp/paid is one before the body is read, which is at most 64 KiB', async () => {
    const sent = async (body: Uint8Array<ArrayBuffer>, more: Record<string, string> = {}) => {
      let taken = 0
      const pieces = new ReadableStream<Uint8Array>(
        {
          pull(to) {
            if (taken >= body.byteLength) return to.close()
            to.enqueue(body.subarray(taken, taken + 4096))
            taken = Math.min(body.byteLength, taken + 4096)
          },
        },
        { highWaterMark: 0 },
      )
      const headers = { 'content-type': 'application/json', ...more }
      const answer = await at('203.0.113.3', '/mcp/paid', { method: 'POST', headers, body: pieces })
      return { status: answer.status, taken }
    }
    const list = new TextEncoder().encode(JSON.stringify(Array(20_000).fill('x')))
    const packed = new Uint8Array(zstdCompressSync(list))
    expect(await sent(list)).toMatchObject({ status: 413 })
    expect(await sent(packed, { 'content-encoding': 'zstd' })).toMatchObject({ status: 413 })
    const small = new TextEncoder().encode('{"jsonrpc":"2.0"}')
    let last = await sent(small)
    for (let i = 0; i < VISITOR_RPM && last.taken > 0; i++) last = await sent(small)
    expect(last).toEqual({ status: 429, taken: 0 })
    expect(await sent(packed, { 'content-encoding': 'zstd' })).toEqual({ status: 429, taken: 0 })
  })

  const fill = async (send: () => Promise<Response>): Promise<Response> => {
    for (let i = 0; i <= OWNER_RPM; i++) {
      const answer = await send()
      if (answer.status === 429) return answer
      await answer.body?.cancel()
    }
    throw new Error('the window never filled')
  }

  test('of a stranger refuses every public route until the next minute, and that of an IPv6 stranger is its /64', async () => {
    const refusal = await refusalOf(await fill(() => at('2001:db8::1', '/llms.txt')))
    expect(refusal).toEqual({ source: 'address', seconds: 40 })
    for (const path of ['/docs', '/openapi.json', '/api/auth/get-session', '/.well-known/x402'])
      await refusalOf(await at('2001:db8::2', path))
    expect((await at('2001:db8:0:1::1', '/docs')).status).toBe(200)
    gateway.clock.advance(40_000)
    expect((await at('2001:db8::2', '/docs')).status).toBe(200)
  })

  test('of an account is shared by its sessions, spares other accounts, and is told before the session is read', async () => {
    const owner = await gateway.owner('shared@example.com')
    const second = await gateway.signIn('shared@example.com')
    const other = await gateway.owner()
    for (const { api } of [owner, second, other]) await read(api('/api/account'))
    const refusal = await refusalOf(await fill(() => owner.api('/api/keys', { name: '' })))
    expect(refusal).toEqual({ source: 'account', seconds: 40 })
    await refusalOf(await second.api('/api/keys', { name: '' }))
    expect((await other.api('/api/account')).status).toBe(200)
    gateway.clock.advance(MINUTE)
    const full = await fill(() => second.api('/api/keys'))
    expect(full.status).toBe(429)
    await gateway.call('/api/auth/sign-out', { method: 'POST', headers: { cookie: owner.cookie } })
    // Its session has ended without a request.
    await refusalOf(await owner.api('/api/keys'))
  })

  test('of an address refuses made-up and ended sessions, and not those that were valid', async () => {
    const owner = await gateway.owner()
    const known = () => at('203.0.113.3', '/api/account', { headers: { cookie: owner.cookie } })
    expect((await known()).status).toBe(200)
    let made = 0
    const madeUp = () =>
      at('203.0.113.3', '/api/account', { headers: { cookie: `__Secure-better-auth.session_token=x${++made}.y` } })
    expect((await refusalOf(await fill(madeUp))).source).toBe('address')
    expect((await known()).status).toBe(200)
    await at('203.0.113.4', '/api/auth/sign-out', { method: 'POST', headers: { cookie: owner.cookie } })
    // The first says that it ended; from then on it is a stranger's.
    expect((await known()).status).toBe(401)
    await refusalOf(await known())
  })

  test('of an account also bounds the free work of all its keys, reports by their range, and not what they pay for', async () => {
    const account = await gateway.account(1)
    const keys = [await gateway.key(account), await gateway.key(account)] as const
    const now = Math.floor(gateway.clock.now() / 1000)
    const report = (days: number) =>
      `/v1/usage?start_time=${now - days * 86_400}&end_time=${now}&timezone=America/St_Johns`
    const leftAfter = async (days: number) => {
      gateway.clock.advance(MINUTE)
      return OWNER_RPM - leftOn(await gateway.as(keys[0], report(days)))
    }
    expect([await leftAfter(1), await leftAfter(366)]).toEqual([2, 8])
    gateway.clock.advance(MINUTE)
    let turn = 0
    const refusal = await refusalOf(await fill(() => gateway.as(keys[turn++ % 2] as (typeof keys)[0], report(366))))
    expect([turn, refusal.source]).toEqual([OWNER_RPM / 8 + 1, 'account'])
    expect((await gateway.as(keys[0], IMAGES_CALL)).status).toBe(200)
    expect((await gateway.as(keys[0], '/v1/whoami')).status).toBe(429)
  })

  test('of an account counts a report that a tool makes', async () => {
    const key = await gateway.key(await gateway.account(1))
    const call = (method: string, params: unknown) =>
      gateway.as(key, '/mcp', {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      })
    expect(await (await call('tools/call', { name: 'usage', arguments: {} })).text()).toContain('bucket_width')
    // Each takes two without a range.
    expect(leftOn(await gateway.as(key, '/v1/usage?bucket_width=1h'))).toBe(OWNER_RPM - 4)
  })

  test('of an account also bounds the writes of its apps', async () => {
    const owner = await gateway.owner()
    const { id } = await read<{ id: AccountId }>(owner.api('/api/account'))
    const wide = await gateway.core.operator.setLimits({ kind: 'operator', id: 'test', address: null }, id, WIDE)
    expect(wide.ok).toBe(true)
    const app = oauthApp(gateway, owner)
    const { access_token: token } = await app.connect('keys:write', ['/v1'])
    const make = () =>
      gateway.as(token, '/v1/keys', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"name":""}',
      })
    expect(leftOn(await make())).toBe(OWNER_RPM - 5)
    expect((await refusalOf(await fill(make))).source).toBe('account')
    expect((await gateway.as(token, '/v1/whoami')).status).toBe(429)
  })

  test('of an address refuses unknown keys before they are looked up, and no key in use', async () => {
    const key = await gateway.key(await gateway.account(1))
    const from = (secret: string) => at('203.0.113.5', IMAGES_CALL, { headers: { authorization: `Bearer ${secret}` } })
    const { credentials } = gateway.core
    const asked: string[] = []
    const byHash = credentials.byHash.bind(credentials)
    credentials.byHash = (hash) => {
      asked.push(hash)
      return byHash(hash)
    }
    const unknown = newSecret().secret
    const full = await fill(() => from(unknown))
    const lookups = asked.length
    await refusalOf(full)
    await refusalOf(await from(unknown))
    expect([lookups, asked.length]).toEqual([60, 60])
    expect((await from(key.secret)).status).toBe(200)
    credentials.byHash = byHash
  })
})

describe('a batch', () => {
  const batch = (...parts: string[]) => `/api/batch?${new URLSearchParams(parts.map((part) => ['get', part]))}`

  test('costs what its parts cost, and a part too many is refused alone', async () => {
    const owner = await gateway.owner()
    await read(owner.api('/api/account'))
    gateway.clock.advance(MINUTE)
    const before = leftOn(await owner.api('/api/account'))
    await read(owner.api(batch('keys?limit=200', 'usage?group_by=key', 'account')))
    // The batch itself, a list of four pages of fifty, a grouped report, a read, and this one.
    expect(before - leftOn(await owner.api('/api/account'))).toBe(1 + 6 + 6 + 1 + 1)
    let parts: { readonly status: number; readonly body: unknown }[] = []
    do parts = (await read<{ parts: typeof parts }>(owner.api(batch(...Array(24).fill('keys?limit=200'))))).parts
    while (parts.every(({ status }) => status === 200))
    expect([...new Set(parts.map(({ status }) => status))].sort()).toEqual([200, 429])
    expect(parts.at(-1)?.body).toMatchObject({ error: { code: 'rate_limit_exceeded', limit_source: 'account' } })
  })

  const answering = (body: string) => {
    let [running, most, asked] = [0, 0, 0]
    const owners = { owner: async () => ({ accountId: 'acct_1' }) } as unknown as OwnerSessions
    const group = batchRoutes({ owners }, async () => {
      asked++
      most = Math.max(most, ++running)
      await new Promise((resolve) => setImmediate(resolve))
      running--
      return new Response(body, { headers: { 'content-type': 'application/json' } })
    })
    const ask = async (parts: number) => {
      const request = new Request(`http://localhost${batch(...Array(parts).fill('x'))}`)
      const context = { request, url: new URL(request.url), ids: { own: 'req_1' } }
      const text = await (await group.decorate('context', context as never).handle(request)).text()
      return { text, most, asked }
    }
    return ask
  }

  test('works on three parts at a time', async () => {
    const { most, asked } = await answering('{}')(24)
    expect([most, asked]).toEqual([3, 24])
  })

  test('answers with at most a megabyte, and says which parts are left out', async () => {
    const { text, asked } = await answering(JSON.stringify('x'.repeat(300_000)))(24)
    expect(text.length).toBeLessThan(1024 * 1024 + 24 * 300)
    const { parts } = JSON.parse(text) as { parts: { status: number; body: unknown }[] }
    expect(parts.map(({ status }) => status).toSorted()).toEqual([200, 200, 200, ...Array(21).fill(413)])
    expect(parts.at(-1)?.body).toMatchObject({ error: { code: 'payload_too_large' } })
    expect(asked).toBeLessThan(24)
  })
})

test('a download goes on with the next minute where the rows of one are taken', async () => {
  const small = await opened({ OWNER_RPM: '100' })
  const owner = await small.owner()
  const account = await small.core.accounts.byId((await read<{ id: AccountId }>(owner.api('/api/account'))).id)
  if (!account) throw new Error('no account')
  const key = await small.key(account)
  await seedCalls(small, account, { key: key.id, count: 12_000 })
  small.clock.advance(MINUTE)
  const file = await owner.api('/api/usage.csv')
  expect(leftOn(file)).toBe(50)
  const reader = file.body?.pipeThrough(new TextDecoderStream()).getReader()
  if (!reader) throw new Error('no body')
  let text = ''
  const take = async () => {
    const { value, done } = await reader.read()
    text += value ?? ''
    return done
  }
  const lines = () => text.split('\r\n').length - 2
  // Each page of 5,000 rows costs 50, the first with the request.
  while (lines() < 10_000) await take()
  const third = take()
  expect((await owner.api('/api/prices')).status).toBe(429)
  expect(lines()).toBe(10_000)
  small.clock.advance(MINUTE)
  expect(await third).toBe(false)
  expect(lines()).toBe(12_000)
  while (!(await take()));
  expect(lines()).toBe(12_000)
  await small.close()
})

test('ten minutes of the largest changes at the limit fill less than 50 MB', async () => {
  const own = await opened()
  const owner = await own.owner()
  const { key } = await keyBench(owner).create()
  const addresses = (net: number) => Array.from({ length: 50 }, (_, host) => `2001:db8:${net}::${host + 1}`)
  const change = async (turn: number) => {
    own.clock.advance(MINUTE)
    const form = { allowed_ips: addresses(turn), note: `${turn} `.padEnd(500, 'é'), tags: [`tag ${turn}`] }
    await keyBench(owner).change(key.id, form)
  }
  const bytes = async () => {
    await own.close(true)
    return (await stat(own.databaseFile)).size
  }
  const before = (await own.core.stores.db.get<{ bytes: number }>(sql`PRAGMA page_count`)) as { page_count?: number }
  for (let turn = 0; turn < 200; turn++) await change(turn)
  const each = ((await bytes()) - Number(before.page_count) * 4096) / 200
  expect(each).toBeGreaterThan(1_000)
  expect(each * (OWNER_RPM / 5) * 10).toBeLessThan(50_000_000)
  await rm(own.folder, { recursive: true, force: true })
})
