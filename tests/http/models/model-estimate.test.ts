import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type ModelGateway, openModelGateway, PRICE } from '../../support/model-gateway'
import { readUntil, until } from '../../support/until'
import { anthropic, eventStream, openAi, openVendor, type VendorDouble } from '../../support/vendor-double'
import { closeReconciled, keyBench, type MadeKey, type Owner, read, refusalOf } from '../owner-bench'

let vendor: VendorDouble
let gateway: ModelGateway
let owner: Owner
let app: MadeKey
beforeAll(async () => {
  vendor = openVendor(() => openAi.plain('Hi', { input: 10, output: 4 }))
  const base_url = `${vendor.origin}/v1`
  gateway = await openModelGateway(
    [
      { id: 'gpt', upstream: { kind: 'openai', base_url }, price: PRICE, recharge_required: false },
      {
        id: 'claude',
        upstream: { kind: 'anthropic', base_url },
        price: PRICE,
        recharge_required: false,
        stops_billing: true,
      },
      { id: 'org/gem', upstream: { kind: 'gemini', base_url }, price: PRICE, recharge_required: false },
    ],
    { CREDIT_BUYS_PAID_PROVIDERS: 'true' },
  )
  owner = await gateway.owner()
  app = await keyBench(owner).create({ name: 'app' })
})
afterAll(async () => {
  vendor.close()
  await closeReconciled(gateway)
})

const MESSAGES = [{ role: 'user', content: 'Hello' }]
const BODIES = {
  chat_completions: ['gpt', '/v1/chat/completions', { model: 'gpt', max_tokens: 50, messages: MESSAGES }],
  messages: ['claude', '/v1/messages', { model: 'claude', max_tokens: 50, messages: MESSAGES }],
  generate_content: [
    'org/gem',
    '/v1beta/models/org/gem:generateContent',
    { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }], generationConfig: { maxOutputTokens: 50 } },
  ],
} as const

describe('GET /api/models', () => {
  test('lists what GET /v1/models lists, for a session', async () => {
    const listed = await read(gateway.as(app.secret, '/v1/models'))
    expect(await read<unknown>(owner.api('/api/models'))).toEqual(listed)
    expect((await gateway.call('/api/models')).status).toBe(401)
  })
})

describe('POST /api/models/estimate', () => {
  test.each(Object.entries(BODIES))(
    'of %s returns what the route itself would hold',
    async (type, [model, path, body]) => {
      const estimate = await read<{ most_micros_usd: number; most_output_tokens: number }>(
        owner.api('/api/models/estimate', { endpoint_type: type, model, body }),
      )
      const quoted = await gateway.post(app.secret, path, body, { headers: { 'x-cost-mode': 'quote' } })
      const { quote } = await read<{ quote: { cost_micros_usd: number } }>(quoted)
      expect(estimate.most_micros_usd).toBe(quote.cost_micros_usd)
      expect(estimate.most_micros_usd).toBeGreaterThan(0)
      expect(estimate.most_output_tokens).toBe(50)
    },
  )

  test('calls no model, uses no minute of a key, and leaves no row', async () => {
    const left = async () => (await gateway.as(app.secret, '/v1/models')).headers.get('x-ratelimit-remaining-requests')
    const rows = async () => (await read<{ requests: unknown[] }>(owner.api('/api/requests'))).requests.length
    const before = Number(await left())
    await gateway.core.stores.journal.drained()
    const [logged, asked] = [await rows(), vendor.received.length]
    const [model, , body] = BODIES.chat_completions
    await read(owner.api('/api/models/estimate', { endpoint_type: 'chat_completions', model, body }))
    await gateway.core.stores.journal.drained()
    expect(await rows()).toBe(logged)
    expect(Number(await left())).toBe(before - 1)
    expect(vendor.received.length).toBe(asked)
  })

  test.each([
    [
      'a model that is not there',
      { endpoint_type: 'messages', model: 'x', body: { model: 'x', max_tokens: 1, messages: MESSAGES } },
      404,
      'unknown_model',
    ],
    [
      'a model on a route of another',
      { endpoint_type: 'messages', model: 'gpt', body: { model: 'gpt', max_tokens: 1, messages: MESSAGES } },
      400,
      'model_route_not_supported',
    ],
    [
      'a body that the route refuses',
      { endpoint_type: 'messages', model: 'claude', body: { model: 'claude', messages: MESSAGES } },
      400,
      'missing_parameter',
    ],
    ['no body', { endpoint_type: 'messages', model: 'claude' }, 400, 'missing_parameter'],
    ['an unknown route', { endpoint_type: 'translations', model: 'claude', body: {} }, 400, 'invalid_parameter'],
  ])('refuses %s as the route would', async (_what, asked, status, code) => {
    expect(await refusalOf(owner.api('/api/models/estimate', asked))).toMatchObject({ status, code })
  })
})

describe('GET /api/requests/{id}', () => {
  test("explains a call of a key by the gateway's id and by the caller's own, only to its owner", async () => {
    vendor.answer = () => openAi.plain('Hi', { input: 100, output: 40, cached: 60 })
    const [, path, body] = BODIES.chat_completions
    const answer = await gateway.post(app.secret, path, body, { headers: { 'x-request-id': 'mine-1' } })
    expect(answer.status).toBe(200)
    const ours = answer.headers.get('x-gateway-request-id') ?? ''
    const explained = await read<unknown>(owner.api(`/api/requests/${ours}`))
    expect(explained).toMatchObject({
      id: ours,
      model: 'gpt',
      cost_micros_usd: 575,
      charge: { charged_micros_usd: 575 },
    })
    expect(await read<unknown>(owner.api('/api/requests/mine-1'))).toEqual(explained)
    const stranger = await gateway.owner()
    expect((await stranger.api('/api/requests/mine-1')).status).toBe(404)
  })
})

describe('POST /api/try of a stream', () => {
  test('is sent as it is generated, and hanging up in the middle stops a model that stops billing, and charges what was sent', async () => {
    const stopped = Promise.withResolvers<void>()
    vendor.answer = ({ signal }) => {
      signal.addEventListener('abort', () => stopped.resolve())
      const words = [
        anthropic.start({ input: 100, output: 0 }),
        ...Array.from({ length: 4 }, () =>
          anthropic.event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'x'.repeat(100) } }),
        ),
      ]
      // Then it thinks for ever.
      return eventStream(words, () => new Promise<void>(() => undefined) as unknown as undefined)
    }
    const [, path, body] = BODIES.messages
    const answer = await owner.api('/api/try', {
      key_id: app.key.id,
      method: 'POST',
      path,
      headers: { 'x-request-id': 'cut-1' },
      body: { ...body, stream: true },
    })
    expect(answer.headers.get('content-type')).toStartWith('text/event-stream')
    const reader = answer.body?.getReader()
    await readUntil(reader, (text) => (text.match(/xxx"/g) ?? []).length >= 4)
    await reader?.cancel()
    await stopped.promise
    await until(async () => (await owner.api('/api/requests/cut-1')).status !== 404)
    const found = await owner.api('/api/requests/cut-1')
    // 100 of input as the vendor said; of 400 bytes of text a quarter, cut at the cap of 50.
    expect(await found.json()).toMatchObject({
      code: 'caller_hung_up',
      input_tokens: 100,
      output_tokens: 50,
      usage_source: 'estimated',
      cost_micros_usd: 750,
    })
  })
})
