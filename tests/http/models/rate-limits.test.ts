import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type ModelGateway, openModelGateway, PRICE } from '../../support/model-gateway'
import { reconcile } from '../../support/reconcile'
import { until } from '../../support/until'
import { gemini, openAi, openVendor, type VendorDouble } from '../../support/vendor-double'

let vendor: VendorDouble
let gateway: ModelGateway
beforeAll(async () => {
  vendor = openVendor(() => openAi.plain('Hi', { input: 100, output: 40, cached: 60 }))
  gateway = await openModelGateway([
    {
      id: 'paid',
      upstream: { kind: 'openai', base_url: `${vendor.origin}/v1`, key_env: 'OPENAI_DOUBLE_KEY', model: 'real' },
      price: PRICE,
    },
    {
      id: 'bounded',
      upstream: { kind: 'openai', base_url: `${vendor.origin}/v1` },
      price: PRICE,
      max_output_tokens: 64_000,
    },
    {
      id: 'org/gem',
      upstream: { kind: 'gemini', base_url: `${vendor.origin}/v1beta`, model: 'gem' },
      price: PRICE,
      default_output_tokens: 50,
    },
  ])
})
afterAll(async () => {
  await gateway.close(true)
  vendor.close()
  expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
})

describe('rate limits of models (spec 8)', () => {
  const LIMITS = { rpm: 1000, tpm: 10_000, concurrency: 2 }

  test('422 max_tokens_exceeded for a cap over the whole minute, not an endless 429 (spec D8)', async () => {
    const { key } = await gateway.funded(10, {}, LIMITS)
    const answer = await gateway.chat(key, { model: 'paid', max_tokens: 10_001 })
    expect(answer.status).toBe(422)
    expect(await answer.json()).toMatchObject({ error: { code: 'max_tokens_exceeded' } })
  })

  test("a cap that is the model's own maximum reserves a quarter of the minute, since hardly any answer has it", async () => {
    const { key } = await gateway.funded(10, {}, LIMITS)
    const waiting = Promise.withResolvers<Response>()
    vendor.answer = () => waiting.promise
    // As clients of Claude do by default: more than the whole minute of a new account.
    const first = gateway.chat(key, { model: 'bounded', max_tokens: 64_000 })
    await until(() => vendor.received.some(({ body }) => body['max_tokens'] === 64_000))
    const limits = await gateway.as(key, '/v1/models')
    expect(Number(limits.headers.get('x-ratelimit-remaining-tokens'))).toBeWithin(7_300, 7_501)
    waiting.resolve(openAi.plain('Hi', { input: 100, output: 40 }))
    expect((await first).status).toBe(200)
    const after = await gateway.as(key, '/v1/models')
    expect(after.headers.get('x-ratelimit-remaining-tokens')).toBe(String(10_000 - 140))
    const above = await gateway.chat(key, { model: 'bounded', max_tokens: 64_001 })
    expect(await above.json()).toMatchObject({ error: { code: 'max_tokens_exceeded' } })
  })

  test('tokens are reserved during a call, then corrected to the actual count, as the headers show (spec 8)', async () => {
    const { key } = await gateway.funded(10, {}, LIMITS)
    vendor.answer = () => openAi.plain('Hi', { input: 100, output: 40 })
    const first = await gateway.chat(key, { model: 'paid', max_tokens: 6000 })
    expect(first.headers.get('x-ratelimit-limit-tokens')).toBe('10000')
    expect(first.headers.get('x-ratelimit-remaining-tokens')).toBe(String(10_000 - 140))
    const waiting = Promise.withResolvers<Response>()
    vendor.answer = () => waiting.promise
    const under = gateway.chat(key, { model: 'paid', max_tokens: 6000 })
    await until(() => vendor.received.at(-1)?.body['max_tokens'] === 6000)
    const refused = await gateway.chat(key, { model: 'paid', max_tokens: 6000 })
    expect(refused.status).toBe(429)
    expect(await refused.json()).toMatchObject({ error: { type: 'rate_limit_error', code: 'rate_limit_exceeded' } })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    waiting.resolve(openAi.plain('Hi', { input: 10, output: 4 }))
    expect((await under).headers.get('x-ratelimit-remaining-tokens')).toBe(String(10_000 - 140 - 14))
  })

  test('generateContent and its streamed form: 30 a minute together, and the headers show the tighter window', async () => {
    const { key } = await gateway.funded()
    vendor.answer = () => Response.json(gemini.body('Hi', { promptTokenCount: 1, candidatesTokenCount: 1 }))
    const generate = () =>
      gateway.post(key, '/v1beta/models/org/gem:generateContent', { contents: [{ parts: [{ text: 'x' }] }] })
    const first = await generate()
    expect(first.headers.get('x-ratelimit-limit-requests')).toBe('30')
    expect(first.headers.get('x-ratelimit-remaining-requests')).toBe('29')
    for (let i = 0; i < 29; i++) expect((await generate()).status).toBe(200)
    const refused = await gateway.post(key, '/v1beta/models/org/gem:streamGenerateContent?alt=sse', {
      contents: [{ parts: [{ text: 'x' }] }],
    })
    expect(refused.status).toBe(429)
    expect(await refused.json()).toMatchObject({ error: { code: 429, status: 'RESOURCE_EXHAUSTED' } })
    expect((await gateway.as(key, '/v1/models')).status).toBe(200)
  })
})
