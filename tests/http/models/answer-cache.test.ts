import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { MadeKey } from '../../support/harness'
import { type ModelGateway, openModelGateway, PRICE } from '../../support/model-gateway'
import { anthropic, eventStream, openAi, openVendor, type VendorDouble } from '../../support/vendor-double'
import { closeReconciled, read } from '../owner-bench'

let vendor: VendorDouble
let gateway: ModelGateway
let count = 0
beforeAll(async () => {
  vendor = openVendor(() => openAi.plain('Hi', { input: 10, output: 4 }))
  const upstream = { kind: 'openai', base_url: `${vendor.origin}/v1` } as const
  const price = { input: 10, output: 20 }
  gateway = await openModelGateway([
    { id: 'tenth', upstream, price, answer_cache: { seconds: 60, percent: 10 } },
    { id: 'free', upstream, price, answer_cache: { seconds: 60, percent: 0 }, fallback: ['plain'] },
    { id: 'plain', upstream, price },
    {
      id: 'embed',
      purpose: 'embeddings',
      upstream,
      price: { input: 10, output: 0 },
      answer_cache: { seconds: 60, percent: 0 },
    },
    {
      id: 'claude',
      upstream: { kind: 'anthropic', base_url: `${vendor.origin}/v1` },
      price: PRICE,
      answer_cache: { seconds: 60, percent: 0 },
    },
  ])
})
beforeEach(() => {
  vendor.received.length = 0
  vendor.answer = () => openAi.plain(`Answer ${++count}`, { input: 10, output: 4 })
})
afterAll(async () => {
  await closeReconciled(gateway)
  vendor.close()
})

const said = async (answer: Response) => {
  const { choices } = (await answer.json()) as { choices: { message: { content: string } }[] }
  const header = (name: string) => answer.headers.get(name)
  return [header('x-cache'), header('x-cost-micros-usd'), choices[0]?.message.content]
}
const ask = (key: MadeKey, body: object, headers = {}) =>
  gateway.chat(key, { model: 'tenth', max_tokens: 100, ...body }, { headers })

describe('an answer that is kept', () => {
  test('answers the same call of the same account at its own price, explained as such, until its time is up', async () => {
    const { key, account, balance } = await gateway.funded()
    const first = await said(await ask(key, {}))
    expect(first.slice(0, 2)).toEqual(['miss', '180'])
    const other = await gateway.key(account)
    gateway.clock.advance(7000)
    const answer = await ask(other, {})
    expect(answer.headers.get('age')).toBe('7')
    const id = answer.headers.get('x-gateway-request-id') ?? ''
    expect(await said(answer)).toEqual(['hit', '18', first[2]])
    expect(await balance()).toEqual({ paid: 9_999_802, held: 0 })
    expect(await gateway.explained(other, id)).toMatchObject({
      cost_micros_usd: 18,
      charge: { inputs: { lines: [{ item: 'cached_answers', units: 1, unit_price_micros_usd: 18 }] } },
    })
    const quote = await read<{ quote: object }>(ask(key, {}, { 'x-cost-mode': 'quote' }))
    expect(quote.quote).toMatchObject({ cost_micros_usd: 18 })
    gateway.clock.advance(60_000)
    expect((await said(await ask(key, {})))[0]).toBe('miss')
    expect(vendor.received).toHaveLength(2)
  })

  test('is not that of another account, other bytes, a stream, another version of the API or another price', async () => {
    const { key, account } = await gateway.funded()
    const stranger = await gateway.funded()
    await ask(key, {})
    for (const [who, body] of [
      [stranger.key, {}],
      [key, { max_tokens: 101 }],
      [key, { temperature: 0 }],
      [key, { user: 'me' }],
    ] as const)
      expect((await said(await ask(who, body)))[0]).toBe('miss')
    vendor.answer = () => eventStream(openAi.words(['Hi'], { input: 10, output: 4 }))
    const stream = await ask(key, { stream: true })
    expect([stream.headers.get('x-cache'), (await stream.text()).includes('Hi')]).toEqual([null, true])
    vendor.answer = () => openAi.plain('Hi', { input: 10, output: 4 })
    expect((await said(await ask(key, {})))[0]).toBe('hit')
    await gateway.core.operator.setModelPrice(
      { kind: 'operator', id: 'test', address: null },
      account.id,
      'tenth',
      5000,
    )
    expect((await said(await ask(key, {}))).slice(0, 2)).toEqual(['miss', '90'])
    expect((await said(await ask(key, {}))).slice(0, 2)).toEqual(['hit', '9'])
    vendor.answer = () => anthropic.plain('Hi', { input: 10, output: 4 })
    const messages = { model: 'claude', max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] }
    const versions = ['2023-06-01', '2026-10-21', '2026-10-21']
    const states: unknown[] = []
    for (const version of versions)
      states.push(
        (await gateway.post(key, '/v1/messages', messages, { headers: { 'anthropic-version': version } })).headers.get(
          'x-cache',
        ),
      )
    expect(states).toEqual(['miss', 'miss', 'hit'])
  })

  test('is asked for again, or not kept, as cache-control says; failures and uncharged answers are never kept', async () => {
    const { key } = await gateway.funded()
    const control = (value: string) => ({ 'cache-control': value })
    vendor.answer = () => openAi.error(400, {})
    expect((await ask(key, {})).status).toBe(400)
    vendor.answer = () => openAi.plain(`Answer ${++count}`, { input: 10, output: 4 })
    expect((await said(await ask(key, {}, control('no-store'))))[0]).toBe('miss')
    const kept = await said(await ask(key, {}))
    expect(kept[0]).toBe('miss')
    const newer = await said(await ask(key, {}, control('no-cache')))
    expect([newer[0], newer[2] === kept[2]]).toEqual(['miss', false])
    expect(await said(await ask(key, {}))).toEqual(['hit', '18', newer[2]])
    const poor = await gateway.funded(0.0001)
    expect((await ask(poor.key, { max_tokens: 1000 })).status).toBe(402)
  })

  test('may be free, also of embeddings; the answer of a fallback is not kept, and models without answer_cache keep nothing', async () => {
    const { key, balance } = await gateway.funded()
    await ask(key, { model: 'free' })
    expect((await said(await ask(key, { model: 'free' }))).slice(0, 2)).toEqual(['hit', '0'])
    vendor.answer = () => Response.json({ data: [{ embedding: [1] }], usage: { prompt_tokens: 5, total_tokens: 5 } })
    const embed = () => gateway.post(key, '/v1/embeddings', { model: 'embed', input: 'Hello' })
    expect([(await embed()).headers.get('x-cache'), (await embed()).headers.get('x-cache')]).toEqual(['miss', 'hit'])
    expect(await balance()).toEqual({ paid: 9_999_770, held: 0 })
    vendor.answer = ({ body }) =>
      body['model'] === 'free' ? openAi.error(503, {}) : openAi.plain('Other', { input: 10, output: 4 })
    const served = async () => (await ask(key, { model: 'free', max_tokens: 7 })).headers
    for (let i = 0; i < 2; i++) {
      const headers = await served()
      expect([headers.get('x-served-by'), headers.get('x-cache')]).toEqual(['plain', null])
    }
    expect((await ask(key, { model: 'plain' })).headers.get('x-cache')).toBe(null)
  })

  test('is replayed as it was with an Idempotency-Key, and leaves the minute of tokens alone', async () => {
    const { key } = await gateway.funded()
    await ask(key, {})
    const headers = { 'idempotency-key': crypto.randomUUID() }
    const hit = await ask(key, {}, headers)
    const again = await ask(key, {}, headers)
    expect([hit.headers.get('x-cache'), again.headers.get('idempotency-replayed')]).toEqual(['hit', 'true'])
    expect(await again.text()).toBe(await hit.text())
    expect(hit.headers.get('x-ratelimit-remaining-tokens')).toBe(again.headers.get('x-ratelimit-remaining-tokens'))
  })
})
