import { describe, expect, test } from 'bun:test'
import type { Api, ApiOperation, ApiPrice } from '../../../server/core/apis/api'
import { micros } from '../../../server/core/money'
import type { ApiGateway } from '../../support/api-upstream'
import { anOperation, listing } from '../../support/apis'
import type { MadeKey } from '../../support/harness'
import { listenTo } from '../../support/servers/listen-to'
import { slowReader, UNREAD_BYTES } from '../../support/slow-reader'
import { readUntil, until } from '../../support/until'
import { sharedApiGateway } from './shared-gateway'

const PATH = '/apis/v1/weather/v1/forecast'
const encoder = new TextEncoder()

const shared = sharedApiGateway()

function streaming(operation: Partial<ApiOperation>, api: Partial<Api> = {}) {
  return calling(shared.selling({ operations: [anOperation({ answer: 'stream', ...operation })], ...api }), operation)
}

/** The gateway, and an account and a key for this operation. */
async function calling(opened: ApiGateway, operation = {}) {
  const { core, as, upstream, clock, key: makeKey, account: newAccount, gateway } = opened
  const account = await newAccount(5)
  const key: MadeKey = await makeKey(account, listing([operation]))
  const start = (await core.ledger.balance(account.id))?.available ?? 0
  return {
    as,
    key,
    gateway,
    upstream,
    clock,
    core,
    account,
    makeKey,
    call: (init: RequestInit = {}) => as(key, PATH, init),
    async spent() {
      await until(async () => (await core.ledger.balance(account.id))?.held === 0)
      return start - ((await core.ledger.balance(account.id))?.available ?? 0)
    },
    explained: async (answer: Pick<Response, 'headers'>) =>
      (await as(key, `/v1/usage/${answer.headers.get('x-gateway-request-id')}`)).json(),
  }
}

/** An answer of these parts; then `after`: it may end it, break it, or wait. */
function parts(
  texts: readonly (string | Uint8Array)[],
  after: (controller: ReadableStreamDefaultController<Uint8Array>) => void | Promise<void> = (c) => c.close(),
  headers: Record<string, string> = { 'content-type': 'text/event-stream' },
): Response {
  let next = 0
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      // A part of its own on the wire.
      await Bun.sleep(1)
      const text = texts[next++]
      if (text === undefined) return after(controller)
      controller.enqueue(typeof text === 'string' ? encoder.encode(text) : text)
    },
  })
  return new Response(body, { headers })
}

/** An answer of this text that breaks off on command. */
function breaking(text: string, headers?: Record<string, string>) {
  const go = Promise.withResolvers<void>()
  const answer = () =>
    parts(
      [text],
      async (controller) => {
        await go.promise
        controller.error(undefined)
      },
      headers,
    )
  return { answer, text, go: go.resolve }
}

/** The part before the end, and whether the caller sees that it was cut. The upstream breaks once its text has come. */
async function received(
  answer: Response,
  broken?: ReturnType<typeof breaking>,
): Promise<{ text: string; isCut: boolean }> {
  const decoder = new TextDecoder()
  let text = ''
  try {
    for await (const chunk of answer.body ?? []) {
      text += decoder.decode(chunk, { stream: true })
      if (text === broken?.text) broken.go()
    }
    return { text, isCut: false }
  } catch {
    return { text, isCut: true }
  }
}

const units = (part: Partial<Extract<ApiPrice, { mode: 'units' }>>): { price: ApiPrice } => ({
  price: {
    mode: 'units',
    amount: micros(1000),
    figure: { kind: 'events' },
    block: 1,
    minimum: 0,
    maximum: 100,
    onMissing: null,
    ...part,
  },
})
const EVENT = 'event: tick\ndata: {"n":1}\n\n'

describe('a stream at a fixed price', () => {
  test('comes as it is sent, is charged at its end, and gives its slot back', async () => {
    const { call, upstream, spent, explained } = await streaming({}, { concurrency: 2 })
    const go = Promise.withResolvers<void>()
    upstream.answers(() =>
      parts([EVENT], async (controller) => {
        await go.promise
        controller.enqueue(encoder.encode('data: end\n\n'))
        controller.close()
      }),
    )
    const answer = await call()
    const reader = answer.body?.getReader()
    expect(await readUntil(reader, (text) => text.includes('\n\n'))).toBe(EVENT)
    expect((await call()).status).toBe(429)
    go.resolve()
    await readUntil(reader, (text) => text.includes('end'))
    expect((await reader?.read())?.done).toBe(true)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
    expect(answer.headers.get('content-security-policy')).toBe('sandbox')
    expect(await spent()).toBe(10_000)
    expect(await explained(answer)).toMatchObject({ status: 200, cost_micros_usd: 10_000 })
    expect((await call()).status).toBe(200)
  })

  test('that breaks off while its caller listens is cut, and costs nothing', async () => {
    const { call, upstream, spent } = await streaming({})
    const broken = breaking('a'.repeat(5000), { 'content-type': 'application/octet-stream' })
    upstream.answers(broken.answer)
    expect(await received(await call(), broken)).toEqual({ text: 'a'.repeat(5000), isCut: true })
    expect(await spent()).toBe(0)
  })

  test('that breaks while its reader is behind is charged: it was delivered, and not taken', async () => {
    const { key, gateway, upstream, spent, explained, clock } = await streaming({})
    const text = 'a'.repeat(UNREAD_BYTES)
    const broken = breaking(text)
    upstream.answers(broken.answer)
    const web = listenTo(gateway)
    const headers = { authorization: `Bearer ${key.secret}` }
    const reader = await slowReader(`http://127.0.0.1:${web.port}`, PATH, { headers })
    // It fills the connection, and waits there; until then its reader waits for it.
    let looks = 0
    await until(() => {
      clock.advance(500)
      return ++looks === 60
    })
    reader.read()
    await until(() => reader.came() > text.length)
    broken.go()
    const answer = await reader.answer()
    expect([answer.text === text, answer.isCut]).toEqual([true, true])
    expect(await spent()).toBe(10_000)
    expect(await explained(answer)).toMatchObject({ status: 200, code: 'stream_cut', cost_micros_usd: 10_000 })
    await web.stop(0)
  })

  test('whose caller hangs up goes on to its end and is charged', async () => {
    const { call, upstream, spent, core, account } = await streaming({})
    const go = Promise.withResolvers<void>()
    upstream.answers(() =>
      parts([EVENT], async (controller) => {
        await go.promise
        controller.close()
      }),
    )
    const reader = (await call()).body?.getReader()
    await readUntil(reader, (text) => text.includes('\n\n'))
    await reader?.cancel()
    expect(Number((await core.ledger.balance(account.id))?.held)).toBe(10_000)
    go.resolve()
    expect(await spent()).toBe(10_000)
  })

  test('is repeated whole under its Idempotency-Key, with its status and its protective headers', async () => {
    const { call, upstream, spent } = await streaming({})
    upstream.answers(
      () => new Response('<script>1</script>', { status: 201, headers: { 'content-type': 'text/html' } }),
    )
    const init = { headers: { 'idempotency-key': 'a' } }
    for (const replayed of [null, 'true']) {
      const answer = await call(init)
      expect([answer.status, await answer.text()]).toEqual([201, '<script>1</script>'])
      expect(answer.headers.get('content-disposition')).toBe('attachment')
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
      expect(answer.headers.get('idempotency-replayed')).toBe(replayed)
    }
    expect([await spent(), upstream.calls.length]).toEqual([10_000, 1])
  })

  test('a write that breaks off leaves its outcome unknown', async () => {
    const { as, key, upstream, spent } = await streaming({ method: 'POST', effect: 'write' })
    const broken = breaking('a')
    upstream.answers(broken.answer)
    const init = { method: 'POST', headers: { 'idempotency-key': 'a' } }
    expect(await received(await as(key, PATH, init), broken)).toMatchObject({ isCut: true })
    expect(await spent()).toBe(0)
    const again = await as(key, PATH, init)
    expect((await again.json()).error.code).toBe('outcome_unknown')
    expect(upstream.calls).toMatchObject([{ method: 'POST' }])
  })
})

describe('a stream that is priced by what passes', () => {
  test('is charged the events that came, whatever the parts they came in', async () => {
    const { call, upstream, spent, explained } = await streaming(units({}))
    upstream.answers(() => parts([': hello\n\ndata: 1\r', '\n\r\nda', 'ta: 2\n', '\ndatum: no\n\ndata\n\n', 'data: 4']))
    const answer = await call()
    expect((await received(answer)).isCut).toBe(false)
    expect(await spent()).toBe(4000)
    expect(await explained(answer)).toMatchObject({ charge: { inputs: { lines: [{ item: '4 units' }] } } })
  })

  test('is charged what passed when it breaks off, and nothing before the first event', async () => {
    const { call, upstream, spent } = await streaming(units({ minimum: 2 }))
    const [idle, begun] = [breaking(': ping\n\n'), breaking(EVENT)]
    upstream.answers(idle.answer)
    expect(await received(await call(), idle)).toEqual({ text: ': ping\n\n', isCut: true })
    expect(await spent()).toBe(0)
    upstream.answers(begun.answer)
    expect(await received(await call(), begun)).toEqual({ text: EVENT, isCut: true })
    expect(await spent()).toBe(2000)
  })

  test('is charged the kilobytes that passed when it breaks off', async () => {
    const { call, upstream, spent } = await streaming(units({ figure: { kind: 'kilobytes' } }))
    const broken = breaking('x'.repeat(3000))
    upstream.answers(broken.answer)
    expect(await received(await call(), broken)).toEqual({ text: 'x'.repeat(3000), isCut: true })
    expect(await spent()).toBe(3000)
  })

  test.each([
    ['events', EVENT.repeat(10), EVENT.repeat(3)],
    ['kilobytes', 'x'.repeat(9000), 'x'.repeat(3072)],
  ] as const)(
    'is ended at its maximum price, by %s: no byte more, and the hold is enough',
    async (kind, sent, passed) => {
      const { call, upstream, spent } = await streaming(units({ figure: { kind }, maximum: 3 }))
      upstream.answers(() => parts([sent]))
      expect(await received(await call())).toEqual({ text: passed, isCut: true })
      expect(await spent()).toBe(3000)
    },
  )

  test('is whole when it ends exactly at its maximum', async () => {
    const { call, upstream, spent } = await streaming(units({ maximum: 3 }))
    upstream.answers(() => parts([EVENT, EVENT, EVENT]))
    expect(await received(await call())).toEqual({ text: EVENT.repeat(3), isCut: false })
    expect(await spent()).toBe(3000)
  })

  test('whose caller hangs up is charged to its end', async () => {
    const { call, upstream, spent } = await streaming(units({}))
    const go = Promise.withResolvers<void>()
    upstream.answers(() =>
      parts([EVENT], async (controller) => {
        await go.promise
        controller.enqueue(encoder.encode(EVENT.repeat(4)))
        controller.close()
      }),
    )
    const reader = (await call()).body?.getReader()
    await readUntil(reader, (text) => text.includes('\n\n'))
    await reader?.cancel()
    go.resolve()
    expect(await spent()).toBe(5000)
  })

  test('of events is not sold in a format that has none', async () => {
    const { call, upstream, spent } = await streaming(units({}))
    upstream.answers(() => parts(['x'], undefined, { 'content-type': 'application/octet-stream' }))
    expect((await call()).status).toBe(502)
    expect(await spent()).toBe(0)
    upstream.answers(() =>
      parts(['{"a":1}\n', '\n{"a"', ':2}\n'], undefined, { 'content-type': 'application/x-ndjson' }),
    )
    expect((await received(await call())).isCut).toBe(false)
    expect(await spent()).toBe(2000)
  })
})

describe('the upstream of a stream', () => {
  const BEARER = { kind: 'bearer', secret: { from: 'environment', name: 'UPSTREAM_KEY' } } as const

  test.each([
    ['as it is', ['before upstream-se', 'cret-1 after']],
    ['escaped', ['before "\\u0075pstr', 'eam\\u002Dsecret-1" after']],
    ['byte by byte', [...'before upstream-secret-1 after']],
  ])('that shows our secret %s is cut before it', async (_, texts) => {
    const { call, upstream } = await streaming({}, { auth: BEARER })
    upstream.answers(() => parts(texts))
    const { text, isCut } = await received(await call())
    expect([text.replace('"', ''), isCut]).toEqual(['before ', true])
  })

  test('that shows it and then says nothing more is cut at once', async () => {
    const { call, upstream, spent } = await streaming({}, { auth: BEARER })
    upstream.answers(() => parts(['before upstream-secret-1'], () => new Promise(() => undefined)))
    expect(await received(await call())).toEqual({ text: 'before ', isCut: true })
    expect(await spent()).toBe(0)
  })

  test('that ends in the beginning of our secret is whole', async () => {
    const { call, upstream, spent } = await streaming({}, { auth: BEARER })
    upstream.answers(() => parts(['before upstream-', 'secret']))
    expect(await received(await call())).toEqual({ text: 'before upstream-secret', isCut: false })
    expect(await spent()).toBe(10_000)
  })

  test('that shows it in a header, redirects, encodes or fails is no stream', async () => {
    const { call, upstream, spent } = await streaming({}, { auth: BEARER })
    const events = { 'content-type': 'text/event-stream' }
    for (const [answer, status] of [
      [new Response('x', { headers: { ...events, 'x-echo': 'upstream-secret-1' } }), 502],
      [Response.redirect('http://127.0.0.1:1/'), 502],
      [new Response(Bun.gzipSync('x'), { headers: { ...events, 'content-encoding': 'gzip' } }), 502],
      [Response.json({ message: 'no such city' }, { status: 404 }), 404],
      [Response.json({ echo: 'upstream-secret-1' }, { status: 404 }), 502],
      [new Response('x', { headers: { 'content-type': 'multipart/mixed' } }), 502],
    ] as const) {
      upstream.answers(() => answer)
      expect((await call()).status).toBe(status)
    }
    expect(await spent()).toBe(0)
  })

  test('at a private address that the environment does not allow is never asked', async () => {
    const { call, upstream, spent } = await calling(
      await shared.sellingAlone(
        { operations: [anOperation({ answer: 'stream' })] },
        { env: { ALLOW_PRIVATE_UPSTREAMS: '10.0.0.0/8' } },
      ),
    )
    expect((await call()).status).toBe(503)
    expect([upstream.calls.length, await spent()]).toEqual([0, 0])
  })

  test('that falls silent is given up after the time of its API', async () => {
    const { call, upstream, spent } = await streaming(units({}), { timeoutMs: 1000 })
    upstream.answers(() => parts([EVENT], () => new Promise(() => undefined)))
    expect(await received(await call())).toEqual({ text: EVENT, isCut: true })
    expect(await spent()).toBe(1000)
  })
})
