import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import { ApiError, GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { type ModelGateway, openModelGateway, PRICE } from '../../support/model-gateway'
import { reconcile } from '../../support/reconcile'
import { openVendor, type VendorDouble } from '../../support/vendor-double'

/** Vectors and counts of tokens, over HTTP and by the vendors' own packages with only base URL and key changed. */
let vendor: VendorDouble
let gateway: ModelGateway
let origin: string
const EMBEDDING_PRICE = { input: 2.5, output: 0 }
const vectors = (tokens: number | null) =>
  Response.json({
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding: [0.6, 0.8] }],
    model: 'real',
    ...(tokens !== null && { usage: { prompt_tokens: tokens, total_tokens: tokens } }),
  })
beforeAll(async () => {
  vendor = openVendor(() => vectors(100))
  const base_url = `${vendor.origin}/v1`
  gateway = await openModelGateway([
    {
      id: 'vectors',
      purpose: 'embeddings',
      upstream: { kind: 'openai', base_url, model: 'real' },
      price: EMBEDDING_PRICE,
    },
    { id: 'chat', upstream: { kind: 'openai', base_url }, price: PRICE },
    { id: 'claude', upstream: { kind: 'anthropic', base_url, model: 'real' }, price: PRICE },
    { id: 'org/gem', upstream: { kind: 'gemini', base_url, model: 'real' }, price: PRICE },
    {
      id: 'gem-vectors',
      purpose: 'embeddings',
      upstream: { kind: 'gemini', base_url, model: 'real' },
      price: EMBEDDING_PRICE,
    },
  ])
  origin = gateway.serve()
})
afterAll(async () => {
  await gateway.close(true)
  vendor.close()
  expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
})

const requestId = (answer: Response) => answer.headers.get('x-gateway-request-id') ?? ''
const code = async (answer: Response) =>
  `${answer.status} ${((await answer.json()) as { error: { code: string } }).error.code}`
const dot = (a: readonly number[], b: readonly number[]) => a.reduce((sum, x, i) => sum + x * (b[i] ?? 0), 0)

describe('POST /v1/embeddings', () => {
  test('costs its input tokens as the vendor counts them', async () => {
    const { key, balance } = await gateway.funded()
    vendor.received.length = 0
    vendor.answer = () => vectors(30)
    const answer = await gateway.post(key, '/v1/embeddings', { model: 'vectors', input: ['x'.repeat(100)] })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-cost-micros-usd')).toBe('75')
    expect(await balance()).toEqual({ paid: 10_000_000 - 75, held: 0 })
    expect(vendor.received[0]).toMatchObject({ path: '/v1/embeddings', body: { model: 'real' } })
    expect(await gateway.explained(key, requestId(answer))).toMatchObject({
      operation: 'embeddings',
      model: 'vectors',
      input_tokens: 30,
      output_tokens: 0,
      usage_source: 'exact',
      cost_micros_usd: 75,
    })
  })

  test('without reported usage is charged one token per four bytes of text', async () => {
    const { key } = await gateway.funded()
    vendor.answer = () => vectors(null)
    const answer = await gateway.post(key, '/v1/embeddings', { model: 'vectors', input: ['x'.repeat(400)] })
    expect(answer.headers.get('x-cost-micros-usd')).toBe('250')
    expect(await gateway.explained(key, requestId(answer))).toMatchObject({
      usage_source: 'estimated',
      input_tokens: 100,
    })
  })

  test('is quoted, capped, answered once under one Idempotency-Key, and not charged when the vendor fails', async () => {
    const { key, balance } = await gateway.funded()
    const body = { model: 'vectors', input: 'Hello' }
    vendor.received.length = 0
    vendor.answer = () => vectors(4)
    const quote = await gateway.post(key, '/v1/embeddings', body, { headers: { 'x-cost-mode': 'quote' } })
    expect(await quote.json()).toMatchObject({ quote: { operation: 'embeddings', price: { mode: 'most' } } })
    const dear = await gateway.post(key, '/v1/embeddings', body, { headers: { 'x-max-price-usd': '0.000001' } })
    expect(await code(dear)).toBe('412 estimated_price_exceeds_max_price')
    expect(vendor.received).toHaveLength(0)
    const once = { headers: { 'idempotency-key': 'one' } }
    const first = await (await gateway.post(key, '/v1/embeddings', body, once)).text()
    const again = await gateway.post(key, '/v1/embeddings', body, once)
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(await again.text()).toBe(first)
    expect(vendor.received).toHaveLength(1)
    vendor.answer = () => Response.json({ error: { message: 'no' } }, { status: 500 })
    expect((await gateway.post(key, '/v1/embeddings', body)).status).toBe(502)
    expect(await balance()).toEqual({ paid: 10_000_000 - 10, held: 0 })
  })

  test('obeys the restrictions of the key, and takes only models for embeddings', async () => {
    const { key } = await gateway.funded(10, { allowed_endpoints: ['chat-completions'] })
    const body = { model: 'vectors', input: 'Hello' }
    expect(await code(await gateway.post(key, '/v1/embeddings', body))).toBe('403 insufficient_permissions')
    const { key: narrow } = await gateway.funded(10, { allowed_models: ['chat'] })
    expect(await code(await gateway.post(narrow, '/v1/embeddings', body))).toBe('403 model_not_allowed')
    const { key: open } = await gateway.funded()
    const chat = await gateway.post(open, '/v1/embeddings', { ...body, model: 'chat' })
    expect(await code(chat)).toBe('400 model_route_not_supported')
    expect(await code(await gateway.chat(open, { model: 'vectors' }))).toBe('400 model_route_not_supported')
    const fresh = await gateway.key(await gateway.account())
    expect(await code(await gateway.post(fresh, '/v1/embeddings', body))).toBe('402 recharge_required')
    const extra = await gateway.post(open, '/v1/embeddings', { ...body, truncate: 'END' })
    expect(await code(extra)).toBe('422 unsupported_parameter')
  })
})

describe('embeddings of Google', () => {
  test('reach the vendor under its model names and cost what it counts, or an estimate by length', async () => {
    const { key, balance } = await gateway.funded()
    vendor.received.length = 0
    vendor.answer = () => Response.json({ embeddings: [{ values: [1] }], usageMetadata: { promptTokenCount: 20 } })
    const content = { parts: [{ text: 'x'.repeat(400) }] }
    const batch = await gateway.post(key, '/v1beta/models/gem-vectors:batchEmbedContents', {
      requests: [{ model: 'models/gem-vectors', content }],
    })
    expect(batch.headers.get('x-cost-micros-usd')).toBe('50')
    vendor.answer = () => Response.json({ embedding: { values: [1] } })
    const one = await gateway.post(key, '/v1beta/models/gem-vectors:embedContent', { content })
    expect(one.headers.get('x-cost-micros-usd')).toBe('250')
    expect(vendor.received.map(({ path }) => path)).toEqual([
      '/v1/models/real:batchEmbedContents',
      '/v1/models/real:embedContent',
    ])
    expect(await balance()).toEqual({ paid: 10_000_000 - 300, held: 0 })
    const wrong = await gateway.post(key, '/v1beta/models/org/gem:embedContent', { content })
    expect(await wrong.json()).toMatchObject({
      error: { status: 'INVALID_ARGUMENT', details: [{ reason: 'model_route_not_supported' }] },
    })
  })
})

describe('counting tokens', () => {
  test('is free, needs a key, and counts as a request of its window', async () => {
    const { key, balance } = await gateway.funded()
    vendor.received.length = 0
    vendor.answer = () => Response.json({ input_tokens: 12, totalTokens: 12 })
    const body = { model: 'claude', messages: [{ role: 'user', content: 'Hi' }] }
    const answer = await gateway.post(key, '/v1/messages/count_tokens', body)
    expect(await answer.json()).toMatchObject({ input_tokens: 12 })
    expect(answer.headers.get('x-cost-micros-usd')).toBe('0')
    const left = Number(answer.headers.get('x-ratelimit-remaining-requests'))
    const google = await gateway.post(key, '/v1beta/models/org/gem:countTokens', {
      contents: [{ parts: [{ text: 'Hi' }] }],
    })
    expect(await google.json()).toMatchObject({ totalTokens: 12 })
    expect(Number(google.headers.get('x-ratelimit-remaining-requests'))).toBe(left - 1)
    expect(vendor.received.map(({ path }) => path)).toEqual([
      '/v1/messages/count_tokens',
      '/v1/models/real:countTokens',
    ])
    expect(await balance()).toEqual({ paid: 10_000_000, held: 0 })
    expect(await gateway.explained(key, requestId(answer))).toMatchObject({
      operation: 'count-tokens',
      model: 'claude',
      cost_micros_usd: 0,
    })
    const init = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }
    expect(await (await gateway.call('/v1/messages/count_tokens', init)).json()).toMatchObject({
      type: 'error',
      error: { type: 'authentication_error' },
    })
  })

  test('works without a balance, because it is free', async () => {
    const { key } = await gateway.funded(0.000001)
    vendor.answer = () => Response.json({ input_tokens: 12 })
    const body = { model: 'claude', messages: [{ role: 'user', content: 'x'.repeat(10_000) }] }
    expect((await gateway.post(key, '/v1/messages/count_tokens', body)).status).toBe(200)
  })
})

describe("the vendors' own packages", () => {
  test('openai: embeddings as numbers and in base64 are the same unit vectors', async () => {
    const { key } = await gateway.funded()
    const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey: key.secret, maxRetries: 0 })
    const model = 'sandbox/embed'
    const input = ['How do drizzle relations work?', 'Relations of drizzle', 'A recipe for bread']
    const usual = await client.embeddings.create({ model, input })
    const [first = [], near = [], far = []] = usual.data.map(({ embedding }) => embedding)
    expect(first).toHaveLength(256)
    expect(dot(first, first)).toBeCloseTo(1, 5)
    expect(dot(first, near)).toBeGreaterThan(dot(first, far))
    const floats = await client.embeddings.create({ model, input, encoding_format: 'float', dimensions: 64 })
    expect(floats.data[0]?.embedding).toHaveLength(64)
    expect(floats.usage.prompt_tokens).toBe(usual.usage.prompt_tokens)
    const packed = await client.embeddings.create({ model, input, encoding_format: 'base64', dimensions: 64 })
    const bytes = Buffer.from(String(packed.data[0]?.embedding), 'base64')
    const unpacked = [...new Float32Array(bytes.buffer, bytes.byteOffset, 64)]
    for (const [i, value] of unpacked.entries()) expect(value).toBeCloseTo(floats.data[0]?.embedding[i] ?? 2, 6)
    const wrong = await client.embeddings.create({ model, input, dimensions: 5000 }).catch((error: unknown) => error)
    expect(wrong).toMatchObject({ status: 400 })
    const many = Array.from({ length: 2048 }, (_, i) => `text ${i}`)
    expect((await client.embeddings.create({ model, input: many })).data).toHaveLength(2048)
    const more = await client.embeddings
      .create({ model, input: many, dimensions: 257 })
      .catch((error: unknown) => error)
    expect(more).toMatchObject({ status: 400, message: expect.stringContaining('524288 numbers') })
  })

  test('@anthropic-ai/sdk: counts the tokens of a message as the message then does', async () => {
    const { key } = await gateway.funded()
    const client = new Anthropic({ baseURL: origin, apiKey: key.secret, maxRetries: 0 })
    const call = { model: 'sandbox/echo', messages: [{ role: 'user' as const, content: 'Hello there, world' }] }
    const { input_tokens } = await client.messages.countTokens(call)
    const message = await client.messages.create({ ...call, max_tokens: 10 })
    expect(message.usage.input_tokens).toBe(input_tokens)
    const refused = await client.messages.countTokens({ ...call, model: 'nobody' }).catch((error: unknown) => error)
    expect(refused).toMatchObject({ status: 404, error: { type: 'error' } })
  })

  test('@google/genai: embeds and counts', async () => {
    const { key } = await gateway.funded()
    const client = new GoogleGenAI({ apiKey: key.secret, httpOptions: { baseUrl: origin } })
    const model = 'sandbox/embed'
    const config = { outputDimensionality: 32 }
    const { embeddings = [] } = await client.models.embedContent({ model, contents: ['Hello', 'Bread'], config })
    expect(embeddings.map(({ values }) => values?.length)).toEqual([32, 32])
    const counted = await client.models.countTokens({ model: 'sandbox/echo', contents: 'Hello' })
    expect(counted.totalTokens).toBe(1)
    const refused = await client.models
      .embedContent({ model: 'nobody', contents: 'x' })
      .catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(ApiError)
    expect(refused).toMatchObject({ status: 404 })
  })
})
