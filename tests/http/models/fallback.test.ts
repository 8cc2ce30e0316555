import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { micros } from '../../../server/core/money'
import { type ModelGateway, openModelGateway } from '../../support/model-gateway'
import { reconcile } from '../../support/reconcile'
import { eventStream, openAi, openVendor, type Received, type VendorDouble } from '../../support/vendor-double'

const CHEAP = { input: 1, output: 1, cache_write: 1 }
const DEAR = { input: 10, output: 100, cache_write: 10 }

let vendor: VendorDouble
let gateway: ModelGateway
/** Names of models at the vendor that fail, and how. */
let failing: Record<string, () => Response> = {}
beforeAll(async () => {
  vendor = openVendor((call) => answer(call))
  const upstream = { kind: 'openai', base_url: `${vendor.origin}/v1` } as const
  const claude = { kind: 'anthropic', base_url: `${vendor.origin}/v1`, key_env: 'ANTHROPIC_DOUBLE_KEY' } as const
  gateway = await openModelGateway([
    { id: 'first', upstream, price: CHEAP, fallback: ['gone', 'claude', 'second', 'third'] },
    { id: 'second', upstream, price: DEAR },
    { id: 'third', upstream, price: CHEAP },
    { id: 'alone', upstream, price: CHEAP },
    { id: 'quota', upstream, price: CHEAP, family: 'small', family_rpm: 5 },
    { id: 'open', upstream, price: CHEAP, recharge_required: false, fallback: ['second'] },
    { id: 'claude', upstream: claude, price: CHEAP },
  ])
})
afterAll(async () => {
  await gateway.close(true)
  vendor.close()
  expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
})

function answer({ body }: Received): Response {
  const failure = failing[String(body['model'])]
  if (failure) return failure()
  const usage = { input: 10, output: 4 }
  return body['stream'] ? eventStream(openAi.words(['Hi'], usage)) : openAi.plain('Hi', usage)
}
const down = () => openAi.error(500, {})
const hello = { max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] }
const asked = () => vendor.received.map(({ body }) => body['model'])
const of = (sent: Response) => [
  sent.status,
  sent.headers.get('x-served-by'),
  Number(sent.headers.get('x-cost-micros-usd')),
]
const requestId = (sent: Response) => sent.headers.get('x-gateway-request-id') ?? ''

describe('a model whose upstreams fail', () => {
  test('is served by the next of its entry, which is charged and named; those that cannot serve the call are left out', async () => {
    const { key, balance } = await gateway.funded()
    failing = { first: down }
    vendor.received.length = 0
    const served = await gateway.chat(key, { ...hello, model: 'first' })
    // 10 x 10 + 4 x 100
    expect(of(served)).toEqual([200, 'second', 500])
    expect(new Set(asked())).toEqual(new Set(['first', 'second']))
    expect(await balance()).toEqual({ paid: 10_000_000 - 500, held: 0 })
    expect(await gateway.explained(key, requestId(served))).toMatchObject({ model: 'second', cost_micros_usd: 500 })
    failing = { first: down, second: down }
    expect(of(await gateway.chat(key, { ...hello, model: 'first' }))).toEqual([200, 'third', 14])
    failing = { first: down, second: down, third: down }
    const failed = await gateway.chat(key, { ...hello, model: 'first' })
    expect(failed.status).toBe(502)
    expect(await balance()).toEqual({ paid: 10_000_000 - 514, held: 0 })
  })

  test('holds the most of all that may serve, and is charged its own price if it serves', async () => {
    const { key } = await gateway.funded()
    failing = {}
    const quoted = async (path: string, body: object) => {
      const quote = await gateway.post(key, path, body, { headers: { 'x-cost-mode': 'quote' } })
      return Number(Object(Object(await quote.json()).quote).cost_micros_usd)
    }
    const [first, second] = [
      await quoted('/v1/chat/completions', { ...hello, model: 'first' }),
      await quoted('/v1/chat/completions', { ...hello, model: 'second' }),
    ]
    // The names differ by a byte.
    expect(first - second).toBe(-10)
    expect(of(await gateway.chat(key, { ...hello, model: 'first' }))).toEqual([200, 'first', 14])
    expect(of(await gateway.chat(key, { ...hello, model: 'alone' }))).toEqual([200, null, 14])
  })

  test('is served by the next in a stream, before its first byte only', async () => {
    const { key } = await gateway.funded()
    failing = { first: down }
    const stream = await gateway.chat(key, { ...hello, model: 'first', stream: true })
    expect([stream.status, stream.headers.get('x-served-by')]).toEqual([200, 'second'])
    expect(await stream.text()).toContain('[DONE]')
    expect(await gateway.explained(key, requestId(stream))).toMatchObject({ model: 'second', cost_micros_usd: 500 })
    // It begins, and ends without its end.
    failing = { first: () => eventStream([openAi.chunk({ content: 'Hi' })]) }
    vendor.received.length = 0
    const cut = await gateway.chat(key, { ...hello, model: 'first', stream: true })
    expect(cut.headers.get('x-served-by')).toBe('first')
    expect(await cut.text()).toContain('upstream_error')
    expect(asked()).toEqual(['first'])
  })

  test('is not replaced where the vendor refuses the call itself', async () => {
    const { key } = await gateway.funded()
    failing = { first: () => openAi.error(400, { message: 'no such tool' }) }
    vendor.received.length = 0
    const refused = await gateway.chat(key, { ...hello, model: 'first' })
    expect(refused.status).toBe(400)
    expect(asked()).toEqual(['first'])
  })

  test('buys no more with signup credit than before: a fallback that needs a top-up is left out', async () => {
    const account = await gateway.account(1)
    const key = await gateway.key(account)
    failing = { open: down }
    vendor.received.length = 0
    expect((await gateway.chat(key, { ...hello, model: 'open' })).status).toBe(502)
    expect(new Set(asked())).toEqual(new Set(['open']))
  })
})

describe('X-Fallback-Models', () => {
  const call = (key: Parameters<ModelGateway['chat']>[0], names: string, more: object = {}, headers: object = {}) =>
    gateway.chat(key, { ...hello, model: 'alone', ...more }, { headers: { 'x-fallback-models': names, ...headers } })

  test('names the models of this call, instead of those of the entry', async () => {
    const { key } = await gateway.funded()
    failing = { alone: down, first: down }
    expect(of(await call(key, 'third, second'))).toEqual([200, 'third', 14])
    expect(of(await call(key, 'third', { model: 'first' }))).toEqual([200, 'third', 14])
  })

  test('that credit may not pay: a refusal for lack of money names a cap that fits without it', async () => {
    const { account, key } = await gateway.funded(0.01)
    const amount = micros(1_000_000)
    const reference = `credit:${account.id}`
    const { ledger } = gateway.core
    expect(
      (
        await ledger.credit({
          account: account.id,
          part: 'credit',
          kind: 'grant',
          amount,
          description: 'test',
          reference,
        })
      ).ok,
    ).toBe(true)
    failing = {}
    const ask = (max_tokens: number) => call(key, 'third', { model: 'open', max_tokens })
    const refused = await ask(100_000)
    expect(refused.status).toBe(402)
    const cap = Number(/at most (\d+) tokens would fit/.exec(await refused.text())?.[1])
    expect((await ask(cap)).status).toBe(200)
  })

  test('is refused where one of them cannot serve the call, and nothing is charged', async () => {
    const { key, balance } = await gateway.funded(10, { allowed_models: ['alone', 'third'] })
    const { key: other } = await gateway.funded()
    failing = {}
    for (const [sent, status, code] of [
      [await call(other, 'nothing'), 404, 'unknown_model'],
      [await call(key, 'second'), 403, 'model_not_allowed'],
      [await call(other, 'claude'), 400, 'model_route_not_supported'],
      [await call(other, 'quota'), 400, 'invalid_parameter'],
      [await call(other, 'a,b,c,d,e'), 400, 'invalid_parameter'],
      [await call(other, ' , '), 400, 'invalid_parameter'],
    ] as const) {
      const { error } = Object(await sent.json())
      expect([sent.status, error.code, error.param]).toEqual([status, code, 'x-fallback-models'])
    }
    expect(await balance()).toEqual({ paid: 10_000_000, held: 0 })
  })

  test('belongs to the request that an Idempotency-Key stands for, and a repeat tells who served', async () => {
    const { key } = await gateway.funded()
    failing = { alone: down }
    const headers = { 'idempotency-key': 'once' }
    expect(of(await call(key, 'third', {}, headers))).toEqual([200, 'third', 14])
    const repeat = await call(key, 'third', {}, headers)
    expect(of(repeat)).toEqual([200, 'third', 0])
    expect((await call(key, 'second', {}, headers)).status).toBe(409)
  })
})
