import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { err, ok } from '../../../server/core/result'
import { OVER_SOCKET } from '../../support/harness'
import { type ModelGateway, openModelGateway } from '../../support/model-gateway'
import { reconcile } from '../../support/reconcile'
import { until } from '../../support/until'
import { eventStream, openAi, openVendor, type VendorDouble } from '../../support/vendor-double'

interface Researched {
  choices: { message: { content: string } }[]
  citations: { number: number; title: string; url: string }[]
  search_queries: string[]
  usage: { total_tokens: number }
}

let vendor: VendorDouble
let gateway: ModelGateway
/** The text of the vendor's model at each step. */
let replies: string[]
const PRICE = { input: 1, output: 2 }
const page = (query: string) => ({
  grounding: {
    generic: [
      {
        url: `https://example.org/${encodeURIComponent(query)}`,
        title: `About ${query}`,
        snippets: ['Otters sleep in the water. They hold hands.'],
      },
      { url: 'https://example.org/shared', title: 'Shared', snippets: ['Otters eat fish.'] },
    ],
  },
})
beforeAll(async () => {
  vendor = openVendor(({ body }) =>
    eventStream(openAi.words([replies.shift() ?? 'DONE'], { input: JSON.stringify(body).length, output: 10 })),
  )
  gateway = await openModelGateway([
    { id: 'writer', upstream: { kind: 'openai', base_url: `${vendor.origin}/v1` }, price: PRICE },
    { id: 'silent', upstream: { kind: 'openai', base_url: `${vendor.origin}/v1`, idle_timeout_ms: 50 }, price: PRICE },
  ])
})
beforeEach(() => {
  vendor.received.length = 0
  gateway.context.asked.length = 0
  gateway.context.answer = async ({ q }) => ok({ body: JSON.stringify(page(q)) })
  replies = [
    'QUERY: otters sleep\nQUERY: otters hold hands',
    'QUERY: otters eat',
    'They sleep in the water [1] and eat fish [2], says nobody [99].',
  ]
})
afterAll(async () => {
  await gateway.close(true)
  vendor.close()
  expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
})

const research = (key: { id: string; secret: string }, body: object, init: RequestInit = {}) =>
  gateway.post(key, '/v1/deep-research', { model: 'writer', query: 'How do otters sleep?', ...body }, init)
const id = (answer: Response) => answer.headers.get('x-gateway-request-id') ?? ''

describe('POST /v1/deep-research (spec 4.6)', () => {
  test('plans, searches, checks, searches again and answers with the sources it names; each part is a line of the charge', async () => {
    const { key, balance } = await gateway.funded()
    const answer = await research(key, { max_searches: 4 })
    expect(answer.status).toBe(200)
    const told = (await answer.json()) as Researched
    expect(told.search_queries).toEqual(['otters sleep', 'otters hold hands', 'otters eat'])
    expect(gateway.context.asked.map(({ q }) => q)).toEqual(told.search_queries)
    expect(told.citations.map(({ number, url }) => [number, url])).toEqual([
      [1, 'https://example.org/otters%20sleep'],
      [2, 'https://example.org/shared'],
    ])
    expect(told.choices[0]?.message.content).toContain('[1]')
    const cost = Number(answer.headers.get('x-cost-micros-usd'))
    expect(await balance()).toEqual({ paid: 10_000_000 - cost, held: 0 })
    const explained = await gateway.explained(key, id(answer))
    const { inputs, charged_micros_usd } = explained['charge'] as {
      inputs: { lines: { item: string; units: number; unit_price_micros_usd: number; per: number }[] }
      charged_micros_usd: number
    }
    expect(inputs.lines.map(({ item }) => item)).toEqual([
      'plan input_tokens',
      'plan output_tokens',
      'search "otters sleep"',
      'search "otters hold hands"',
      'check input_tokens',
      'check output_tokens',
      'search "otters eat"',
      'answer input_tokens',
      'answer output_tokens',
    ])
    const sum = inputs.lines.reduce((total, line) => total + (line.units * line.unit_price_micros_usd) / line.per, 0)
    expect(charged_micros_usd).toBe(Math.ceil(sum - 1e-9))
    expect(charged_micros_usd).toBe(cost)
    expect(explained).toMatchObject({ operation: 'deep-research', model: 'writer', usage_source: 'exact' })
  })

  test('runs on a fresh machine with sandbox/extract, and costs its searches', async () => {
    const key = await gateway.key(await gateway.account())
    const answer = await research(key, { model: 'sandbox/extract', query: 'How do otters sleep in the water?' })
    const told = (await answer.json()) as Researched
    expect(told.choices[0]?.message.content).toContain('Otters sleep in the water. [1]')
    expect(told.citations[0]?.number).toBe(1)
    expect(answer.headers.get('x-cost-micros-usd')).toBe(String(gateway.context.asked.length * 5000))
  })

  test('streams its steps, text and sources, and ends only after the charge is durable', async () => {
    const { key, balance } = await gateway.funded()
    const answer = await research(key, { stream: true })
    expect(answer.headers.get('content-type')).toBe('text/event-stream')
    const chunks = (await answer.text())
      .split('\n\n')
      .filter((event) => event.startsWith('data: {'))
      .map(
        (event) =>
          JSON.parse(event.slice(6)) as {
            choices: { delta: { content?: string } }[]
            research?: { step: string }
            citations?: object[]
            cost_micros_usd?: number
          },
      )
    expect(chunks.flatMap(({ research: at }) => at?.step ?? [])).toEqual([
      'plan',
      'search',
      'search',
      'check',
      'search',
      'answer',
    ])
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toContain(
      'They sleep in the water [1]',
    )
    expect(chunks.at(-1)?.citations).toHaveLength(2)
    expect(await balance()).toEqual({ paid: 10_000_000 - (chunks.at(-1)?.cost_micros_usd ?? 0), held: 0 })
    expect(await gateway.explained(key, id(answer))).toMatchObject({
      code: null,
      cost_micros_usd: chunks.at(-1)?.cost_micros_usd,
    })
  })

  test.skipIf(OVER_SOCKET)(
    'whose caller leaves finishes the current step, starts no other, and is charged for what was done',
    async () => {
      const { key, balance } = await gateway.funded()
      const found = Promise.withResolvers<void>()
      gateway.context.answer = async ({ q }) => {
        await found.promise
        return ok({ body: JSON.stringify(page(q)) })
      }
      const answer = await research(key, { stream: true })
      const reader = answer.body?.getReader()
      if (!reader) throw new Error('no body')
      await reader.read()
      await until(() => gateway.context.asked.length > 0)
      await reader.cancel()
      found.resolve()
      await until(async () => (await balance()).held === 0)
      const explained = await gateway.explained(key, id(answer))
      expect(explained).toMatchObject({ status: 200, code: 'caller_hung_up' })
      expect(JSON.stringify(explained['charge'])).toContain('plan input_tokens')
      expect(JSON.stringify(explained['charge']).match(/"search /g)).toHaveLength(1)
      expect([gateway.context.asked.length, vendor.received.length]).toEqual([1, 1])
      expect(10_000_000 - (await balance()).paid).toBe(Number(explained['cost_micros_usd']))
    },
  )

  test.skipIf(OVER_SOCKET)(
    "whose caller leaves during the model's answer is charged for the whole answer, hidden reasoning included",
    async () => {
      const { key, balance } = await gateway.funded()
      const [asked, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const before = vendor.answer
      vendor.answer = async () => {
        asked.resolve()
        await go.promise
        return eventStream(openAi.words(['QUERY: otters'], { input: 500, output: 9_000 }))
      }
      const gone = new AbortController()
      const answer = research(key, {}, { signal: gone.signal }).catch(() => undefined)
      await asked.promise
      gone.abort()
      go.resolve()
      await answer
      vendor.answer = before
      await until(async () => (await balance()).held === 0)
      expect(10_000_000 - (await balance()).paid).toBe(500 + 2 * 9_000)
      expect([gateway.context.asked.length, vendor.received.length]).toEqual([0, 1])
    },
  )

  test("whose caller left and that a shutdown interrupts is charged an estimate of the model's output", async () => {
    const { key, balance } = await gateway.funded()
    const before = vendor.answer
    vendor.answer = () => new Promise(() => undefined)
    const answer = await research(key, { stream: true })
    await until(() => vendor.received.length > 0)
    await answer.body?.cancel()
    gateway.clock.advance(2_000)
    await gateway.gateway.streamsEnded(0)
    vendor.answer = before
    await until(async () => (await balance()).held === 0)
    await gateway.core.stores.journal.drained()
    const explained = await gateway.explained(key, id(answer))
    expect(explained).toMatchObject({ code: 'gateway_shutdown', usage_source: 'estimated', output_tokens: 200 })
    expect(10_000_000 - (await balance()).paid).toBe(Number(explained['cost_micros_usd']))
  })

  test('that a shutdown interrupts reports an error in the stream, and nothing is charged', async () => {
    const { key, balance } = await gateway.funded()
    gateway.context.answer = (_input, signal) =>
      new Promise((resolve) =>
        signal.addEventListener('abort', () => resolve(err({ kind: 'timeout', reason: 'aborted' }))),
      )
    const answer = await research(key, { stream: true })
    const text = answer.text()
    await until(() => gateway.context.asked.length > 0)
    await gateway.gateway.streamsEnded(0)
    expect(await text).toContain('"code":"service_unavailable"')
    expect(await balance()).toEqual({ paid: 10_000_000, held: 0 })
    await gateway.core.stores.journal.drained()
    expect(await gateway.explained(key, id(answer))).toMatchObject({ code: 'gateway_shutdown' })
  })

  test('a failed search costs nothing; when all fail, the research fails', async () => {
    const { key, balance } = await gateway.funded()
    gateway.context.answer = async () => err({ kind: 'unavailable', reason: 'down' })
    const answer = await research(key, {})
    expect(answer.status).toBe(503)
    expect(await answer.json()).toMatchObject({ error: { code: 'upstream_unavailable' } })
    expect(await balance()).toEqual({ paid: 10_000_000, held: 0 })
  })

  test('a model that fails in the middle of the answer while the caller listens: nothing is charged', async () => {
    const { key, balance } = await gateway.funded()
    const broken = ({ body }: { body: Record<string, unknown> }) =>
      replies.length === 1
        ? eventStream([openAi.chunk({ content: 'They sl' })])
        : eventStream(openAi.words([replies.shift() ?? ''], { input: JSON.stringify(body).length, output: 10 }))
    const before = vendor.answer
    vendor.answer = broken
    const plain = await research(key, {})
    expect(plain.status).toBe(502)
    expect(await balance()).toEqual({ paid: 10_000_000, held: 0 })
    replies = ['QUERY: a b', 'DONE', 'never said']
    const streamed = await research(key, { stream: true })
    expect(await streamed.text()).toContain('"code":"upstream_error"')
    expect(await balance()).toEqual({ paid: 10_000_000, held: 0 })
    await gateway.core.stores.journal.drained()
    expect(await gateway.explained(key, id(streamed))).toMatchObject({ code: 'upstream_error', charge: null })
    vendor.answer = before
  })

  test('a model that falls silent in the middle is left after the silence that it allows: 504, uncharged, and its place is free', async () => {
    const { key, balance } = await gateway.funded()
    const before = vendor.answer
    const closed = Promise.withResolvers<void>()
    vendor.answer = ({ signal }) => {
      signal.addEventListener('abort', () => closed.resolve(), { once: true })
      return eventStream([openAi.chunk({ content: 'QUERY: ot' })], () => undefined)
    }
    const answer = await research(key, { model: 'silent' })
    vendor.answer = before
    expect(answer.status).toBe(504)
    expect(await answer.json()).toMatchObject({ error: { code: 'upstream_timeout' } })
    expect(await balance()).toEqual({ paid: 10_000_000, held: 0 })
    await closed.promise
  })

  test('X-Max-Price-USD limits its searches, and is 412 if too low for one; a quote runs nothing (spec D5)', async () => {
    const { key } = await gateway.funded()
    const quote = async (body: object) => {
      const answer = await research(key, body, { headers: { 'x-cost-mode': 'quote' } })
      return ((await answer.json()) as { quote: { cost_micros_usd: number } }).quote.cost_micros_usd
    }
    const [one, four] = [await quote({ max_searches: 1 }), await quote({ max_searches: 4 })]
    expect(four - one).toBe(3 * 5000)
    expect(vendor.received).toHaveLength(0)
    const bounded = await research(
      key,
      { max_searches: 4 },
      { headers: { 'x-max-price-usd': String((one + 5000) / 1e6) } },
    )
    expect(((await bounded.json()) as Researched).search_queries.length).toBeLessThanOrEqual(2)
    const { key: other } = await gateway.funded()
    const dear = await research(other, {}, { headers: { 'x-max-price-usd': '0.001' } })
    expect(dear.status).toBe(412)
  })

  test('is limited to 5 a minute per key, as the headers show (spec 8)', async () => {
    const { key } = await gateway.funded()
    const wrong = () => research(key, { max_searches: 0 })
    const first = await wrong()
    expect(first.headers.get('x-ratelimit-limit-requests')).toBe('5')
    expect(first.headers.get('x-ratelimit-remaining-requests')).toBe('4')
    for (let i = 0; i < 4; i++) expect((await wrong()).status).toBe(400)
    expect((await wrong()).status).toBe(429)
  })

  test('wrong input is refused by name', async () => {
    const { key } = await gateway.funded()
    const code = async (body: object) => {
      const { key: fresh } = await gateway.funded()
      const { error } = (await (await gateway.post(fresh, '/v1/deep-research', body)).json()) as {
        error: { code: string; param?: string }
      }
      return `${error.code} ${error.param}`
    }
    expect(await code({ query: 'x' })).toBe('missing_parameter model')
    expect(await code({ model: 'writer' })).toBe('missing_parameter query')
    expect(await code({ model: 'writer', query: 'x', messages: [] })).toBe('invalid_parameter messages')
    expect(await code({ model: 'nobody', query: 'x' })).toBe('unknown_model model')
    expect(await code({ model: 'writer', query: 'x', max_searches: 11 })).toBe('invalid_parameter max_searches')
    const poor = await gateway.key(await gateway.account())
    expect((await research(poor, {})).status).toBe(402)
    expect(
      (await research(key, { messages: [{ role: 'user', content: 'How do otters sleep?' }], query: undefined })).status,
    ).toBe(200)
  })
})
