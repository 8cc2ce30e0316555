import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Harness, openHarness, WIDE } from '../support/harness'
import { until } from '../support/until'
import { endAndReconcile } from './wire'

// A shared machine may stand still for seconds; said here, since an import says it for the first file of a run only.
const MIB = 1024 * 1024

let gateway: Harness
beforeAll(async () => {
  gateway = await openHarness({ env: { ANON_RPM: '100000' } })
})
afterAll(() => endAndReconcile(gateway))

const DEEP = `${'{"a":'.repeat(101)}1${'}'.repeat(101)}`
const WIDE_BODY = `{${Array.from({ length: 100_001 }, (_, i) => `"${i.toString(36)}":1`).join(',')}}`
const LISTS = `{"q":[${'[],'.repeat(100_000)}[]]}`
const JSON_TYPE = { 'content-type': 'application/json' }
const CHAT = '/v1/chat/completions'

const post = (path: string, body: BodyInit, headers: Record<string, string> = {}) =>
  gateway.call(path, { method: 'POST', headers: { ...JSON_TYPE, ...headers }, body })

async function bearer(more: Record<string, unknown> = {}, limits = WIDE) {
  const account = await gateway.account(10, limits)
  const { secret } = await gateway.key(account, more)
  return { account, headers: { authorization: `Bearer ${secret}` } }
}

/** A body that is sent as far as `sent` says, and then only as `more` says. */
function unfinished(sent: number) {
  const part = new Uint8Array(MIB).fill(0x61)
  let left = sent
  let asked = 0
  let next = Promise.withResolvers<Uint8Array>()
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        asked++
        if (asked === 1) return controller.enqueue(new TextEncoder().encode('{"model":"sandbox/echo","pad":"'))
        if (left <= 0) {
          const bytes = await next.promise
          next = Promise.withResolvers()
          return controller.enqueue(bytes)
        }
        controller.enqueue(part.subarray(0, left))
        left -= part.length
      },
    },
    { highWaterMark: 0 },
  )
  return {
    stream,
    asked: () => asked,
    more: (bytes: Uint8Array) => next.resolve(bytes),
    /** The connection is gone. */
    abort: () => next.reject(new Error('gone')),
  }
}

/** Until the gateway asks for nothing more of it: it has taken all that was sent. */
async function taken(body: { asked(): number }, parts: number): Promise<void> {
  await until(() => body.asked() >= parts + 2)
}

describe('nested and wide JSON is refused before anything parses it', () => {
  const BODIES = { 'nested 101 deep': DEEP, 'with 100,001 members': WIDE_BODY, 'with 100,001 lists': LISTS }

  for (const [name, body] of Object.entries(BODIES)) {
    test(`${name}: by every route that takes a key, in the shape of its SDK`, async () => {
      const { headers } = await bearer()
      for (const path of [
        '/apis/v1/websearch/llm/context',
        CHAT,
        '/v1/deep-research',
        '/mcp',
        '/apis/v1/social/post_social',
      ]) {
        const answer = await post(path, body, headers)
        expect([path, answer.status, await answer.json()]).toMatchObject([
          path,
          400,
          { error: { code: 'invalid_request' } },
        ])
        // A sender who is still sending would lose the answer with its connection.
        expect(answer.headers.get('connection')).toBeNull()
      }
      const anthropic = await post('/v1/messages', body, headers)
      expect([anthropic.status, await anthropic.json()]).toMatchObject([
        400,
        { type: 'error', error: { code: 'invalid_request' } },
      ])
      const google = await post('/v1beta/models/sandbox%2Fecho:generateContent', body, headers)
      expect([google.status, await google.json()]).toMatchObject([
        400,
        { error: { code: 400, status: 'INVALID_ARGUMENT' } },
      ])
    })

    test(`${name}: by public routes and those of an owner`, async () => {
      const owner = await gateway.owner()
      const cookie = { cookie: owner.cookie }
      expect((await post('/mcp/paid', body, {})).status).toBe(body.length > MIB / 16 ? 413 : 400)
      for (const [path, headers] of [
        ['/api/keys', cookie],
        ['/api/try', cookie],
        ['/api/models/estimate', cookie],
        ['/api/topups', cookie],
      ] as const) {
        const answer = await post(path, body, headers)
        expect([path, answer.status, await answer.json()]).toMatchObject([
          path,
          400,
          { error: { code: 'invalid_request' } },
        ])
      }
    })
  }

  test('before it reaches the sign-in library or the registration of apps', async () => {
    for (const path of ['/api/auth/sign-up/email', '/api/auth/sign-in/email', '/api/auth/oauth2/register']) {
      const answer = await post(path, DEEP)
      expect([path, answer.status, await answer.json()]).toMatchObject([
        path,
        400,
        { error: { code: 'invalid_request' } },
      ])
    }
  })

  test('a body of 100 levels and 300,000 numbers is accepted', async () => {
    const { headers } = await bearer()
    const inner = `${'['.repeat(98)}${'1,'.repeat(300_000)}1${']'.repeat(98)}`
    const answer = await post('/apis/v1/websearch/llm/context', `{"q":"a","pad":${inner}}`, headers)
    expect(await answer.json()).toMatchObject({ error: { code: 'invalid_parameter', param: 'pad' } })
  })
})

describe('bodies being received are bounded', () => {
  const allGivenBack = async ({ headers }: { headers: Record<string, string> }) => {
    const whoami = await gateway.call('/v1/models', { headers })
    expect(whoami.headers.get('x-ratelimit-remaining-concurrency')).toBe(
      whoami.headers.get('x-ratelimit-limit-concurrency'),
    )
  }

  test("each body takes one of the account's places before a byte of it is read", async () => {
    const narrow = await bearer({}, { ...WIDE, concurrency: 1 })
    const first = unfinished(MIB)
    const begun = post(CHAT, first.stream, narrow.headers)
    await taken(first, 1)
    const second = unfinished(MIB)
    const refused = await post(CHAT, second.stream, narrow.headers)
    expect([refused.status, second.asked()]).toEqual([429, 0])
    expect(await refused.json()).toMatchObject({
      error: { code: 'rate_limit_exceeded', message: expect.stringContaining('concurrent') },
    })
    first.abort()
    expect((await begun).status).toBe(400)
    await allGivenBack(narrow)
  })

  test('an account can have 64 MiB in transit, no more; an aborted upload frees its share', async () => {
    const caller = await bearer()
    const bodies = Array.from({ length: 3 }, () => unfinished(21 * MIB))
    const begun = bodies.map(({ stream }) => post(CHAT, stream, caller.headers))
    for (const body of bodies) await taken(body, 21)
    const over = await post(CHAT, unfinished(2 * MIB).stream, caller.headers)
    expect([over.status, over.headers.get('retry-after')]).toEqual([429, '1'])
    expect(await over.json()).toMatchObject({ error: { code: 'rate_limit_exceeded', limit_source: 'account' } })
    // Another account has room of its own.
    const other = await bearer()
    const beside = unfinished(2 * MIB)
    const besideBegun = post(CHAT, beside.stream, other.headers)
    await taken(beside, 2)
    for (const body of [...bodies, beside]) body.abort()
    for (const answer of [...begun, besideBegun]) expect((await answer).status).toBe(400)
    const again = unfinished(21 * MIB)
    const answer = post(CHAT, again.stream, caller.headers)
    await taken(again, 21)
    again.abort()
    await answer
    await allGivenBack(caller)
  })

  test('a declared length that does not fit is refused before a byte is read', async () => {
    const caller = await bearer()
    const first = unfinished(30 * MIB)
    const second = unfinished(30 * MIB)
    const begun = [first, second].map(({ stream }) => post(CHAT, stream, caller.headers))
    for (const body of [first, second]) await taken(body, 30)
    const third = unfinished(MIB)
    const refused = await post(CHAT, third.stream, { ...caller.headers, 'content-length': String(5 * MIB) })
    expect([refused.status, third.asked()]).toEqual([429, 0])
    for (const body of [first, second]) body.abort()
    await Promise.all(begun)
  })

  test('all accounts together have the smaller of 512 MiB and a quarter of the memory: 503, and Retry-After', async () => {
    const most = Math.floor(Math.min(512 * MIB, process.constrainedMemory() / 4) / MIB)
    const each = 31
    const bodies = Array.from({ length: Math.floor((most - 1) / each) }, () => unfinished(each * MIB))
    const begun = await Promise.all(
      bodies.map(async ({ stream }) => ({ answer: post(CHAT, stream, (await bearer()).headers) })),
    )
    for (const body of bodies) await taken(body, each)
    const over = await post(CHAT, unfinished(31 * MIB).stream, (await bearer()).headers)
    expect([over.status, over.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await over.json()).toMatchObject({ error: { code: 'service_unavailable' } })
    for (const body of bodies) body.abort()
    for (const { answer } of begun) expect((await answer).status).toBe(400)
  })

  test('a body that arrives too slowly is 408 request_timeout, and frees its place', async () => {
    const narrow = await bearer({}, { ...WIDE, concurrency: 1 })
    const slow = unfinished(1000)
    const begun = post(CHAT, slow.stream, narrow.headers)
    await taken(slow, 1)
    gateway.clock.advance(9_000)
    slow.more(new Uint8Array(30_000).fill(0x61))
    await taken(slow, 2)
    gateway.clock.advance(2_000)
    slow.more(new Uint8Array(1))
    const answer = await begun
    expect([answer.status, answer.headers.get('connection')]).toEqual([408, 'close'])
    expect(await answer.json()).toMatchObject({ error: { type: 'invalid_request_error', code: 'request_timeout' } })
    await allGivenBack(narrow)
  })

  test('a system clock that is changed during an upload neither ends nor extends its time', async () => {
    const caller = await bearer()
    const body = unfinished(1000)
    const begun = post('/apis/v1/websearch/llm/context', body.stream, caller.headers)
    await taken(body, 1)
    gateway.clock.jump(3_600_000)
    body.more(new Uint8Array(1).fill(0x61))
    await taken(body, 2)
    gateway.clock.jump(-7_200_000)
    gateway.clock.advance(11_000)
    body.more(new Uint8Array(1))
    expect((await begun).status).toBe(408)
  })

  test('a body that keeps the minimum pace is read, however long it takes', async () => {
    const caller = await bearer()
    const steady = unfinished(1)
    const begun = post('/apis/v1/websearch/llm/context', steady.stream, caller.headers)
    for (let period = 0; period < 12; period++) {
      await taken(steady, 1 + period)
      gateway.clock.advance(10_000)
      steady.more(new Uint8Array(41 * 1024).fill(0x61))
    }
    await taken(steady, 13)
    steady.abort()
    expect((await begun).status).toBe(400)
  })

  test('bodies of callers without a key count toward their address', async () => {
    // One of a caller without an account is at most 64 KiB.
    const [size, fits] = [MIB / 16 - 100, 64 * 16 + 1]
    const bodies = Array.from({ length: fits }, () => unfinished(size))
    const begun = bodies.map(({ stream }) => post('/mcp/paid', stream))
    for (const body of bodies) await taken(body, 1)
    const over = await post('/mcp/paid', unfinished(size).stream)
    expect([over.status, await over.json()]).toMatchObject([429, { error: { limit_source: 'address' } }])
    for (const body of bodies) body.abort()
    await Promise.all(begun)
  })
})
