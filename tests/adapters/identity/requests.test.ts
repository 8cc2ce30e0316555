import { afterAll, describe, expect, test } from 'bun:test'
import { drizzle } from 'drizzle-orm/libsql'
import { openIdentity } from '../../../server/adapters/identity/identity'
import { cookieOf, errorOf, newUser, ORIGIN, openBench, PASSWORD } from './identity-bench'

const bench = await openBench()
afterAll(() => bench[Symbol.asyncDispose]())
const { identity, post, get } = bench
const caller = { address: '192.0.2.1', requestId: 'req_x', isFromThisMachine: false }
const json = { 'content-type': 'application/json' }

function send(path: string, init: RequestInit): Promise<Response> {
  return identity.handle(new Request(`http://localhost${path}`, init), caller)
}

describe('400', () => {
  test.each(['{"email":', '{', 'nope', '{"a":1}}', '\u0000'])('answers %p with json_parse_error', async (body) => {
    const answer = await errorOf(await send('/api/auth/sign-in/email', { method: 'POST', headers: json, body }))
    expect(answer).toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      code: 'json_parse_error',
      request_id: 'req_x',
    })
  })

  test('answers bytes that are not UTF-8 with json_parse_error', async () => {
    const body = new Uint8Array([0x22, 0xff, 0xfe, 0x22])
    const answer = await errorOf(await send('/api/auth/sign-in/email', { method: 'POST', headers: json, body }))
    expect(answer).toMatchObject({ status: 400, code: 'json_parse_error' })
  })

  test.each([
    'null',
    '[]',
    '"x"',
    '7',
    '{}',
    '{"email":{"a":1},"password":[]}',
    `${'['.repeat(30_000)}${']'.repeat(30_000)}`,
  ])('answers JSON of another shape with validation_error, not 500', async (body) => {
    for (const path of ['/sign-in/email', '/sign-up/email']) {
      const answer = await errorOf(await send(`/api/auth${path}`, { method: 'POST', headers: json, body }))
      expect(answer).toMatchObject({ status: 400, type: 'invalid_request_error' })
    }
    expect(bench.faults).toEqual([])
  })

  test('answers a missing body with validation_error', async () => {
    for (const headers of [{}, json]) {
      expect(await errorOf(await send('/api/auth/sign-in/email', { method: 'POST', headers }))).toMatchObject({
        status: 400,
        code: 'validation_error',
      })
    }
  })
})

describe('403', () => {
  const wire = async (headers: Record<string, string>, path = '/sign-in/email') => {
    const { email, password } = newUser('origin@example.com')
    return post(path, { email, password }, { headers })
  }

  test.each([
    ['another site', { origin: 'https://evil.example' }],
    ['null', { origin: 'null' }],
    ['our name with another port', { origin: 'http://localhost:3001' }],
    ['our name with more behind it', { origin: 'http://localhost:3000.evil.example' }],
    ['no Origin from a cross-site browser', { 'sec-fetch-site': 'cross-site' }],
    ['no Origin from a sibling site', { 'sec-fetch-site': 'same-site' }],
  ])('answers %s with foreign_origin, with a cookie and without', async (_what, headers) => {
    const cookie = cookieOf(await post('/sign-up/email', newUser(`${crypto.randomUUID()}@example.com`)))
    for (const path of ['/sign-in/email', '/sign-out', '/change-password', '/sign-up/email']) {
      for (const extra of [{}, { cookie }]) {
        expect(await errorOf(await wire({ ...headers, ...extra }, path))).toMatchObject({
          status: 403,
          type: 'permission_error',
          code: 'foreign_origin',
        })
      }
    }
    expect(await identity.session(new Headers({ cookie }))).not.toBeNull()
  })

  test.each([ORIGIN, 'http://127.0.0.1:3000'])('is not returned for %s', async (origin) => {
    const email = `${crypto.randomUUID()}@example.com`
    const cookie = cookieOf(
      await post('/sign-up/email', newUser(email), { headers: { origin, 'sec-fetch-site': 'same-origin' } }),
    )
    expect((await post('/sign-out', {}, { headers: { origin, cookie } })).status).toBe(200)
  })

  test('is not returned to a script: without Origin, with a cookie jar, it may sign up, sign in and sign out', async () => {
    await using own = await openBench()
    const first = await own.post('/sign-up/email', newUser('curl@example.com'))
    expect(first.status).toBe(200)
    const jar = { cookie: cookieOf(first) }
    const second = await own.post('/sign-in/email', { email: 'curl@example.com', password: PASSWORD }, { headers: jar })
    expect(second.status).toBe(200)
    const next = { cookie: cookieOf(second) }
    expect((await own.post('/sign-out', undefined, { headers: next })).status).toBe(200)
    expect(await own.identity.session(new Headers(next))).toBeNull()
  })

  test('is returned for a callback on another site', async () => {
    const answer = await post('/sign-up/email', { ...newUser('cb@example.com'), callbackURL: 'https://evil.example/x' })
    expect(await errorOf(answer)).toMatchObject({ status: 403, type: 'permission_error', code: 'invalid_callback_url' })
  })
})

describe('404', () => {
  test.each([
    '/api/auth/nope',
    '/api/auth',
    '/api/auth/',
    '/api/authx/get-session',
    '/api/auth/get-session/',
    '/api/auth//get-session',
    '/api/auth/sign-in/%65mail',
    '/api/auth/sign-in/social',
    '/api/auth/callback/github',
    '/api/auth/link-social',
    '/api/auth/reset-password/token',
    '/api/auth/delete-user',
    '/api/auth/change-email',
    '/api/auth/verify-email',
    '/api/auth/get-access-token',
    '/api/auth/update-session',
    '/api/auth/error',
    '/api/auth/ok',
    '/api/auth/__proto__',
  ])('answers %s with unknown_endpoint', async (path) => {
    for (const method of ['GET', 'POST']) {
      const answer = await send(path, method === 'GET' ? { method } : { method, headers: json, body: '{}' })
      expect(await errorOf(answer)).toMatchObject({
        status: 404,
        type: 'invalid_request_error',
        code: 'unknown_endpoint',
        request_id: 'req_x',
      })
    }
  })
})

describe('405', () => {
  test('names the allowed method', async () => {
    const answer = await send('/api/auth/sign-in/email', { method: 'GET' })
    expect(answer.headers.get('allow')).toBe('POST')
    expect(await errorOf(answer)).toMatchObject({ status: 405, code: 'method_not_allowed' })
    for (const method of ['HEAD', 'POST', 'DELETE', 'OPTIONS']) {
      expect((await send('/api/auth/get-session', { method })).headers.get('allow')).toBe('GET')
    }
  })
})

describe('413', () => {
  const big = JSON.stringify({ ...newUser('big@example.com'), pad: 'x'.repeat(64 * 1024) })

  test('answers a body over 64 KiB with payload_too_large, by its declared and by its actual length', async () => {
    const declared = await send('/api/auth/sign-up/email', {
      method: 'POST',
      headers: { ...json, 'content-length': String(big.length) },
      body: big,
    })
    const streamed = await send('/api/auth/sign-up/email', {
      method: 'POST',
      headers: json,
      body: new Blob([big]).stream(),
    })
    for (const answer of [declared, streamed]) {
      expect(await errorOf(answer)).toMatchObject({
        status: 413,
        type: 'invalid_request_error',
        code: 'payload_too_large',
      })
    }
  })

  test('stops reading an endless body', async () => {
    let sent = 0
    const endless = new ReadableStream({
      pull(controller) {
        sent += 1024
        controller.enqueue(new Uint8Array(1024).fill(0x20))
      },
    })
    expect((await send('/api/auth/sign-up/email', { method: 'POST', headers: json, body: endless })).status).toBe(413)
    expect(sent).toBeLessThan(256 * 1024)
  })

  test('is not returned for a body of exactly 64 KiB', async () => {
    const empty = JSON.stringify({ ...newUser('fits@example.com'), pad: '' })
    const body = JSON.stringify({ ...newUser('fits@example.com'), pad: 'x'.repeat(64 * 1024 - empty.length) })
    expect(body.length).toBe(64 * 1024)
    expect((await send('/api/auth/sign-up/email', { method: 'POST', headers: json, body })).status).toBe(200)
  })
})

describe('415', () => {
  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    '',
  ])('answers a body of type %p with unsupported_media_type', async (type) => {
    const body = new Blob([JSON.stringify({ email: 'a@example.com', password: PASSWORD })])
    const answer = await send('/api/auth/sign-in/email', {
      method: 'POST',
      headers: type === '' ? {} : { 'content-type': type },
      body: body.stream(),
    })
    expect(await errorOf(answer)).toMatchObject({
      status: 415,
      type: 'invalid_request_error',
      code: 'unsupported_media_type',
    })
  })

  test('is not returned for JSON with a charset', async () => {
    const body = JSON.stringify({ email: 'a@example.com', password: PASSWORD })
    const answer = await send('/api/auth/sign-in/email', {
      method: 'POST',
      headers: { 'content-type': 'Application/JSON; charset=utf-8' },
      body,
    })
    expect(answer.status).toBe(401)
  })
})

describe('429', () => {
  const attempt = { email: 'limit@example.com' }

  test('answers the 11th sign-in of a minute with rate_limit_exceeded and the correct wait', async () => {
    const clock = { ms: 5_000_000 }
    await using own = await openBench({ clock: { now: () => clock.ms } })
    for (let n = 0; n < 10; n++) expect((await own.post('/sign-in/email', attempt)).status).toBe(400)
    clock.ms += 12_000
    const answer = await own.post('/sign-in/email', attempt)
    expect(answer.headers.get('retry-after')).toBe('48')
    expect(answer.headers.get('x-retry-after')).toBeNull()
    expect(await errorOf(answer)).toMatchObject({
      status: 429,
      type: 'rate_limit_error',
      code: 'rate_limit_exceeded',
      retry_after: 48,
    })
    clock.ms += 48_000
    expect((await own.post('/sign-in/email', attempt)).status).toBe(400)
  })

  test('limits sign-ups by signUpPerMinute', async () => {
    await using own = await openBench({ signUpPerMinute: 2 })
    for (let n = 0; n < 2; n++) expect((await own.post('/sign-up/email', attempt)).status).toBe(400)
    expect((await own.post('/sign-up/email', attempt)).status).toBe(429)
    expect((await own.post('/sign-in/email', attempt)).status).toBe(400)
  })

  test("uses the address it is given, and ignores the caller's headers", async () => {
    await using own = await openBench({ signUpPerMinute: 1 })
    const status = async (address: string | null, headers: Record<string, string> = {}) =>
      (await own.post('/sign-up/email', attempt, { address, headers })).status
    expect(await status('203.0.113.1')).toBe(400)
    for (const name of [
      'x-forwarded-for',
      'forwarded',
      'x-real-ip',
      'cf-connecting-ip',
      'x-client-ip',
      'x-gateway-client-address',
    ]) {
      expect(await status('203.0.113.1', { [name]: '198.51.100.9' })).toBe(429)
    }
    expect(await status('203.0.113.2')).toBe(400)
    expect(await status('::ffff:203.0.113.2')).toBe(429)
    expect(await status(null)).toBe(400)
    expect(await status(null, { 'x-gateway-client-address': '198.51.100.10' })).toBe(429)
    expect(await status('198.51.100.9')).toBe(400)
  })

  test('counts an IPv6 caller by its /64', async () => {
    await using own = await openBench({ signUpPerMinute: 1 })
    const status = async (address: string) => (await own.post('/sign-up/email', attempt, { address })).status
    expect(await status('2001:db8:1:2::1')).toBe(400)
    expect(await status('2001:db8:1:2:ffff::9')).toBe(429)
    expect(await status('2001:0DB8:0001:0002:0:0:0:3')).toBe(429)
    expect(await status('2001:db8:1:3::1')).toBe(400)
    expect(await status('fe80::1%eth0')).toBe(400)
    expect(await status('fe80::2%eth1')).toBe(429)
  })
})

describe('500', () => {
  test('contains the request id and nothing else; the report names the cause without its parameters', async () => {
    await using own = await openBench()
    await own.post('/sign-up/email', newUser('broken@example.com'))
    await own.client.execute('ALTER TABLE identity_user RENAME TO gone')
    for (const path of ['/sign-in/email', '/sign-up/email']) {
      const answer = await errorOf(await own.post(path, newUser('broken@example.com')))
      expect(answer).toEqual({
        status: 500,
        type: 'api_error',
        code: 'internal_error',
        message: 'Something went wrong on our side. Contact the operator and quote the request ID.',
        request_id: expect.stringMatching(/^req_\d$/) as unknown,
      })
    }
    expect(own.faults.map((fault) => fault.requestId)).toEqual(['req_2', 'req_3'])
    expect(JSON.stringify(own.faults)).toContain('no such table')
    expect(JSON.stringify(own.faults)).not.toContain('broken@example.com')
  })

  test('not 422, is returned when a new user cannot be stored', async () => {
    await using own = await openBench()
    await own.client.execute(
      "CREATE TRIGGER full BEFORE INSERT ON identity_user BEGIN SELECT raise(ABORT, 'disk full'); END",
    )
    expect(await errorOf(await own.post('/sign-up/email', newUser('full@example.com')))).toMatchObject({
      status: 500,
      code: 'internal_error',
    })
    expect(own.faults).toEqual([
      { requestId: 'req_1', reason: expect.stringContaining('disk full') as unknown as string },
    ])
    expect(own.signUps).toEqual([])
  })

  test('is never returned for a malformed cookie, query or header', async () => {
    for (const cookie of [
      '%',
      'better-auth.session_token=%E0%A4%A',
      'better-auth.session_token=a.b.c',
      '=;;=',
      `better-auth.session_token=${'x'.repeat(5000)}`,
    ]) {
      expect((await get('/get-session', { headers: { cookie } })).status).toBe(200)
      expect((await post('/sign-out', {}, { headers: { cookie } })).status).toBe(200)
    }
    for (const query of ['?disableRefresh=x', '?disableRefresh=1&disableRefresh=2', '?%', '?__proto__=1']) {
      expect((await get(`/get-session${query}`)).status).toBeLessThan(500)
    }
    expect(bench.faults).toEqual([])
  })
})

describe('opening', () => {
  const options = {
    secret: 's'.repeat(32),
    trustedOrigins: [],
    serviceName: 'Gateway',
    signUpPerMinute: 5,
    onSignUp: async () => {},
    db: drizzle(bench.client),
  }

  test('refuses a short secret, and plain http in production outside loopback', () => {
    expect(() => openIdentity({ ...options, baseUrl: ORIGIN, production: false, secret: 'short' })).toThrow(
      '32 characters',
    )
    expect(() => openIdentity({ ...options, baseUrl: 'http://api.example.com', production: true })).toThrow('https')
    expect(() => openIdentity({ ...options, baseUrl: 'http://127.0.0.1:3000', production: true })).not.toThrow()
    expect(() => openIdentity({ ...options, baseUrl: 'https://api.example.com', production: true })).not.toThrow()
  })

  test('on https marks the cookie Secure, and still reads it', async () => {
    await using own = await openBench({ baseUrl: 'https://api.example.com' })
    const response = await own.post('/sign-up/email', newUser('tls@example.com'), {
      headers: { origin: 'https://api.example.com' },
    })
    expect(response.headers.getSetCookie().join()).toMatch(/__Secure-better-auth.session_token=[^,]*Secure/)
    expect(await own.identity.session(new Headers({ cookie: cookieOf(response) }))).not.toBeNull()
  })

  test('takes its secret only from the options', async () => {
    await using own = await openBench()
    const cookie = cookieOf(await own.post('/sign-up/email', newUser('env@example.com')))
    process.env['BETTER_AUTH_SECRETS'] = '1:another secret from the environment 0123456789'
    process.env['BETTER_AUTH_SECRET'] = 'another secret from the environment 0123456789'
    try {
      const again = await openBench({ db: drizzle(own.client) })
      expect(await again.identity.session(new Headers({ cookie }))).not.toBeNull()
      await again[Symbol.asyncDispose]()
    } finally {
      delete process.env['BETTER_AUTH_SECRETS']
      delete process.env['BETTER_AUTH_SECRET']
    }
  })
})
