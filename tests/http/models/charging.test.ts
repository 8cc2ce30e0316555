import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { micros } from '../../../server/core/money'
import { call } from '../../support/ledger-parts'
import { type ModelGateway, openModelGateway, PRICE, VENDOR_KEYS } from '../../support/model-gateway'
import { reconcile } from '../../support/reconcile'
import { anthropic, eventStream, gemini, openAi, openVendor, type VendorDouble } from '../../support/vendor-double'

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
      id: 'open',
      upstream: { kind: 'openai', base_url: `${vendor.origin}/v1` },
      price: PRICE,
      recharge_required: false,
    },
    {
      id: 'claude',
      upstream: { kind: 'anthropic', base_url: `${vendor.origin}/v1`, key_env: 'ANTHROPIC_DOUBLE_KEY' },
      price: PRICE,
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

const requestId = (answer: Response) => answer.headers.get('x-gateway-request-id') ?? ''

describe('a plain call', () => {
  test("costs its tokens at the model's prices, cached ones at theirs, and is explained line by line", async () => {
    const { key, balance } = await gateway.funded()
    vendor.answer = () => openAi.plain('Hi', { input: 100, output: 40, cached: 60 })
    const answer = await gateway.chat(key, { model: 'paid', max_tokens: 100 })
    expect(answer.status).toBe(200)
    // 40 x 2.5 + 60 x 1.25 + 40 x 10 = 575
    expect(answer.headers.get('x-cost-micros-usd')).toBe('575')
    expect(await balance()).toEqual({ paid: 10_000_000 - 575, held: 0 })
    const explained = await gateway.explained(key, requestId(answer))
    expect(explained).toMatchObject({
      operation: 'chat-completions',
      model: 'paid',
      input_tokens: 100,
      output_tokens: 40,
      cache_read_tokens: 60,
      usage_source: 'exact',
      cost_micros_usd: 575,
      charge: { charged_micros_usd: 575 },
      // 100 tokens of the answer and what the messages may have had.
      held_micros_usd: expect.any(Number),
    })
    expect(Reflect.get(Object(explained['charge']), 'arithmetic')).toBe(
      '40 input_tokens x 2.5 USD / 1000000 + 60 cache_read_tokens x 1.25 USD / 1000000 + 40 output_tokens x 10 USD / 1000000 = 0.000575 USD',
    )
    const usage = (await (await gateway.as(key, '/v1/usage')).json()) as { totals: object }
    expect(usage.totals).toMatchObject({
      requests: 1,
      input_tokens: 100,
      output_tokens: 40,
      cache_read_tokens: 60,
      charged_micros_usd: 575,
    })
  })

  test("is forwarded byte for byte except for the upstream's model name and a missing cap, with our key instead of the caller's", async () => {
    const { key } = await gateway.funded()
    vendor.received.length = 0
    await gateway.post(key, '/v1/chat/completions', '{ "model":"paid", "messages":[{"role":"user","content":"Ünï"}] }')
    const [received] = vendor.received
    expect(received?.text).toBe('{"max_tokens":4096, "model":"real", "messages":[{"role":"user","content":"Ünï"}] }')
    expect(received?.headers.get('authorization')).toBe(`Bearer ${VENDOR_KEYS.OPENAI_DOUBLE_KEY}`)
    expect(JSON.stringify([...(received?.headers ?? [])])).not.toContain(key.secret)
  })

  test('of Anthropic is charged the cached parts that its input leaves out; the key may come as x-api-key (spec 5.1)', async () => {
    const { key } = await gateway.funded()
    vendor.received.length = 0
    vendor.answer = () => anthropic.plain('Hi', { input: 100, output: 40, cached: 60 })
    const body = JSON.stringify({ model: 'claude', max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] })
    const headers = {
      'x-api-key': key.secret,
      'content-type': 'application/json',
      'anthropic-beta': 'effort-2025-11-24',
    }
    const answer = await gateway.call('/v1/messages', { method: 'POST', headers, body })
    expect(answer.headers.get('x-cost-micros-usd')).toBe('575')
    const [received] = vendor.received
    expect(received?.path).toBe('/v1/messages')
    expect(received?.headers.get('x-api-key')).toBe(VENDOR_KEYS.ANTHROPIC_DOUBLE_KEY)
    expect(received?.headers.get('anthropic-version')).toBe('2023-06-01')
    expect(received?.headers.get('anthropic-beta')).toBe('effort-2025-11-24')
    expect(received?.text).toBe(body)
    const inVersion = (version: string) =>
      gateway.call('/v1/messages', { method: 'POST', headers: { ...headers, 'anthropic-version': version }, body })
    expect((await inVersion('2026-10-21')).headers.get('x-cost-micros-usd')).toBe('575')
    expect(vendor.received[1]?.headers.get('anthropic-version')).toBe('2026-10-21')
    const unknown = await inVersion('2027-01-01')
    expect([unknown.status, await unknown.text()]).toEqual([400, expect.stringContaining('2023-06-01 or 2026-10-21')])
    expect(vendor.received).toHaveLength(2)
  })

  test('of Anthropic is charged what a cache keeps for an hour at twice the input, and held for it where it is asked', async () => {
    const { key } = await gateway.funded()
    const usage = {
      input_tokens: 100,
      output_tokens: 10,
      cache_creation_input_tokens: 1000,
      cache_read_input_tokens: 0,
      cache_creation: { ephemeral_5m_input_tokens: 400, ephemeral_1h_input_tokens: 600 },
    }
    const said = { id: 'msg_1', type: 'message', role: 'assistant', model: 'real', stop_reason: 'end_turn' }
    vendor.answer = () => Response.json({ ...said, content: [{ type: 'text', text: 'Hi' }], usage })
    const body = (ttl: string) => ({
      model: 'claude',
      max_tokens: 100,
      system: [{ type: 'text', text: 'x'.repeat(4000), cache_control: { type: 'ephemeral', ttl } }],
      messages: [{ role: 'user', content: 'Hi' }],
    })
    const answer = await gateway.post(key, '/v1/messages', body('1h'))
    // 100 x 2.5 + 400 x 3.125 + 600 x 5 + 10 x 10 = 4600
    expect(answer.headers.get('x-cost-micros-usd')).toBe('4600')
    const { charge } = await gateway.explained(key, requestId(answer))
    expect(String(Reflect.get(Object(charge), 'arithmetic'))).toContain('600 cache_write_1h_tokens x 5 USD / 1000000')
    const quoted = async (ttl: string) => {
      const quote = await gateway.post(key, '/v1/messages', body(ttl), { headers: { 'x-cost-mode': 'quote' } })
      return Number(Reflect.get(Object(Reflect.get(Object(await quote.json()), 'quote')), 'cost_micros_usd'))
    }
    // The same bytes, at 5 and at 3.125 USD a million.
    const [hour, minutes] = [await quoted('1h'), await quoted('5m')]
    expect((hour - 1000) / (minutes - 1000)).toBeCloseTo(5 / 3.125, 2)
  })

  test('of Gemini is charged its thinking as output; the key may come as x-goog-api-key', async () => {
    const { key } = await gateway.funded()
    vendor.received.length = 0
    const usage = { promptTokenCount: 41, candidatesTokenCount: 5, thoughtsTokenCount: 343, totalTokenCount: 389 }
    vendor.answer = () => Response.json(gemini.body('Hi', usage))
    const answer = await gateway.call('/v1beta/models/org/gem:generateContent', {
      method: 'POST',
      headers: { 'x-goog-api-key': key.secret, 'content-type': 'application/json' },
      body: '{"contents":[{"parts":[{"text":"Hello, this is a question of some length, so that its bytes are enough"}]}],"generationConfig":{"maxOutputTokens":400}}',
    })
    // 41 x 2.5 + 348 x 10 = 3582.5, rounded up
    expect(answer.headers.get('x-cost-micros-usd')).toBe('3583')
    expect(vendor.received[0]?.path).toBe('/v1beta/models/gem:generateContent')
    expect(vendor.received[0]?.headers.get('x-goog-api-key')).toBeNull()
  })

  test('without reported usage is estimated, and marked as estimated', async () => {
    const { key } = await gateway.funded()
    vendor.answer = () => openAi.plain('x'.repeat(400), null)
    const answer = await gateway.chat(key, { model: 'paid', max_tokens: 1000 })
    const explained = await gateway.explained(key, requestId(answer))
    expect(explained).toMatchObject({ usage_source: 'estimated', output_tokens: 100 })
    vendor.answer = () =>
      Response.json({
        ...JSON.parse('{"choices":[{"message":{"content":"xxxx"}}]}'),
        usage: { prompt_tokens: -5, completion_tokens: 1 },
      })
    const lie = await gateway.chat(key, { model: 'paid', max_tokens: 1000 })
    expect(await gateway.explained(key, requestId(lie))).toMatchObject({ usage_source: 'estimated', output_tokens: 1 })
  })

  test('that costs more than was held is charged the hold; the operator bears the rest and is alerted', async () => {
    const { key, balance } = await gateway.funded()
    vendor.answer = () => openAi.plain('Hi', { input: 100, output: 100_000 })
    const quote = await gateway.chat(key, { model: 'paid', max_tokens: 100 }, { headers: { 'x-cost-mode': 'quote' } })
    const { quote: most } = (await quote.json()) as { quote: { cost_micros_usd: number } }
    const answer = await gateway.chat(key, { model: 'paid', max_tokens: 100 })
    expect(answer.status).toBe(200)
    expect(Number(answer.headers.get('x-cost-micros-usd'))).toBe(most.cost_micros_usd)
    expect(await balance()).toEqual({ paid: 10_000_000 - most.cost_micros_usd, held: 0 })
    expect(
      gateway.logged.some(
        (line) => line.includes('the gateway bears the difference') && line.includes(requestId(answer)),
      ),
    ).toBe(true)
  })
})

describe('X-Cost-Mode and X-Max-Price-USD', () => {
  test('return or enforce the maximum price of a call without running it', async () => {
    const { key, balance } = await gateway.funded()
    vendor.received.length = 0
    const tooDear = await gateway.chat(
      key,
      { model: 'paid', max_tokens: 1000 },
      { headers: { 'x-max-price-usd': '0.01' } },
    )
    expect(tooDear.status).toBe(412)
    const quote = await gateway.chat(key, { model: 'paid', max_tokens: 1000 }, { headers: { 'x-cost-mode': 'quote' } })
    const { quote: told } = (await quote.json()) as { quote: { cost_micros_usd: number; price: { mode: string } } }
    expect(told.price.mode).toBe('most')
    expect(told.cost_micros_usd).toBeGreaterThanOrEqual(10_000)
    expect(vendor.received).toHaveLength(0)
    expect(await balance()).toEqual({ paid: 10_000_000, held: 0 })
  })
})

describe('access to models', () => {
  const code = async (answer: Response) =>
    `${answer.status} ${((await answer.json()) as { error: { code: string } }).error.code}`

  test("402 recharge_required before the first top-up, unless the model's flag is false (spec 2.2)", async () => {
    vendor.answer = () => openAi.plain('Hi', { input: 10, output: 4 })
    const key = await gateway.key(await gateway.account())
    expect(await code(await gateway.chat(key, { model: 'paid', max_tokens: 10 }))).toBe('402 recharge_required')
    const open = await gateway.chat(key, { model: 'open', max_tokens: 10 })
    expect(open.status).toBe(200)
    expect(open.headers.get('x-cost-micros-usd')).toBe('65')
  })

  test('402 recharge_required depends on a first top-up: a grant does not count, a spent top-up does', async () => {
    const granted = await gateway.key(await gateway.account(100))
    expect(await code(await gateway.chat(granted, { model: 'paid', max_tokens: 10 }))).toBe('402 recharge_required')
    const { account, key, balance } = await gateway.funded(10)
    const { ledger } = gateway.core
    const all = micros(10_000_000)
    const record = call(account.id, all, { at: gateway.clock.now() })
    const { at } = record
    await ledger.hold({ request: record.id, account: account.id, pool: null, amount: all, creditPays: false, at })
    expect((await ledger.capture(all, record)).ok).toBe(true)
    expect(await balance()).toEqual({ paid: 0, held: 0 })
    expect(await code(await gateway.chat(key, { model: 'paid', max_tokens: 10 }))).toBe('402 insufficient_balance')
  })

  test("402 insufficient_api_key_balance when the key's limit cannot cover the maximum cost, insufficient_balance when the account cannot", async () => {
    const limited = await gateway.funded(10, { spending_limit: 0.001 })
    expect(await code(await gateway.chat(limited.key, { model: 'paid', max_tokens: 1000 }))).toBe(
      '402 insufficient_api_key_balance',
    )
    const poor = await gateway.funded(0.001)
    expect(await code(await gateway.chat(poor.key, { model: 'paid', max_tokens: 1000 }))).toBe(
      '402 insufficient_balance',
    )
  })

  test('403 model_not_allowed, 404 unknown_model, 400 model_route_not_supported', async () => {
    const { key } = await gateway.funded(10, { allowed_models: ['open'] })
    expect(await code(await gateway.chat(key, { model: 'paid' }))).toBe('403 model_not_allowed')
    const { key: other } = await gateway.funded()
    expect(await code(await gateway.chat(other, { model: 'nobody' }))).toBe('404 unknown_model')
    expect(await code(await gateway.chat(other, { model: 'claude' }))).toBe('400 model_route_not_supported')
    const wrong = await gateway.post(other, '/v1/messages', {
      model: 'paid',
      max_tokens: 5,
      messages: [{ role: 'user', content: 'x' }],
    })
    expect(wrong.status).toBe(400)
    expect(await wrong.json()).toMatchObject({ type: 'error', error: { code: 'model_route_not_supported' } })
    const google = await gateway.post(other, '/v1beta/models/paid:generateContent', {
      contents: [{ parts: [{ text: 'x' }] }],
    })
    expect(await google.json()).toMatchObject({
      error: { code: 400, status: 'INVALID_ARGUMENT', details: [{ reason: 'model_route_not_supported' }] },
    })
  })

  test('401 without a key, in the shape of each SDK', async () => {
    const init = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }
    expect(await code(await gateway.call('/v1/chat/completions', init))).toBe('401 missing_api_key')
    expect(await (await gateway.call('/v1/messages', init)).json()).toMatchObject({
      type: 'error',
      error: { type: 'authentication_error' },
    })
    expect(await (await gateway.call('/v1beta/models/x:generateContent', init)).json()).toMatchObject({
      error: { code: 401, status: 'UNAUTHENTICATED' },
    })
  })
})

describe('a streamed call', () => {
  test('hides the usage that only the gateway requested, and is charged before its end is sent', async () => {
    const { key, balance } = await gateway.funded()
    vendor.received.length = 0
    vendor.answer = () => eventStream(openAi.words(['Hel', 'lo'], { input: 100, output: 40, cached: 60 }))
    const answer = await gateway.chat(key, { model: 'paid', max_tokens: 100, stream: true })
    expect(answer.headers.get('content-type')).toBe('text/event-stream')
    expect(answer.headers.get('x-ratelimit-remaining-requests')).toBeTruthy()
    expect(vendor.received[0]?.body['stream_options']).toEqual({ include_usage: true })
    const text = await answer.text()
    expect(text).not.toContain('usage')
    expect(text).toEndWith('data: [DONE]\n\n')
    expect(await balance()).toEqual({ paid: 10_000_000 - 575, held: 0 })
    expect(await gateway.explained(key, requestId(answer))).toMatchObject({
      usage_source: 'exact',
      cost_micros_usd: 575,
      code: null,
    })
  })

  test('shows the usage to a caller who requested it', async () => {
    const { key } = await gateway.funded()
    vendor.answer = () => eventStream(openAi.words(['Hel', 'lo'], { input: 100, output: 40 }))
    const answer = await gateway.chat(key, {
      model: 'paid',
      max_tokens: 100,
      stream: true,
      stream_options: { include_usage: true },
    })
    expect(await answer.text()).toContain('"prompt_tokens":100')
  })

  test('of Anthropic and of Gemini is charged what their last event says', async () => {
    const { key, balance } = await gateway.funded()
    vendor.answer = () => eventStream(anthropic.words(['Hel', 'lo'], { input: 100, output: 40, cached: 60 }))
    const claude = await gateway.post(key, '/v1/messages', {
      model: 'claude',
      max_tokens: 100,
      stream: true,
      messages: [{ role: 'user', content: 'Hi' }],
    })
    expect(await claude.text()).toEndWith('data: {"type":"message_stop"}\n\n')
    expect(await balance()).toEqual({ paid: 10_000_000 - 575, held: 0 })
    vendor.answer = () =>
      eventStream(
        gemini.events(['Hel', 'lo'], { promptTokenCount: 100, candidatesTokenCount: 40, cachedContentTokenCount: 60 }),
      )
    const google = await gateway.post(key, '/v1beta/models/org/gem:streamGenerateContent?alt=sse', {
      contents: [{ parts: [{ text: 'Hi' }] }],
    })
    expect(await google.text()).toContain('"finishReason":"STOP"')
    expect(await balance()).toEqual({ paid: 10_000_000 - 2 * 575, held: 0 })
  })
})

describe('bodies', () => {
  test('are accepted up to 32 MiB, and refused above with 413', async () => {
    const { key } = await gateway.funded(1000)
    vendor.answer = () => openAi.plain('Hi', { input: 10, output: 4 })
    const image = (length: number) => ({
      model: 'paid',
      max_tokens: 10,
      messages: [
        {
          role: 'user',
          content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(length)}` } }],
        },
      ],
    })
    expect((await gateway.chat(key, image(20_000_000))).status).toBe(200)
    const tooLarge = await gateway.chat(key, image(34_000_000))
    expect(tooLarge.status).toBe(413)
  })
})
