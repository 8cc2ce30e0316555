import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { oauthApp } from '../support/agents/oauth'
import { type Harness, type MadeKey, openHarness } from '../support/harness'
import { closeReconciled, keyBench, read, refusalOf } from './owner-bench'

const APP = 'tauri://localhost'
const EXTENSION = 'chrome-extension://abcdefghijklmnop'
const SEARCH = '/apis/v1/websearch/images/search?q=card'
const CONTEXT = '/apis/v1/websearch/llm/context'
const LIMIT_HEADERS = ['limit', 'remaining', 'reset'].flatMap((part) => [
  `x-ratelimit-${part}-requests`,
  `x-ratelimit-${part}-tokens`,
])

let gateway: Harness
let key: MadeKey
beforeAll(async () => {
  gateway = await openHarness({ env: { CORS_ORIGINS: `${APP},${EXTENSION}` } })
  const operator = await gateway.owner()
  key = await gateway.key(await gateway.account(10))
  const forecast = { id: 'forecast', method: 'GET', path: '/v2/forecast', price: { mode: 'fixed', usd: '0.01' } }
  const api = { name: 'weather', base_url: 'https://weather.example', auth: 'none', operations: [forecast] }
  await read(operator.api('/api/operator/apis', api), 201)
})
afterAll(() => closeReconciled(gateway))

describe('a slip in a base URL', () => {
  test.each([
    ['GET', '//v1/models', '/v1/models'],
    ['GET', '/v1/v1/models', '/v1/models'],
    ['GET', '/v1/models/', null],
    ['GET', '/models', '/v1/models'],
    ['GET', '/v2/models', '/v1/models'],
    ['GET', '/openai/v1/models', '/v1/models'],
    ['GET', '/api/v1/models', '/v1/models'],
    ['POST', '/chat/completions', '/v1/chat/completions'],
    ['POST', '/v1/v1/messages/', '/v1/messages'],
    ['POST', '/models/x:generateContent', '/v1beta/models/x:generateContent'],
    ['POST', '/mcp/', '/mcp'],
    ['POST', '/mcp/sse', '/mcp'],
    ['GET', '/apis/v1/websearch/images/search/', '/apis/v1/websearch/images/search'],
    ['GET', '/v1/websearch/images/search', '/apis/v1/websearch/images/search'],
    ['GET', '/apis/v1/v1/websearch/images/search', '/apis/v1/websearch/images/search'],
    ['POST', '/apis/v1/v1/chat/completions', '/v1/chat/completions'],
    ['POST', '/v1/chat/completions/chat/completions', '/v1/chat/completions'],
    ['POST', '/v1/chat/completions/v1/chat/completions', '/v1/chat/completions'],
    ['GET', '/v1/weather/v2/forecast', '/apis/v1/weather/v2/forecast'],
  ])('%s %s is a 404 that names the right path, never a redirect', async (method, path, right) => {
    for (const accept of ['*/*', 'application/json']) {
      const headers = { accept, ...(method === 'POST' && { 'content-type': 'application/json' }) }
      const answer = await gateway.as(key, path, { method, headers, ...(method === 'POST' && { body: '{}' }) })
      const { code, message } = await refusalOf(answer)
      expect([answer.status, code, answer.headers.get('location')]).toEqual([
        404,
        right ? 'unknown_endpoint' : code,
        null,
      ])
      if (right) expect(message).toContain(`Its path is ${right}:`)
    }
  })

  test('names the method, too, where the right path has another', async () => {
    const { message } = await refusalOf(gateway.as(key, '/chat/completions'))
    expect(message).toContain('Its path is /v1/chat/completions, with POST:')
    const imported = await refusalOf(gateway.as(key, '/v1/weather/v2/forecast', { method: 'POST', body: '{}' }))
    expect(imported.message).toContain('Its path is /apis/v1/weather/v2/forecast, with GET:')
  })

  test('repeats no path that is longer than a client could have by mistake', async () => {
    const { message } = await refusalOf(gateway.as(key, `/v1beta/v1beta/models/${'a'.repeat(4000)}`))
    expect(message.length).toBeLessThan(100)
  })

  test("Azure's paths are named as not offered", async () => {
    const path = '/openai/deployments/gpt/chat/completions?api-version=2024-10-21'
    expect((await refusalOf(gateway.as(key, path, { method: 'POST', body: '{}' }))).message).toContain(
      'are not offered',
    )
  })

  test('opened in a browser gets the dashboard, and an unknown path says so', async () => {
    const page = await gateway.call('/keys', { headers: { accept: 'text/html,*/*;q=0.8' } })
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect((await refusalOf(gateway.call('/nothing/at/all'))).message).toContain('/docs lists all endpoints')
  })
})

describe('a key', () => {
  test("in the header of Brave's clients works on search routes, and on no other", async () => {
    const headers = { 'x-subscription-token': key.secret }
    expect((await gateway.call(SEARCH, { headers })).status).toBe(200)
    expect((await gateway.call('/v1/models', { headers })).status).toBe(401)
  })

  test.each([
    ['in quotation marks', (secret: string) => `Bearer "${secret}"`, 'quotation marks'],
    ['after the word twice', (secret: string) => `Bearer Bearer ${secret}`, 'twice'],
    ['with a space inside', (secret: string) => `Bearer ${secret.slice(0, 20)} ${secret.slice(20)}`, 'spaces'],
    ['of another service', () => 'Bearer sk-proj-abcdef', 'begin with gwk_'],
    ['cut off', (secret: string) => `Bearer ${secret.slice(0, -3)}`, 'incomplete'],
    ['with a typo', (secret: string) => `Bearer ${secret.slice(0, -1)}${secret.endsWith('a') ? 'b' : 'a'}`, 'checksum'],
    ['that is missing', () => 'Bearer ', 'no key'],
    ['without a scheme', (secret: string) => secret, '"Bearer" is missing'],
    ['with another scheme', (secret: string) => `Basic ${secret}`, 'must be Bearer'],
    ['that is a variable', () => 'Bearer $GATEWAY_API_KEY', 'name of a variable'],
  ])('%s is refused with what is wrong, and never repeated', async (_, header, words) => {
    const authorization = header(key.secret)
    const answer = await gateway.call(SEARCH, { headers: { authorization } })
    const text = await answer.text()
    expect(answer.status).toBe(401)
    expect(JSON.parse(text).error).toMatchObject({ code: 'invalid_api_key', message: expect.stringContaining(words) })
    expect(text).not.toContain(key.secret.slice(6, 20))
    expect(text).not.toContain('sk-proj')
  })
})

describe('an app on the desktop, and an extension', () => {
  const preflight = (path: string, origin: string) =>
    gateway.gateway.fetch(
      new Request(`${gateway.config.baseUrl}${path}`, {
        method: 'OPTIONS',
        headers: { origin, 'access-control-request-method': 'GET', 'access-control-request-headers': 'authorization' },
      }),
    )

  test.each([APP, EXTENSION])('%s may call what takes a key, and nothing with a session', async (origin) => {
    const answer = await preflight(SEARCH, origin)
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([204, origin])
    for (const name of [...LIMIT_HEADERS, 'x-request-id', 'x-gateway-request-id'])
      expect(answer.headers.has(name), name).toBe(true)
    expect(answer.headers.has('access-control-allow-credentials')).toBe(false)
    expect((await preflight('/api/keys', origin)).headers.has('access-control-allow-origin')).toBe(false)
    expect((await preflight(SEARCH, 'null')).headers.has('access-control-allow-origin')).toBe(false)
    const owner = await gateway.owner()
    const written = owner.api('/api/keys', { name: 'x' }, 'POST', { origin })
    expect(await refusalOf(written)).toMatchObject({ status: 403, code: 'foreign_origin' })
  })

  test.each(['null', 'tauri://', 'file://x', 'tauri://localhost/path', 'data:text', 'app://*'])(
    'no other form of origin is a setting: %s',
    async (origin) => {
      expect(openHarness({ env: { CORS_ORIGINS: origin } })).rejects.toThrow('CORS_ORIGINS')
    },
  )
})

describe('a body', () => {
  const text = JSON.stringify({ q: 'card', count: 3 })
  const post = (body: Uint8Array<ArrayBuffer> | string, encoding?: string) =>
    gateway.as(key, CONTEXT, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(encoding && { 'content-encoding': encoding }) },
      body,
    })

  test.each([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['zstd', zstdCompressSync],
  ])('in %s is unpacked', async (encoding, pack) => {
    expect((await post(pack(text), encoding)).status).toBe(200)
    expect(gateway.context.asked.at(-1)).toMatchObject({ q: 'card', count: 3 })
  })

  test.each([
    ['gzip', gzipSync(''), 1024 * 1024],
    ['zstd', Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0), 1024 * 1024],
  ])('in %s that unpacks to nothing without end is refused at the size of any body', async (encoding, member, most) => {
    const piece = new Uint8Array(Buffer.concat(Array(4_000).fill(member)))
    let sent = 0
    const body = new ReadableStream<Uint8Array>({
      pull(to) {
        sent += piece.byteLength
        if (sent > 20 * most) return to.close()
        to.enqueue(piece)
      },
    })
    const headers = { 'content-type': 'application/json', 'content-encoding': encoding }
    expect((await refusalOf(gateway.as(key, CONTEXT, { method: 'POST', headers, body }))).status).toBe(413)
    expect(sent).toBeLessThan(2 * most)
  })

  test('that unpacks to more than the limit is refused after as much of it, and one that is not packed by name', async () => {
    const bomb = zstdCompressSync(Buffer.alloc(300 * 1024 * 1024, ' '))
    expect(bomb.byteLength).toBeLessThan(100_000)
    const before = process.memoryUsage().rss
    expect((await post(bomb, 'zstd')).status).toBe(413)
    expect((await post(gzipSync(Buffer.alloc(100 * 1024 * 1024)), 'gzip')).status).toBe(413)
    expect(process.memoryUsage().rss - before).toBeLessThan(150 * 1024 * 1024)
    expect((await refusalOf(post(text, 'gzip'))).message).toContain('Content-Encoding')
    expect((await refusalOf(post(gzipSync(text).subarray(0, 20), 'gzip'))).status).toBe(400)
    expect((await refusalOf(post(text, 'br'))).message).toContain('gzip or zstd')
  })

  test('that begins with a byte order mark is read', async () => {
    expect((await post(`\ufeff${text}`)).status).toBe(200)
    const chat = { model: 'sandbox/echo', messages: [{ role: 'user', content: 'hi' }] }
    const answer = await gateway.as(key, '/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: `\ufeff${JSON.stringify(chat)}`,
    })
    expect(answer.status).toBe(200)
  })
})

test('HEAD is answered where GET is free, without a body, and refused where it is sold', async () => {
  for (const path of ['/v1/models', '/v1/catalog', '/v1/whoami']) {
    const answer = await gateway.as(key, path, { method: 'HEAD' })
    expect([path, answer.status, await answer.text()]).toEqual([path, 200, ''])
  }
  const asked = gateway.images.asked.length
  expect((await gateway.as(key, SEARCH, { method: 'HEAD' })).status).toBe(405)
  expect(gateway.images.asked.length).toBe(asked)
})

test('revoking a token that is unknown or was revoked before is 200 (RFC 7009 2.2)', async () => {
  const app = oauthApp(gateway, await gateway.owner())
  const { access_token: token } = await app.connect('data:read offline_access', ['/apis/v1'])
  for (const one of [token, token, 'gwat_unknown']) {
    const { status } = await app.form('/oauth2/revoke', { client_id: 'gateway-cli', token: one })
    expect(status).toBe(200)
  }
  expect((await app.form('/oauth2/revoke', { client_id: 'nobody', token })).status).toBeGreaterThanOrEqual(400)
})

describe('a name', () => {
  test.each(['می‌خواهم', '👩‍💻', '🏳️‍🌈', '👨‍👩‍👧‍👦', 'क्‍ष'])('may be %s', async (name) => {
    const bench = keyBench(await gateway.owner())
    expect((await bench.create({ name })).key.name).toBe(name)
  })

  test.each(['a\u200db', 'a\u200c', '\u200d', 'a\u202eb', '👩\u200d', '\u200d👩', 'می\u200c'])(
    'may not be %j',
    async (name) => {
      const owner = await gateway.owner()
      expect(await refusalOf(owner.api('/api/keys', { name }))).toMatchObject({ status: 400 })
    },
  )
})

test('the log of a key in a wrong form has none of it', () => {
  expect(gateway.logged.join('\n')).not.toContain(key.secret.slice(6, 20))
})

test('a Persian name is shown by the owner API as it was written', async () => {
  const owner = await gateway.owner()
  const { key: made } = await keyBench(owner).create({ name: 'می‌خواهم' })
  expect((await read<{ key: { name: string } }>(owner.api(`/api/keys/${made.id}`))).key.name).toBe('می‌خواهم')
})
