import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { ok } from '../../../server/core/result'
import type { MadeKey } from '../../support/harness'
import { type ModelGateway, openModelGateway, PRICE } from '../../support/model-gateway'
import { reconcile } from '../../support/reconcile'
import { until } from '../../support/until'
import {
  anthropic,
  eventStream,
  gemini,
  openAi,
  openBreaker,
  openVendor,
  type VendorDouble,
} from '../../support/vendor-double'

const DAY_MS = 24 * 3_600_000
const SAID = { role: 'user', content: 'Hello' }
const USAGE = { promptTokenCount: 10, candidatesTokenCount: 4, totalTokenCount: 14 }
const COUNTS = { input: 10, output: 4 }
/** 10 tokens in and 4 out at `PRICE`. */
const COST = 65

/** Each vendor's wire, plain and streamed: a call, what the vendor answers to it, and where the route's error has our code. */
const WIRES = {
  'chat completions': {
    path: '/v1/chat/completions',
    body: { model: 'gpt', messages: [SAID] },
    vendor: () => openAi.plain('Hi', COUNTS),
    codeOf: (body: { error: { code: string } }) => body.error.code,
  },
  'chat completions, streamed': {
    path: '/v1/chat/completions',
    body: { model: 'gpt', messages: [SAID], stream: true, stream_options: { include_usage: true } },
    vendor: () => eventStream(openAi.words(['Hel', 'lo'], COUNTS)),
    codeOf: (body: { error: { code: string } }) => body.error.code,
  },
  messages: {
    path: '/v1/messages',
    body: { model: 'claude', max_tokens: 100, messages: [SAID] },
    vendor: () => anthropic.plain('Hi', COUNTS),
    codeOf: (body: { type: 'error'; error: { code: string } }) => body.type === 'error' && body.error.code,
  },
  'messages, streamed': {
    path: '/v1/messages',
    body: { model: 'claude', max_tokens: 100, messages: [SAID], stream: true },
    vendor: () => eventStream(anthropic.words(['Hel', 'lo'], COUNTS)),
    codeOf: (body: { type: 'error'; error: { code: string } }) => body.type === 'error' && body.error.code,
  },
  'generate content': {
    path: '/v1beta/models/gem:generateContent',
    body: { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
    vendor: () => Response.json(gemini.body('Hi', USAGE)),
    codeOf: (body: { error: { details: { reason: string }[] } }) => body.error.details[0]?.reason,
  },
  'generate content, streamed as events': {
    path: '/v1beta/models/gem:streamGenerateContent?alt=sse',
    body: { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
    vendor: () => eventStream(gemini.events(['Hel', 'lo'], USAGE)),
    codeOf: (body: { error: { details: { reason: string }[] } }) => body.error.details[0]?.reason,
  },
  'generate content, streamed as an array': {
    path: '/v1beta/models/gem:streamGenerateContent',
    body: { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
    vendor: () => eventStream(gemini.events(['Hel', 'lo'], USAGE)),
    codeOf: (body: { error: { details: { reason: string }[] } }) => body.error.details[0]?.reason,
  },
} as const

let vendor: VendorDouble
let gateway: ModelGateway
let key: MadeKey
let paid: () => Promise<number>
let settled: () => Promise<void>
let broken: readonly string[] = []
const breaker = openBreaker(() => broken)
const openGateway = () =>
  openModelGateway([
    { id: 'gpt', upstream: { kind: 'openai', base_url: `${vendor.origin}/v1` }, price: PRICE },
    { id: 'claude', upstream: { kind: 'anthropic', base_url: `${vendor.origin}/v1` }, price: PRICE },
    { id: 'gem', upstream: { kind: 'gemini', base_url: `${vendor.origin}/v1beta` }, price: PRICE },
    { id: 'broken', upstream: { kind: 'openai', base_url: `${breaker.origin}/v1` }, price: PRICE },
  ])
beforeAll(async () => {
  vendor = openVendor(() => Response.error())
  gateway = await openGateway()
})
beforeEach(async () => {
  vendor.received.length = 0
  const funded = await gateway.funded()
  key = funded.key
  paid = async () => 10_000_000 - (await funded.balance()).paid
  settled = async () => {
    await until(async () => (await funded.balance()).held === 0)
  }
})
afterAll(async () => {
  await gateway.close(true)
  vendor.close()
  breaker.close()
  expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
})

const headers = (name: string) => ({ headers: { 'idempotency-key': name } })
const chat = (name: string, body: object = {}, init: RequestInit = {}) =>
  gateway.chat(key, { model: 'gpt', max_tokens: 1000, ...body }, { ...init, ...headers(name) })
const codeOf = async (answer: Response) => ((await answer.json()) as { error: { code: string } }).error.code

describe.each(Object.entries(WIRES))('Idempotency-Key on %s (spec D5)', (_, wire) => {
  const ask = (name: string, more: object = {}) =>
    gateway.post(key, wire.path, { ...wire.body, ...more }, headers(name))

  test('a repeat gets the same answer, byte for byte, from the commit of the one charge', async () => {
    vendor.answer = wire.vendor
    const first = await ask('one')
    const told = await first.text()
    const again = await ask('one')
    expect([first.status, again.status]).toEqual([200, 200])
    expect(await again.text()).toBe(told)
    expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'))
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(again.headers.get('x-cost-micros-usd')).toBe('0')
    expect([vendor.received.length, await paid()]).toEqual([1, COST])
  })

  test('of many requests at once the model is called once; the others wait for its answer, and one pays', async () => {
    vendor.answer = wire.vendor
    const all = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const answer = await ask('race')
        return [answer.status, await answer.text()]
      }),
    )
    expect(new Set(all.map((answer) => answer.join(' '))).size).toBe(1)
    expect(all[0]?.[0]).toBe(200)
    expect([vendor.received.length, await paid()]).toEqual([1, COST])
  })

  test('another body under the key is 409 in the error shape of its SDK, is not charged, and tells the SDK not to retry', async () => {
    vendor.answer = wire.vendor
    await (await ask('two')).text()
    const refused = await ask('two', { tools: [] })
    expect(refused.status).toBe(409)
    expect(refused.headers.get('x-should-retry')).toBe('false')
    expect(wire.codeOf((await refused.json()) as never)).toBe('idempotency_conflict')
    expect([vendor.received.length, await paid()]).toEqual([1, COST])
  })

  test("a vendor's refusal is not stored: the next request runs", async () => {
    vendor.answer = () => new Response('{"error":{"message":"no"}}', { status: 400 })
    expect((await ask('refused')).status).toBe(400)
    vendor.answer = wire.vendor
    const answer = await ask('refused')
    expect([answer.status, answer.headers.get('idempotency-replayed')]).toEqual([200, null])
    await answer.text()
    expect(await paid()).toBe(COST)
  })
})

describe('a model call under an Idempotency-Key whose caller hangs up (ADR 18)', () => {
  test('continues: the model is called once, charged once, and the repeat gets the answer', async () => {
    const gate = Promise.withResolvers<void>()
    const asked = Promise.withResolvers<void>()
    vendor.answer = async () => {
      asked.resolve()
      await gate.promise
      return openAi.plain('Hi', COUNTS)
    }
    const gone = new AbortController()
    const first = chat('gone', {}, { signal: gone.signal })
    await asked.promise
    gone.abort()
    const again = chat('gone')
    gate.resolve()
    await first.then(
      () => undefined,
      () => undefined,
    )
    const answer = await again
    expect(await answer.json()).toMatchObject({ choices: [{ message: { content: 'Hi' } }] })
    expect(answer.headers.get('idempotency-replayed')).toBe('true')
    expect([vendor.received.length, await paid()]).toEqual([1, COST])
  })

  test('while it waited for the first, which then failed: it does not begin', async () => {
    const gate = Promise.withResolvers<void>()
    const asked = Promise.withResolvers<void>()
    vendor.answer = async () => {
      asked.resolve()
      await gate.promise
      return openAi.error(400, {})
    }
    const first = chat('waits')
    await asked.promise
    const gone = new AbortController()
    const waiting = chat('waits', {}, { signal: gone.signal }).catch(() => null)
    gone.abort()
    gate.resolve()
    expect((await first).status).toBe(400)
    await waiting
    vendor.answer = () => openAi.plain('Hi', COUNTS)
    expect((await chat('waits')).headers.get('idempotency-replayed')).toBeNull()
    expect([vendor.received.length, await paid()]).toEqual([2, COST])
  })

  test('continues to the end of its stream, and the repeat gets all of it', async () => {
    const gate = Promise.withResolvers<void>()
    const events = openAi.words(['Hel', 'lo'], COUNTS)
    vendor.answer = () =>
      eventStream(events.slice(0, 2), async (controller) => {
        await gate.promise
        for (const event of events.slice(2)) controller.enqueue(new TextEncoder().encode(event))
        controller.close()
      })
    const body = { stream: true, stream_options: { include_usage: true } }
    const reader = (await chat('gone-stream', body)).body?.getReader()
    await reader?.read()
    const cancelled = reader?.cancel()
    const again = chat('gone-stream', body)
    gate.resolve()
    await cancelled
    const answer = await again
    expect(await answer.text()).toBe(events.join(''))
    expect([vendor.received.length, await paid()]).toEqual([1, COST])
  })
})

describe('results of a model call that are not replayed', () => {
  test('a stream that broke off while its caller listened: nothing was charged, and the next one runs', async () => {
    broken = [openAi.chunk({ content: 'x'.repeat(400) })]
    const first = await chat('broke', { model: 'broken', stream: true })
    breaker.drop()
    expect(await first.text()).toContain('upstream_error')
    expect(await paid()).toBe(0)
    const again = chat('broke', { model: 'broken', stream: true })
    const answer = await again
    expect([answer.status, answer.headers.get('idempotency-replayed')]).toEqual([200, null])
    breaker.drop()
    await answer.text()
  })

  test('a stream that broke off after its caller left: it is charged by estimate, and its repeat is 409, not charged again', async () => {
    broken = [openAi.chunk({ content: 'x'.repeat(400) })]
    const first = await chat('cut', { model: 'broken', stream: true })
    const reader = first.body?.getReader()
    await reader?.read()
    await gateway.hangingUp(() => reader?.cancel())
    breaker.drop()
    await settled()
    const charged = await paid()
    expect(charged).toBeGreaterThan(0)
    const again = await chat('cut', { model: 'broken', stream: true })
    expect([again.status, await codeOf(again)]).toEqual([409, 'answer_not_kept'])
    expect(await paid()).toBe(charged)
  })

  test('a stream that broke before its first event: nothing was charged, and the next request runs', async () => {
    vendor.answer = () => eventStream([])
    await (await chat('empty', { stream: true })).text()
    vendor.answer = () => eventStream(openAi.words(['Hi'], COUNTS))
    const answer = await chat('empty', { stream: true })
    expect(await answer.text()).toContain('[DONE]')
    expect(answer.headers.get('idempotency-replayed')).toBeNull()
    expect(await paid()).toBe(COST)
  })

  test.each([false, true])(
    'an answer over 256 KiB (streamed: %p): given and charged once, its repeat is 409',
    async (stream) => {
      const words = Array.from({ length: 5 }, () => 'x'.repeat(64 * 1024))
      vendor.answer = () => (stream ? eventStream(openAi.words(words, COUNTS)) : openAi.plain(words.join(''), COUNTS))
      const first = await chat('large', { stream })
      expect((await first.text()).length).toBeGreaterThan(256 * 1024)
      const again = await chat('large', { stream })
      expect([again.status, await codeOf(again)]).toEqual([409, 'answer_not_kept'])
      expect([vendor.received.length, await paid()]).toEqual([1, COST])
    },
  )

  test('an answer older than 24 hours', async () => {
    vendor.answer = () => openAi.plain('Hi', COUNTS)
    await chat('old')
    gateway.clock.advance(DAY_MS - 1)
    expect((await chat('old')).headers.get('idempotency-replayed')).toBe('true')
    gateway.clock.advance(1)
    expect((await chat('old')).headers.get('idempotency-replayed')).toBeNull()
    expect(await paid()).toBe(2 * COST)
  })
})

test('a repeat takes no tokens of the minute and no place; the key is its own per operation and account', async () => {
  vendor.answer = () => openAi.plain('Hi', COUNTS)
  await chat('own')
  const left = (answer: Response) => answer.headers.get('x-ratelimit-remaining-tokens')
  const again = await chat('own')
  expect(left(again)).toBe(left(await gateway.as(key, '/v1/models')))
  vendor.answer = () => anthropic.plain('Hi', COUNTS)
  const other = await gateway.post(key, WIRES.messages.path, WIRES.messages.body, headers('own'))
  expect([other.status, other.headers.get('idempotency-replayed')]).toEqual([200, null])
})

test('free calls are stored as well', async () => {
  const body = { model: 'sandbox/echo', stream: true }
  const told = await (await chat('free', body)).text()
  const again = await chat('free', body)
  expect([await again.text(), again.headers.get('idempotency-replayed')]).toEqual([told, 'true'])
  expect(await paid()).toBe(0)
})

describe('Idempotency-Key on deep research', () => {
  const page = { title: 'Otters', url: 'https://example.org/', snippets: ['They sleep.'] }
  const research = (body: object) =>
    gateway.post(key, '/v1/deep-research', { model: 'gpt', query: 'Otters?', ...body }, headers('research'))

  test.each([false, true])(
    'a repeat gets the same answer and no part of it is done again (streamed: %p)',
    async (stream) => {
      gateway.context.answer = async () => ok({ body: JSON.stringify({ grounding: { generic: [page] } }) })
      vendor.answer = () => eventStream(openAi.words(['QUERY: otters'], COUNTS))
      const first = await research({ stream })
      const told = await first.text()
      await settled()
      const [asked, searched, charged] = [vendor.received.length, gateway.context.asked.length, await paid()]
      const again = await research({ stream })
      expect(await again.text()).toBe(told)
      expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'))
      expect(again.headers.get('idempotency-replayed')).toBe('true')
      expect([vendor.received.length, gateway.context.asked.length, await paid()]).toEqual([asked, searched, charged])
      expect(charged).toBeGreaterThan(0)
      expect(told).toContain(stream ? '[DONE]' : 'chat.completion')
      const other = await research({ stream, max_searches: 2 })
      expect([other.status, await codeOf(other)]).toEqual([409, 'idempotency_conflict'])
    },
  )

  test('continues when its caller hangs up, for the repeat', async () => {
    gateway.context.answer = async () => ok({ body: JSON.stringify({ grounding: { generic: [page] } }) })
    vendor.answer = () => eventStream(openAi.words(['QUERY: otters'], COUNTS))
    const reader = (await research({ stream: true })).body?.getReader()
    await reader?.cancel()
    const again = await research({ stream: true })
    expect(await again.text()).toContain('[DONE]')
    expect(again.headers.get('idempotency-replayed')).toBe('true')
  })
})
