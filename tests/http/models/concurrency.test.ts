import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type ModelGateway, openModelGateway, PRICE } from '../../support/model-gateway'
import { reconcile } from '../../support/reconcile'
import { until } from '../../support/until'
import { eventStream, openAi, openVendor, type VendorDouble } from '../../support/vendor-double'

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
  ])
})
afterAll(async () => {
  await gateway.close(true)
  vendor.close()
  expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
})

describe('the concurrency limit (spec 8)', () => {
  const LIMITS = { rpm: 1000, tpm: 10_000, concurrency: 2 }

  test('a stream takes a concurrency slot until its last byte', async () => {
    const { key, balance } = await gateway.funded(10, {}, LIMITS)
    const open: ReadableStreamDefaultController<Uint8Array>[] = []
    vendor.answer = () => eventStream([openAi.chunk({ content: 'Hi' })], (controller) => void open.push(controller))
    const streams = [
      await gateway.chat(key, { model: 'paid', max_tokens: 10, stream: true }),
      await gateway.chat(key, { model: 'paid', max_tokens: 10, stream: true }),
    ]
    expect(streams.map((answer) => answer.headers.get('x-ratelimit-remaining-concurrency'))).toEqual(['1', '0'])
    const refused = await gateway.chat(key, { model: 'paid', max_tokens: 10, stream: true })
    expect(refused.status).toBe(429)
    for (const stream of streams) await stream.body?.cancel()
    vendor.answer = () => openAi.plain('Hi', { input: 10, output: 4 })
    // A caller who hangs up keeps its place: the model goes on.
    expect((await gateway.chat(key, { model: 'paid', max_tokens: 10 })).status).toBe(429)
    for (const controller of open) controller.close()
    await until(async () => (await balance()).held === 0)
    const after = await gateway.chat(key, { model: 'paid', max_tokens: 10 })
    expect(after.status).toBe(200)
    expect(after.headers.get('x-ratelimit-remaining-concurrency')).toBe('2')
  })
})
