import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type ModelGateway, openModelGateway } from '../../support/model-gateway'
import { reconcile } from '../../support/reconcile'
import { anthropic, eventStream, gemini, openAi, openVendor, type VendorDouble } from '../../support/vendor-double'

/** As vendors bill: the whole call more from 1,000 tokens of input on, twice as much at the priority tier, half at flex. */
const RULES = [
  { tier: 'priority', input: 5, output: 20 },
  { tier: 'flex', input: 1.25, output: 5 },
  { above: 1000, input: 4, output: 15 },
  { input: 2.5, output: 10, cache_write: 3.125 },
]
const SOUND = { input: 2.5, output: 10, input_audio: 40, output_audio: 80 }

let vendor: VendorDouble
let gateway: ModelGateway
beforeAll(async () => {
  vendor = openVendor(() => openAi.plain('Hi', { input: 10, output: 4 }))
  const chat = { kind: 'openai', base_url: `${vendor.origin}/v1` } as const
  const claude = { kind: 'anthropic', base_url: `${vendor.origin}/v1`, key_env: 'ANTHROPIC_DOUBLE_KEY' } as const
  const write = { cache_write: 3.75 }
  gateway = await openModelGateway([
    { id: 'ruled', upstream: chat, price: RULES, purchase_price: RULES },
    { id: 'plain', upstream: chat, price: { input: 2.5, output: 10 } },
    { id: 'sound', upstream: chat, price: SOUND, context_tokens: 1000 },
    { id: 'fee', upstream: chat, price: { input: 0, output: 0, request: 0.005 } },
    {
      id: 'search',
      upstream: { ...chat, responses: true },
      price: { input: 2.5, output: 10, tools: { web_search: { usd: 0.01, input_tokens: 2000 } } },
    },
    { id: 'gem', upstream: { kind: 'gemini', base_url: `${vendor.origin}/v1beta` }, price: RULES },
    {
      id: 'gem-twice',
      upstreams: ['a', 'b'].map((model) => ({ kind: 'gemini', base_url: `${vendor.origin}/v1beta`, model }) as const),
      price: RULES,
    },
    {
      id: 'claude-priority',
      upstream: claude,
      price: [
        { tier: 'priority', input: 30, output: 150, ...write },
        { input: 3, output: 15, ...write },
      ],
    },
    {
      id: 'painter',
      upstream: { kind: 'gemini', base_url: `${vendor.origin}/v1beta` },
      price: { input: 0.3, output: 2.5, output_image: 30 },
    },
    {
      id: 'claude',
      upstream: claude,
      price: [
        { tier: 'fast', input: 6, output: 30, ...write, tools: { web_search: 0.01 } },
        { input: 3, output: 15, ...write, tools: { web_search: 0.01 } },
      ],
      context_tokens: 10_000,
      betas: ['fast-mode-2026-02-01'],
    },
  ])
})
afterAll(async () => {
  await gateway.close(true)
  vendor.close()
  expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
})

const hello = { max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] }
const tiered = (tier: string | null, usage: { input: number; output: number }) => () =>
  Response.json({
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'real',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
    usage: openAi.usage(usage),
    ...(tier !== null && { service_tier: tier }),
  })
const costOf = (answer: Response) => Number(answer.headers.get('x-cost-micros-usd'))
async function quoteOf(key: Parameters<ModelGateway['chat']>[0], path: string, body: object): Promise<number> {
  const answer = await gateway.post(key, path, body, { headers: { 'x-cost-mode': 'quote' } })
  return Number(Object(Object(await answer.json()).quote).cost_micros_usd)
}
async function refusal(answer: Response): Promise<readonly unknown[]> {
  const { code, param } = Object(Object(await answer.json()).error)
  return [answer.status, code, param]
}

describe('a price with rules', () => {
  test('charges the whole call more above a size of its input, and says so in the charge', async () => {
    const { key, balance } = await gateway.funded()
    const long = { ...hello, model: 'ruled', messages: [{ role: 'user', content: 'x'.repeat(3000) }] }
    vendor.answer = tiered(null, { input: 1000, output: 10 })
    const below = await gateway.chat(key, long)
    // 1000 x 2.5 + 10 x 10
    expect(costOf(below)).toBe(2600)
    vendor.answer = tiered(null, { input: 1001, output: 10 })
    const above = await gateway.chat(key, long)
    // 1001 x 4 + 10 x 15
    expect(costOf(above)).toBe(4154)
    const explained = await gateway.explained(key, above.headers.get('x-gateway-request-id') ?? '')
    expect(String(Object(explained['charge']).arithmetic)).toContain('1001 input_tokens above 1000 x 4 USD')
    expect(await balance()).toEqual({ paid: 10_000_000 - 2600 - 4154, held: 0 })
    // A short call cannot reach the higher price: 100 x 10 for the output, and at most 3.125 for each byte and 64 more tokens.
    expect(await quoteOf(key, '/v1/chat/completions', { ...hello, model: 'ruled' })).toBeLessThan(1000 + 3.125 * 200)
    expect(await quoteOf(key, '/v1/chat/completions', long)).toBeGreaterThan(1500 + 4 * 3000)
  })

  test('charges the tier that the answer names, in streams too, and holds the dearest that was asked for', async () => {
    const { key } = await gateway.funded()
    const body = { ...hello, model: 'ruled' }
    const charges: number[] = []
    for (const [asked, named] of [
      ['priority', 'priority'],
      ['priority', 'default'],
      ['priority', null],
      ['flex', 'flex'],
      // A server that knows no tiers charges the usual price.
      ['flex', null],
    ] as const) {
      vendor.answer = tiered(named, { input: 100, output: 10 })
      charges.push(costOf(await gateway.chat(key, { ...body, service_tier: asked })))
    }
    expect(charges).toEqual([700, 350, 700, 175, 350])
    const events = openAi.words(['Hi'], { input: 100, output: 10 })
    const named = (text: string) => text.replace('"object"', '"service_tier":"priority","object"')
    vendor.answer = () => eventStream(events.map(named))
    const stream = await gateway.chat(key, { ...body, service_tier: 'priority', stream: true })
    await stream.text()
    expect(await gateway.explained(key, stream.headers.get('x-gateway-request-id') ?? '')).toMatchObject({
      cost_micros_usd: 700,
      usage_source: 'exact',
    })
    const [usual, priority] = [
      await quoteOf(key, '/v1/chat/completions', body),
      await quoteOf(key, '/v1/chat/completions', { ...body, service_tier: 'priority' }),
    ]
    expect(priority).toBeGreaterThan(1.5 * usual)
  })

  test('charges the tier that Google names in a header', async () => {
    const { key } = await gateway.funded()
    const body = {
      contents: [{ parts: [{ text: 'Hello' }] }],
      generationConfig: { maxOutputTokens: 100 },
      serviceTier: 'priority',
    }
    const charges: number[] = []
    for (const served of ['priority', 'standard']) {
      vendor.answer = () =>
        Response.json(gemini.body('Hi', { promptTokenCount: 100, candidatesTokenCount: 10 }), {
          headers: { 'x-gemini-service-tier': served },
        })
      charges.push(costOf(await gateway.post(key, '/v1beta/models/gem:generateContent', body)))
    }
    expect(charges).toEqual([700, 350])
    // That of an answer which could not be read says nothing about the next one.
    const broken = Response.json({}, { headers: { 'x-gemini-service-tier': 'flex' } })
    const answers = [broken, Response.json(gemini.body('Hi', { promptTokenCount: 100, candidatesTokenCount: 10 }))]
    vendor.answer = () => answers.shift() ?? openAi.error(500, {})
    const usual = { ...body, serviceTier: undefined }
    expect(costOf(await gateway.post(key, '/v1beta/models/gem-twice:generateContent', usual))).toBe(350)
  })

  test("holds for Anthropic's priority tier, which serves calls that ask for none, unless the call rules it out", async () => {
    const { key, balance } = await gateway.funded()
    const body = { ...hello, model: 'claude-priority' }
    const usage = { input_tokens: 50, output_tokens: 100, service_tier: 'priority' }
    vendor.answer = () => Response.json({ type: 'message', content: [], stop_reason: 'end_turn', usage })
    // 50 x 30 + 100 x 150
    expect(costOf(await gateway.post(key, '/v1/messages', body))).toBe(16_500)
    expect(await balance()).toEqual({ paid: 10_000_000 - 16_500, held: 0 })
    const usual = await quoteOf(key, '/v1/messages', { ...body, service_tier: 'standard_only' })
    expect(usual).toBeLessThan(3000)
    expect(await quoteOf(key, '/v1/messages', body)).toBeGreaterThan(5 * usual)
  })

  test('is reported in the log if an answer names a tier without a price, which the operator pays', async () => {
    const { key } = await gateway.funded()
    vendor.answer = tiered('priority', { input: 10, output: 4 })
    expect(costOf(await gateway.chat(key, { ...hello, model: 'plain' }))).toBe(65)
    expect(gateway.logged.some((line) => line.includes('plain') && line.includes('served at the tier priority'))).toBe(
      true,
    )
  })

  test('asks for the usual tier where the caller leaves it to the settings of a project; a simple price sends nothing', async () => {
    const { key } = await gateway.funded()
    vendor.answer = tiered('default', { input: 10, output: 4 })
    const sent = async (model: string, more: object) => {
      expect((await gateway.chat(key, { ...hello, model, ...more })).status).toBe(200)
      return vendor.received.at(-1)?.body['service_tier']
    }
    expect(await sent('ruled', {})).toBe('default')
    expect(await sent('ruled', { service_tier: 'auto' })).toBe('default')
    expect(await sent('ruled', { service_tier: 'flex' })).toBe('flex')
    expect(await sent('plain', {})).toBeUndefined()
    // A Responses call reaches this upstream as a chat completion.
    for (const [asked, tier] of [
      [undefined, 'default'],
      ['priority', 'priority'],
    ] as const) {
      await gateway.post(key, '/v1/responses', {
        model: 'ruled',
        input: 'Hello',
        max_output_tokens: 10,
        service_tier: asked,
      })
      expect(vendor.received.at(-1)?.body['service_tier']).toBe(tier)
    }
  })

  test('is listed with all its rules, and the members of the usual one beside them', async () => {
    const { key } = await gateway.funded()
    const { data } = Object(await (await gateway.as(key, '/v1/models')).json())
    const priced = Object.fromEntries(data.map((model: { id: string; pricing: object }) => [model.id, model.pricing]))
    expect(priced['ruled']).toMatchObject({
      input: 2.5,
      output: 10,
      rules: [{ tier: 'priority', input: 5 }, { tier: 'flex' }, { above: 1000, input: 4 }, { input: 2.5 }],
    })
    expect(priced['ruled'].above).toBeUndefined()
    expect(priced['plain'].rules).toBeUndefined()
    // Never below what vendors charge for writing to a cache.
    expect(priced['plain']).toMatchObject({
      cache_read: 2.5,
      cache_write: 3.125,
      cache_write_1h: 5,
      cache_write_12h: 5,
    })
    expect(priced['fee']).toMatchObject({ request: 0.005 })
    expect(priced['claude']).toMatchObject({ input: 3, tools: { web_search: 0.01 } })
  })
})

describe('a member that costs money', () => {
  test('without a price is refused with its name, and nothing reaches the vendor', async () => {
    const { key, balance } = await gateway.funded()
    vendor.received.length = 0
    const cached = [
      { role: 'user', content: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '2h' } }] },
    ]
    for (const [path, body, param] of [
      ['/v1/chat/completions', { ...hello, model: 'ruled', service_tier: 'ultrafast' }, 'service_tier.ultrafast'],
      ['/v1/chat/completions', { ...hello, model: 'plain', service_tier: 'priority' }, 'service_tier.priority'],
      ['/v1/chat/completions', { ...hello, model: 'plain', prompt_cache_retention: '7d' }, 'prompt_cache_retention.7d'],
      ['/v1/chat/completions', { ...hello, model: 'plain', messages: cached }, 'cache_control.ttl.2h'],
      ['/v1/chat/completions', { ...hello, model: 'plain', modalities: ['text', 'audio'] }, 'modalities.audio'],
      ['/v1/messages', { ...hello, model: 'claude', messages: cached }, 'cache_control.ttl.2h'],
      [
        '/v1/messages',
        { ...hello, model: 'claude', tools: [{ type: 'web_fetch_20250910', max_uses: 1 }] },
        'tools.web_fetch_20250910',
      ],
      ['/v1/responses', { model: 'search', input: 'x', tools: [{ type: 'file_search' }] }, 'tools.file_search'],
    ] as const)
      expect(await refusal(await gateway.post(key, path, body))).toEqual([422, 'unsupported_parameter', param])
    expect(vendor.received).toEqual([])
    expect(await balance()).toEqual({ paid: 10_000_000, held: 0 })
  })

  test('is held and charged by the lifetime that was asked for, where the usage does not split what was written', async () => {
    const { key } = await gateway.funded()
    const usage = {
      ...openAi.usage({ input: 100, output: 0 }),
      prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 100 },
    }
    vendor.answer = () =>
      Response.json({ choices: [{ index: 0, message: { content: '' }, finish_reason: 'stop' }], usage })
    const body = { ...hello, model: 'plain' }
    // 1.25 times the input for minutes, twice for longer.
    expect(costOf(await gateway.chat(key, body))).toBe(313)
    expect(costOf(await gateway.chat(key, { ...body, prompt_cache_retention: '24h' }))).toBe(500)
    const cached = [
      { role: 'user', content: [{ type: 'text', text: 'Hello', cache_control: { type: 'ephemeral', ttl: '1h' } }] },
    ]
    const hour = await gateway.chat(key, { ...body, messages: cached })
    expect(costOf(hour)).toBe(500)
    const explained = await gateway.explained(key, hour.headers.get('x-gateway-request-id') ?? '')
    expect(String(Object(explained['charge']).arithmetic)).toContain('100 cache_write_1h_tokens')
  })

  test('sound is charged at its own price in both directions, and held for the whole context', async () => {
    const { key } = await gateway.funded()
    const spoken = {
      ...hello,
      model: 'sound',
      modalities: ['text', 'audio'],
      audio: { voice: 'alloy', format: 'wav' },
      messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }] }],
    }
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 50,
      prompt_tokens_details: { audio_tokens: 80 },
      completion_tokens_details: { audio_tokens: 40 },
    }
    vendor.answer = () =>
      Response.json({ choices: [{ index: 0, message: { content: 'Hi' }, finish_reason: 'stop' }], usage })
    // 20 x 2.5 + 80 x 40 + 10 x 10 + 40 x 80
    expect(costOf(await gateway.chat(key, spoken))).toBe(6550)
    expect(await quoteOf(key, '/v1/chat/completions', spoken)).toBe(1000 * 40 + 100 * 80)
  })
})

describe("a picture that a model writes unasked, as Google's do by default", () => {
  test('is held for, and charged in full', async () => {
    const { key, balance } = await gateway.funded()
    const body = { contents: [{ parts: [{ text: 'An otter' }] }], generationConfig: { maxOutputTokens: 1300 } }
    const path = '/v1beta/models/painter:generateContent'
    const details = { candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1290 }] }
    vendor.answer = () =>
      Response.json(gemini.body('', { promptTokenCount: 10, candidatesTokenCount: 1300, ...details }))
    expect(await quoteOf(key, path, body)).toBeGreaterThan(1300 * 30)
    // 10 x 0.3 + 10 x 2.5 + 1290 x 30
    expect(costOf(await gateway.post(key, path, body))).toBe(38_728)
    expect(await balance()).toEqual({ paid: 10_000_000 - 38_728, held: 0 })
  })
})

describe('fees', () => {
  test('of each request are held and charged, and not when it fails', async () => {
    const { key, balance } = await gateway.funded()
    vendor.answer = () => openAi.error(500, {})
    expect((await gateway.chat(key, { ...hello, model: 'fee' })).status).toBe(502)
    expect(await balance()).toEqual({ paid: 10_000_000, held: 0 })
    vendor.answer = () => openAi.plain('Hi', { input: 10, output: 4 })
    expect(await quoteOf(key, '/v1/chat/completions', { ...hello, model: 'fee' })).toBe(5000)
    expect(costOf(await gateway.chat(key, { ...hello, model: 'fee' }))).toBe(5000)
  })

  test("of Anthropic's tools are held for max_uses, which must be set, and charged for each use; fast mode is a tier", async () => {
    const { key } = await gateway.funded()
    const tools = [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }]
    const body = { ...hello, model: 'claude', tools }
    const open = { ...body, tools: [{ type: 'web_search_20250305', name: 'web_search' }] }
    expect(await refusal(await gateway.post(key, '/v1/messages', open))).toEqual([
      400,
      'missing_parameter',
      'tools.web_search.max_uses',
    ])
    const many = { ...body, tools: [{ ...tools[0], max_uses: 100_000_000 }] }
    expect((await gateway.post(key, '/v1/messages', many)).status).toBe(400)
    const odd = {
      ...body,
      tools: [
        { type: 'constructor', max_uses: 1 },
        { type: '__proto__', max_uses: 1 },
      ],
    }
    expect((await gateway.post(key, '/v1/messages', odd)).status).toBe(422)
    const dated = Array.from({ length: 201 }, (_, i) => ({ type: `web_search_${20_250_000 + i}`, max_uses: 1 }))
    expect(await refusal(await gateway.post(key, '/v1/messages', { ...body, tools: dated }))).toEqual([
      400,
      'invalid_request',
      undefined,
    ])
    // Four readings of at most the context at 6 (an hour's cache is not asked for), the output, three searches.
    expect(await quoteOf(key, '/v1/messages', body)).toBe(4 * 10_000 * 3.75 + 100 * 15 + 30_000)
    const usage = {
      input_tokens: 1000,
      output_tokens: 10,
      server_tool_use: { web_search_requests: 2 },
      service_tier: 'standard',
    }
    const said = { type: 'message', content: [{ type: 'text', text: 'Hi' }], stop_reason: 'end_turn' }
    vendor.answer = () => Response.json({ ...said, usage })
    expect(costOf(await gateway.post(key, '/v1/messages', body))).toBe(1000 * 3 + 10 * 15 + 20_000)
    vendor.answer = () => eventStream(anthropic.words(['Hi'], { input: 100, output: 10 }))
    const fast = { ...hello, model: 'claude', speed: 'fast' }
    vendor.answer = () => Response.json({ ...said, usage: { input_tokens: 100, output_tokens: 10, speed: 'fast' } })
    expect(costOf(await gateway.post(key, '/v1/messages', fast))).toBe(100 * 6 + 10 * 30)
    const charges: number[] = []
    for (const named of [{ speed: 'standard', service_tier: 'standard' }, { service_tier: 'standard' }, {}]) {
      vendor.answer = () => Response.json({ ...said, usage: { input_tokens: 100, output_tokens: 10, ...named } })
      charges.push(costOf(await gateway.post(key, '/v1/messages', fast)))
    }
    // An answer without a speed may have been fast.
    expect(charges).toEqual([450, 900, 900])
  })

  test("of OpenAI's search are held for max_tool_calls, which the gateway limits, and charged for each search", async () => {
    const { key } = await gateway.funded()
    const body = { model: 'search', input: 'Hello', max_output_tokens: 100, tools: [{ type: 'web_search' }] }
    const call = (type: string) => ({ type: 'web_search_call', id: type, status: 'completed', action: { type } })
    const text = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] }
    const response = {
      object: 'response',
      status: 'completed',
      output: [call('search'), call('open_page'), call('search'), text],
      usage: { input_tokens: 1000, output_tokens: 10 },
    }
    vendor.answer = () => Response.json(response)
    expect(costOf(await gateway.post(key, '/v1/responses', body))).toBe(1000 * 2.5 + 10 * 10 + 20_000)
    expect(vendor.received.at(-1)?.body['max_tool_calls']).toBe(8)
    expect(costOf(await gateway.post(key, '/v1/responses', { ...body, max_tool_calls: 2 }))).toBe(22_600)
    expect(vendor.received.at(-1)?.body['max_tool_calls']).toBe(2)
    const [eight, two] = [
      await quoteOf(key, '/v1/responses', body),
      await quoteOf(key, '/v1/responses', { ...body, max_tool_calls: 2 }),
    ]
    // It reads the body, 64 tokens, 1,024 for having tools and for one of the vendor's, and what is found: before each use, and at the end.
    const held = (uses: number, more: object) => {
      const once = JSON.stringify({ ...body, ...more }).length + 64 + 2 * 1024
      return Math.ceil((uses + 1) * (once + uses * 2000) * 3.125) + 100 * 10 + uses * 10_000
    }
    expect([eight, two]).toEqual([held(8, {}), held(2, { max_tool_calls: 2 })])
    const streamed = `event: response.completed\ndata: ${JSON.stringify({ type: 'response.completed', sequence_number: 1, response })}\n\n`
    vendor.answer = () => eventStream([streamed])
    const stream = await gateway.post(key, '/v1/responses', { ...body, stream: true })
    await stream.text()
    expect(await gateway.explained(key, stream.headers.get('x-gateway-request-id') ?? '')).toMatchObject({
      cost_micros_usd: 22_600,
    })
  })
})
