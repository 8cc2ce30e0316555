import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { MadeKey } from '../../support/harness'
import { type ModelGateway, openModelGateway, PRICE, VENDOR_KEYS } from '../../support/model-gateway'
import { reconcile } from '../../support/reconcile'
import { until } from '../../support/until'
import { eventStream, openAi, openVendor, type Received, type VendorDouble } from '../../support/vendor-double'

/** The same models by an upstream that speaks Responses, one that speaks chat completions only, and both in this order. */
let vendor: VendorDouble
let gateway: ModelGateway
beforeAll(async () => {
  vendor = openVendor(answer)
  const chat = { kind: 'openai' as const, base_url: `${vendor.origin}/v1`, model: 'real' }
  const native = { ...chat, base_url: `${vendor.origin}/native/v1`, key_env: 'OPENAI_DOUBLE_KEY', responses: true }
  gateway = await openModelGateway([
    { id: 'chat', upstream: chat, price: PRICE },
    { id: 'native', upstream: native, price: PRICE },
    { id: 'both', upstreams: [native, chat], price: PRICE },
    { id: 'claude', upstream: { kind: 'anthropic', base_url: `${vendor.origin}/v1` }, price: PRICE },
  ])
})
beforeEach(() => {
  vendor.received.length = 0
  vendor.answer = answer
})
afterAll(async () => {
  await gateway.close(true)
  vendor.close()
  expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
})

/** 40 x 2.5 + 60 x 1.25 + 40 x 10 micro-USD. */
const COUNTS = { input: 100, output: 40, cached: 60 }
const COST = 575
const USAGE = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 60, cache_write_tokens: 0 },
  output_tokens: 40,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 140,
}
const RESPONSE = {
  id: 'resp_vendor',
  object: 'response',
  status: 'completed',
  store: false,
  output: [{ type: 'message', content: [{ type: 'output_text', text: 'Hi' }] }],
  usage: USAGE,
}
const event = (type: string, more: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
const DELTA = event('response.output_text.delta', { sequence_number: 1, delta: 'x'.repeat(400) })
const NATIVE_EVENTS = [
  event('response.created', { sequence_number: 0, response: { ...RESPONSE, status: 'in_progress', usage: null } }),
  DELTA,
  event('response.completed', { sequence_number: 2, response: RESPONSE }),
]
const CHAT_EVENTS = openAi.words(['x'.repeat(400)], COUNTS)

/** The answer of each of the two servers to a plain or a streamed call. */
function answer({ path, body }: Pick<Received, 'path' | 'body'>): Response {
  const isNative = path.startsWith('/native')
  if (body['stream'] === true) return eventStream(isNative ? NATIVE_EVENTS : CHAT_EVENTS)
  return isNative ? Response.json(RESPONSE) : openAi.plain('Hi', COUNTS)
}

const respond = (key: MadeKey, model: string, more: object = {}, init: RequestInit = {}) =>
  gateway.post(key, '/v1/responses', { model, input: 'Hello', max_output_tokens: 100, ...more }, init)
const requestId = (answered: Response) => answered.headers.get('x-gateway-request-id') ?? ''
const errorOf = async (answered: Response) => ((await answered.json()) as { error: object }).error
const MODELS = ['native', 'chat'] as const

describe.each(MODELS)('POST /v1/responses of the model %p (spec 4.6)', (model) => {
  test.each([false, true])('with stream %p costs what chat would, is explained, and stores nothing', async (stream) => {
    const { key, balance } = await gateway.funded()
    const answered = await respond(key, model, { stream, store: true })
    expect(answered.status).toBe(200)
    const text = await answered.text()
    expect(text).toContain('"store":false')
    expect(text).toContain('"total_tokens":140')
    if (!stream) expect(answered.headers.get('x-cost-micros-usd')).toBe(String(COST))
    await until(async () => (await balance()).held === 0)
    expect(await balance()).toEqual({ paid: 10_000_000 - COST, held: 0 })
    expect(await gateway.explained(key, requestId(answered))).toMatchObject({
      operation: 'responses',
      model,
      usage_source: 'exact',
      cost_micros_usd: COST,
      input_tokens: 100,
      output_tokens: 40,
      cache_read_tokens: 60,
    })
  })

  test('ten streamed turns with tools, as Codex takes them, keep each call, and each is charged exactly', async () => {
    const { key, balance } = await gateway.funded()
    const tool = (name: string) => ({ type: 'function', name, strict: false, parameters: { type: 'object' } })
    const turn = {
      stream: true,
      store: false,
      parallel_tool_calls: true,
      tool_choice: 'auto',
      prompt_cache_key: 'k',
      include: ['reasoning.encrypted_content'],
      reasoning: { summary: 'auto' },
      client_metadata: { turn: '1' },
      tools: [
        tool('exec_command'),
        { type: 'namespace', name: 'mcp__files', description: 'Files', tools: [tool('read'), tool('list')] },
        { type: 'web_search', external_web_access: false },
      ],
    }
    const called = { namespace: 'mcp__files', name: 'read', arguments: '{"path":"a"}' }
    vendor.answer = ({ path, body }) => {
      const id = `c${Array(body[path.startsWith('/native') ? 'input' : 'messages']).flat().length}`
      if (path.startsWith('/native')) {
        const item = { type: 'function_call', id: `fc_${id}`, call_id: id, ...called, status: 'completed' }
        const [created = ''] = NATIVE_EVENTS
        const done = event('response.output_item.done', { sequence_number: 1, output_index: 0, item })
        const response = { ...RESPONSE, output: [item] }
        return eventStream([created, done, event('response.completed', { sequence_number: 2, response })])
      }
      const made = {
        index: 0,
        id,
        type: 'function',
        function: { name: 'mcp__files__read', arguments: called.arguments },
      }
      const delta = { choices: [{ index: 0, delta: { tool_calls: [made] }, finish_reason: 'tool_calls' }] }
      return eventStream([`data: ${JSON.stringify(delta)}\n\n`, openAi.total(COUNTS), openAi.done])
    }
    const input: object[] = [{ role: 'user', content: 'Read ten files' }]
    for (let at = 0; at < 10; at++) {
      const text = await (await respond(key, model, { ...turn, input })).text()
      const events = text.split('\n\n').flatMap((one) => (one === '' ? [] : JSON.parse(one.split('\ndata: ')[1] ?? '')))
      const { item } = events.find(({ type }) => type === 'response.output_item.done')
      expect(item).toMatchObject({ type: 'function_call', ...called })
      input.push(item, { type: 'function_call_output', call_id: item.call_id, output: `file ${at}` })
    }
    expect(vendor.received).toHaveLength(10)
    const body = vendor.received.at(-1)?.body
    expect(JSON.stringify(body)).not.toContain('web_search')
    if (model === 'native')
      expect(body).toMatchObject({ input: input.slice(0, -2), client_metadata: turn.client_metadata })
    else expect(body?.['tools']).toMatchObject([{}, { function: { name: 'mcp__files__read' } }, {}])
    await until(async () => (await balance()).held === 0)
    expect((await balance()).paid).toBe(10_000_000 - 10 * COST)
  })

  test('a stream that breaks off or fails is not charged, and says so in its last event', async () => {
    const { key, balance } = await gateway.funded()
    vendor.answer = ({ path }) =>
      eventStream(path.startsWith('/native') ? NATIVE_EVENTS.slice(0, -1) : CHAT_EVENTS.slice(0, -2))
    const cut = await (await respond(key, model, { stream: true })).text()
    const last = cut.trim().split('\n\n').at(-1) ?? ''
    expect(last).toStartWith('event: error\n')
    const numbers = [...cut.matchAll(/"sequence_number":(\d+)/g)].map(([, number]) => Number(number))
    expect(numbers).toEqual(numbers.map((_, at) => at))
    const failure =
      model === 'native'
        ? event('response.failed', { sequence_number: 2, response: { ...RESPONSE, status: 'failed' } })
        : 'data: {"error":{"message":"too hot"}}\n\n'
    vendor.answer = ({ path }) => eventStream([path.startsWith('/native') ? DELTA : (CHAT_EVENTS[1] ?? ''), failure])
    expect(await (await respond(key, model, { stream: true })).text()).toContain('event: response.failed')
    await until(async () => (await balance()).held === 0)
    expect((await balance()).paid).toBe(10_000_000)
  })

  test('a stream without usage is charged by estimate, and a plain answer that is no response is not charged', async () => {
    const { key, balance } = await gateway.funded()
    const { usage: _, ...silent } = RESPONSE
    vendor.answer = ({ path }) => (path.startsWith('/native') ? Response.json(silent) : openAi.plain('Hi', null))
    const estimated = await respond(key, model)
    expect(await gateway.explained(key, requestId(estimated))).toMatchObject({ usage_source: 'estimated' })
    const paid = (await balance()).paid
    expect(paid).toBeLessThan(10_000_000)
    vendor.answer = ({ path }) =>
      Response.json(path.startsWith('/native') ? { ...RESPONSE, status: 'failed' } : { object: 'chat.completion' })
    const none = await respond(key, model)
    expect([none.status, await errorOf(none)]).toMatchObject([502, { code: 'upstream_error' }])
    expect(await balance()).toEqual({ paid, held: 0 })
  })
})

test('an upstream that speaks Responses gets the call itself; another one a chat completion, with our key for it', async () => {
  const { key } = await gateway.funded()
  for (const model of MODELS) await respond(key, model)
  expect(vendor.received.map(({ path, text }) => [path, text])).toEqual([
    ['/native/v1/responses', '{"store":false,"model":"real","input":"Hello","max_output_tokens":100}'],
    ['/v1/chat/completions', '{"model":"real","max_tokens":100,"messages":[{"role":"user","content":"Hello"}]}'],
  ])
  expect(vendor.received[0]?.headers.get('authorization')).toBe(`Bearer ${VENDOR_KEYS.OPENAI_DOUBLE_KEY}`)
})

test('when the upstream that speaks Responses is down, the next one serves the call by translation', async () => {
  const { key, balance } = await gateway.funded()
  vendor.answer = (received) => (received.path.startsWith('/native') ? openAi.error(500, {}) : answer(received))
  const answered = await respond(key, 'both')
  expect(await answered.json()).toMatchObject({ object: 'response', output: [{ content: [{ text: 'Hi' }] }] })
  expect((await balance()).paid).toBe(10_000_000 - COST)
  // A call that a chat cannot express is not sent there with a part missing.
  vendor.received.length = 0
  const shell = { tools: [{ type: 'local_shell' }] }
  expect((await respond(key, 'both', shell)).status).toBe(502)
  expect(vendor.received.map(({ path }) => path)).toEqual(['/native/v1/responses'])
})

describe('refused requests', () => {
  const user = (...content: object[]) => ({ role: 'user', content })
  const FILM = { type: 'video_url', video_url: { url: 'https://films.example/1.mp4' } }
  test.each([
    [{ background: true }, 422, 'background'],
    [{ previous_response_id: 'resp_1' }, 422, 'previous_response_id'],
    [{ conversation: 'conv_1' }, 422, 'conversation'],
    [{ tools: [{ type: 'web_search' }] }, 422, 'tools.web_search'],
    [{ tools: [{ type: 'local_shell' }] }, 422, 'tools.local_shell'],
    [{ include: ['code_interpreter_call.outputs'] }, 422, 'include.code_interpreter_call.outputs'],
    [{ input: 7 }, 400, 'input'],
    [{ instructions: ['Be brief'] }, 400, 'instructions'],
    // A text that is a list would be parts of a chat: a picture or a film for the price of its URL.
    [{ input: [user({ type: 'input_text', text: [FILM] })] }, 422, 'input.input_text'],
    [
      { input: [user({ type: 'input_text', text: [FILM] }, { type: 'input_text', text: 'Hi' })] },
      422,
      'input.input_text',
    ],
  ])('%j, before anything is held or asked', async (more, status, param) => {
    const { key } = await gateway.funded()
    const refused = await respond(key, 'chat', more)
    expect([refused.status, await errorOf(refused)]).toMatchObject([status, { param, request_id: requestId(refused) }])
    expect(vendor.received).toHaveLength(0)
  })

  test('a key that may not call this endpoint, or this model, and a model that has no such route', async () => {
    const { account, key } = await gateway.funded()
    const chatOnly = await gateway.key(account, { allowed_endpoints: ['chat-completions'] })
    const one = await gateway.key(account, { allowed_endpoints: ['responses'], allowed_models: ['native'] })
    expect((await respond(chatOnly, 'chat')).status).toBe(403)
    expect((await respond(one, 'native')).status).toBe(200)
    expect(await errorOf(await respond(one, 'chat'))).toMatchObject({ code: 'model_not_allowed' })
    expect((await gateway.chat(one, { model: 'native' })).status).toBe(403)
    expect(await errorOf(await respond(key, 'claude'))).toMatchObject({ code: 'model_route_not_supported' })
  })
})

describe('POST /v1/completions', () => {
  const complete = (key: MadeKey, more: object = {}, init: RequestInit = {}) =>
    gateway.post(key, '/v1/completions', { model: 'chat', prompt: 'Hello', ...more }, init)

  test.each([false, true])(
    'with stream %p costs what chat would, and reaches every upstream as a chat',
    async (stream) => {
      const { key, balance } = await gateway.funded()
      for (const model of MODELS) {
        // The server that speaks Responses has chat completions, too.
        vendor.answer = ({ body }) => (body['stream'] === true ? eventStream(CHAT_EVENTS) : openAi.plain('Hi', COUNTS))
        const answered = await complete(key, { model, stream, max_tokens: 50 })
        expect(await answered.text()).toContain('"object":"text_completion"')
        await until(async () => (await balance()).held === 0)
        expect(await gateway.explained(key, requestId(answered))).toMatchObject({
          operation: 'completions',
          usage_source: 'exact',
          cost_micros_usd: COST,
        })
      }
      expect((await balance()).paid).toBe(10_000_000 - 2 * COST)
      expect(vendor.received.map(({ path }) => path)).toEqual(['/native/v1/chat/completions', '/v1/chat/completions'])
      expect(vendor.received[0]?.body).toMatchObject({
        model: 'real',
        max_tokens: 50,
        messages: [{ role: 'user', content: 'Hello' }],
      })
    },
  )

  test('without a cap holds and asks for 16 tokens, as OpenAI documents', async () => {
    const { key } = await gateway.funded()
    const quoted = await complete(key, {}, { headers: { 'x-cost-mode': 'quote' } })
    const { quote } = (await quoted.json()) as { quote: { cost_micros_usd: number } }
    expect(quote.cost_micros_usd).toBeLessThan(16 * 10 + 200 * 3.125)
    await complete(key)
    expect(vendor.received[0]?.body['max_tokens']).toBe(16)
  })

  test.each([
    [{ prompt: ['a', 'b'] }, 422, 'prompt'],
    [{ prompt: [1, 2, 3] }, 400, 'prompt'],
    [{ suffix: 'x' }, 422, 'suffix'],
    [{ echo: true }, 422, 'echo'],
    [{ logprobs: 0 }, 422, 'logprobs'],
    [{ n: 2 }, 422, 'n'],
    [{ best_of: 2 }, 422, 'best_of'],
    [{ stream_options: { include_usage: true } }, 400, 'stream_options'],
  ])('%j is refused', async (more, status, param) => {
    const { key } = await gateway.funded()
    const refused = await complete(key, more)
    expect([refused.status, await errorOf(refused)]).toMatchObject([status, { param }])
  })
})
