import { afterAll, beforeAll, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { CHAT_COMPLETIONS } from '../../../server/pipeline/models/wires/openai/chat-completions-wire'
import { type ModelGateway, openModelGateway, PRICE } from '../../support/model-gateway'
import { reconcile } from '../../support/reconcile'
import { anthropic, eventStream, openAi, openVendor, type VendorDouble } from '../../support/vendor-double'

/** An answer is judged by what it says, not by its status: what is no answer is free, and the next upstream is asked. */
let first: VendorDouble
let second: VendorDouble
let gateway: ModelGateway
const USAGE = { input: 300, output: 20 }
/** 300 x 2.5 + 20 x 10. */
const CHARGE = 950
const good = () => openAi.plain('Hi', USAGE)
beforeAll(async () => {
  first = openVendor(good)
  second = openVendor(good)
  const [one, two] = [first, second].map(({ origin }) => ({ kind: 'openai' as const, base_url: `${origin}/v1` }))
  if (!one || !two) throw new Error('no doubles')
  gateway = await openModelGateway([
    { id: 'one', upstream: one, price: PRICE },
    { id: 'narrow', upstream: { ...one, concurrency: 1 }, price: PRICE },
    { id: 'both', upstreams: [one, two], price: PRICE },
    { id: 'native', upstream: { ...one, responses: true }, price: PRICE },
    { id: 'claude', upstream: { ...one, kind: 'anthropic' }, price: PRICE },
    { id: 'gem', upstream: { kind: 'gemini', base_url: `${first.origin}/v1beta` }, price: PRICE },
    { id: 'vectors', purpose: 'embeddings', upstream: one, price: { input: 2.5, output: 0 } },
  ])
})
beforeEach(() => {
  for (const vendor of [first, second]) {
    vendor.answer = good
    vendor.received.length = 0
  }
})
afterAll(async () => {
  await gateway.close(true)
  first.close()
  second.close()
  expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
})

const hello = { max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] }
const google = { contents: [{ parts: [{ text: 'Hi' }] }], generationConfig: { maxOutputTokens: 100 } }
const CALLS = {
  chat: ['/v1/chat/completions', { ...hello, model: 'one' }],
  completions: ['/v1/completions', { model: 'one', prompt: 'Hi', max_tokens: 100 }],
  'responses over chat': ['/v1/responses', { model: 'one', input: 'Hi', max_output_tokens: 100 }],
  responses: ['/v1/responses', { model: 'native', input: 'Hi', max_output_tokens: 100 }],
  messages: ['/v1/messages', { ...hello, model: 'claude' }],
  google: ['/v1beta/models/gem:generateContent', google],
  embeddings: ['/v1/embeddings', { model: 'vectors', input: 'Hi' }],
} as const

const html = () => new Response('<html>Bad gateway</html>', { headers: { 'content-type': 'text/html' } })
const NO_ANSWERS: Readonly<Record<string, () => Response>> = {
  'an error': () => Response.json({ error: { message: 'overloaded', code: 500 } }),
  'an error beside text': () => Response.json({ error: 'overloaded', choices: [{ message: { content: 'x' } }] }),
  'an empty object': () => Response.json({}),
  'an empty body': () => new Response('', { headers: { 'content-type': 'application/json' } }),
  'a page': html,
  'a cut body': () =>
    new Response('{"choices":[{"message":{"content":"Hi"', { headers: { 'content-type': 'application/json' } }),
}

describe.each(Object.entries(CALLS))('a 200 without an answer, on %s', (_, [path, body]) => {
  test.each(Object.entries(NO_ANSWERS))('(%s) is a failure, and free', async (_what, answer) => {
    const { key, balance } = await gateway.funded()
    first.answer = answer
    const refused = await gateway.post(key, path, body)
    expect([refused.status, JSON.stringify(await refused.json()).includes('upstream_error')]).toEqual([502, true])
    expect(await balance()).toEqual({ paid: 10_000_000, held: 0 })
  })
})

describe('a model with two upstreams', () => {
  test.each(Object.entries(NO_ANSWERS))('asks the next one after %s, and charges its answer', async (_, answer) => {
    const { key, balance } = await gateway.funded()
    first.answer = answer
    const served = await gateway.chat(key, { ...hello, model: 'both' })
    expect([served.status, first.received.length, second.received.length]).toEqual([200, 1, 1])
    expect(await balance()).toEqual({ paid: 10_000_000 - CHARGE, held: 0 })
  })

  test('is a failure if none has an answer, and each is asked once', async () => {
    const { key, balance } = await gateway.funded()
    first.answer = NO_ANSWERS['an error'] ?? html
    second.answer = html
    const refused = await gateway.chat(key, { ...hello, model: 'both' })
    expect([refused.status, first.received.length, second.received.length]).toEqual([502, 1, 1])
    expect(await balance()).toEqual({ paid: 10_000_000, held: 0 })
  })

  test('asks the next one for a stream that is answered with JSON or a page', async () => {
    const { key, balance } = await gateway.funded()
    for (const answer of [html, NO_ANSWERS['an error'] ?? html]) {
      first.answer = answer
      second.answer = () => eventStream(openAi.words(['Hi'], USAGE))
      const served = await gateway.chat(key, { ...hello, model: 'both', stream: true })
      expect(await served.text()).toEndWith(openAi.done)
    }
    expect(await balance()).toEqual({ paid: 10_000_000 - 2 * CHARGE, held: 0 })
  })
})

describe('an answer that is compressed, although the request forbids it', () => {
  /** 64 MiB in 64 KB. */
  const bomb = Bun.gzipSync(new Uint8Array(64 * 1024 * 1024).fill(32))
  const packed = (status: number, body: Uint8Array<ArrayBuffer>, type = 'application/json') =>
    new Response(body, { status, headers: { 'content-type': type, 'content-encoding': 'gzip' } })

  test.each([false, true])('is never unpacked, and the next upstream is asked (streamed: %p)', async (stream) => {
    const { key, balance } = await gateway.funded()
    first.answer = () => packed(200, bomb, stream ? 'text/event-stream' : 'application/json')
    second.answer = () => (stream ? eventStream(openAi.words(['Hi'], USAGE)) : good())
    const served = await gateway.chat(key, { ...hello, model: 'both', stream })
    expect(await served.text()).toContain('Hi')
    expect([served.status, first.received.length, second.received.length]).toEqual([200, 1, 1])
    expect(await balance()).toEqual({ paid: 10_000_000 - CHARGE, held: 0 })
  })

  test('is a failure, and free, if no other upstream answers', async () => {
    const { key, balance } = await gateway.funded()
    first.answer = () => packed(200, Bun.gzipSync('{"choices":[{"message":{"content":"Hi"}}]}'))
    const refused = await gateway.chat(key, { ...hello, model: 'one' })
    expect([refused.status, JSON.stringify(await refused.json()).includes('upstream_error')]).toEqual([502, true])
    expect(await balance()).toEqual({ paid: 10_000_000, held: 0 })
  })

  test('keeps the status of an error, without its body', async () => {
    const { key } = await gateway.funded()
    first.answer = () => packed(422, bomb)
    const refused = await gateway.chat(key, { ...hello, model: 'one' })
    expect([refused.status, await refused.text()]).toEqual([422, '{}'])
  })
})

test('a fault of ours while an answer is read gives its slot at the upstream back', async () => {
  const { key, balance } = await gateway.funded()
  const reading = spyOn(CHAT_COMPLETIONS, 'usageOf').mockImplementationOnce(() => {
    throw new Error('a fault')
  })
  expect((await gateway.chat(key, { ...hello, model: 'narrow' })).status).toBe(500)
  reading.mockRestore()
  expect((await gateway.chat(key, { ...hello, model: 'narrow' })).status).toBe(200)
  expect(await balance()).toEqual({ paid: 10_000_000 - CHARGE, held: 0 })
})

describe('an error without content', () => {
  test.each([null, '', {}, { message: '', code: null }, false])(
    '(%j) is none: the answer is charged, streamed or not',
    async (error) => {
      const { key, balance } = await gateway.funded()
      const body = (await good().json()) as object
      first.answer = () => Response.json({ ...body, error })
      expect((await gateway.chat(key, { ...hello, model: 'one' })).status).toBe(200)
      const words = openAi
        .words(['Hi'], USAGE)
        .map((event) => event.replace('{"id"', `{"error":${JSON.stringify(error)},"id"`))
      first.answer = () => eventStream(words)
      for (const [path, asked] of [CALLS.chat, CALLS.completions, CALLS['responses over chat']])
        expect(await (await gateway.post(key, path, { ...asked, stream: true })).text()).not.toContain('rror"}')
      expect(await balance()).toEqual({ paid: 10_000_000 - 4 * CHARGE, held: 0 })
    },
  )
})

describe('a stream without a sentinel that ends clean, with its finish reason and usage', () => {
  const endless = openAi.words(['Hi'], USAGE).slice(0, -1)

  test('is whole: it gets the sentinel and is charged exactly', async () => {
    const { key, balance } = await gateway.funded()
    first.answer = () => eventStream(endless)
    const chat = await (await gateway.post(key, CALLS.chat[0], { ...CALLS.chat[1], stream: true })).text()
    expect([chat.endsWith(openAi.done), chat.includes('rror')]).toEqual([true, false])
    const responses = await gateway.post(key, '/v1/responses', { ...CALLS['responses over chat'][1], stream: true })
    expect(await responses.text()).toContain('event: response.completed')
    first.answer = () => eventStream(anthropic.words(['Hi'], USAGE).slice(0, -1))
    const messages = await (await gateway.post(key, CALLS.messages[0], { ...CALLS.messages[1], stream: true })).text()
    expect([messages.endsWith(anthropic.event('message_stop', {})), messages.includes('rror')]).toEqual([true, false])
    expect(await balance()).toEqual({ paid: 10_000_000 - 3 * CHARGE, held: 0 })
  })

  test('counts a running usage only if it came with the finish reason or after it', async () => {
    const { key, balance } = await gateway.funded()
    const running = (delta: object, output: number, finish: string | null) =>
      openAi
        .chunk(delta, finish)
        .replace('"usage":null', `"usage":${JSON.stringify(openAi.usage({ input: 300, output }))}`)
    first.answer = () => eventStream([running({ content: 'Hi' }, 1, null), running({}, 20, 'stop')])
    const whole = await gateway.post(key, CALLS.chat[0], { ...CALLS.chat[1], stream: true })
    expect(await whole.text()).toEndWith(openAi.done)
    expect(await balance()).toEqual({ paid: 10_000_000 - CHARGE, held: 0 })
    first.answer = () => eventStream([running({ content: 'Hi' }, 1, null), openAi.chunk({}, 'stop')])
    const cut = await gateway.post(key, CALLS.chat[0], { ...CALLS.chat[1], stream: true })
    expect(await cut.text()).toContain('upstream_error')
    expect(await balance()).toEqual({ paid: 10_000_000 - CHARGE, held: 0 })
  })

  test('takes no empty reason for one, and a report of its own wherever it comes', async () => {
    const { key, balance } = await gateway.funded()
    const [role = '', word = '', stop = '', report = ''] = openAi.words(['Hi'], USAGE)
    const empty = (event: string) => event.replace('"finish_reason":null', '"finish_reason":""')
    const streamed = async (...events: string[]) => {
      first.answer = () => eventStream(events)
      return (await gateway.post(key, CALLS.chat[0], { ...CALLS.chat[1], stream: true })).text()
    }
    expect(await streamed(empty(role), empty(word), report)).toContain('upstream_error')
    expect(await balance()).toEqual({ paid: 10_000_000, held: 0 })
    expect(await streamed(empty(role), empty(word), report, stop)).toEndWith(openAi.done)
    expect(await balance()).toEqual({ paid: 10_000_000 - CHARGE, held: 0 })
  })

  test('is cut, and free, while one of its choices has no finish reason', async () => {
    const { key, balance } = await gateway.funded()
    first.answer = () => eventStream(endless)
    const cut = await gateway.post(key, CALLS.chat[0], { ...CALLS.chat[1], n: 2, stream: true })
    expect(await cut.text()).toContain('upstream_error')
    expect(await balance()).toEqual({ paid: 10_000_000, held: 0 })
  })
})

describe('usage counts of zero at one end of a stream', () => {
  test.each([
    ['the start', { input: 0, output: 0 }, { input_tokens: 300, output_tokens: 20 }],
    ['the end', { input: 300, output: 0 }, { input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 20 }],
  ])('(%s) do not hide the counts at the other', async (_, start, end) => {
    const { key, balance } = await gateway.funded()
    const words = anthropic.words(['Hi'], USAGE)
    const stop = anthropic.event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: end })
    first.answer = () => eventStream([anthropic.start(start), ...words.slice(1, -2), stop, ...words.slice(-1)])
    await (await gateway.post(key, CALLS.messages[0], { ...CALLS.messages[1], stream: true })).text()
    expect(await balance()).toEqual({ paid: 10_000_000 - CHARGE, held: 0 })
  })

  test('and zeros everywhere are estimated by the text that was delivered', async () => {
    const { key, balance } = await gateway.funded()
    first.answer = () => eventStream(openAi.words(['x'.repeat(400)], { input: 0, output: 0 }))
    await (await gateway.post(key, CALLS.chat[0], { ...CALLS.chat[1], stream: true })).text()
    const { paid } = await balance()
    expect(10_000_000 - paid).toBeGreaterThan(1000)
  })
})

test('calls of a chat that share the index 0 become calls of their own in a response', async () => {
  const { key, balance } = await gateway.funded()
  const call = (id: string | null, name: string | null, text: string) =>
    openAi.chunk({
      tool_calls: [
        {
          index: 0,
          ...(id !== null && { id }),
          type: 'function',
          function: { ...(name !== null && { name }), arguments: text },
        },
      ],
    })
  first.answer = () =>
    eventStream([
      call('c1', 'look', '{"a"'),
      call(null, null, ':1}'),
      call('c2', 'find', '{"b":'),
      // Some servers repeat the id in each part.
      call('c2', 'find', '2'),
      call(null, '', '}'),
      ...openAi.words([], USAGE).slice(1),
    ])
  const events = await (
    await gateway.post(key, '/v1/responses', { ...CALLS['responses over chat'][1], stream: true })
  ).text()
  const done = events.split('\n\n').find((event) => event.startsWith('event: response.completed')) ?? ''
  const { output } = (JSON.parse(done.slice(done.indexOf('{'))) as { response: { output: object[] } }).response
  expect(output).toMatchObject([
    { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{"a":1}' },
    { type: 'function_call', call_id: 'c2', name: 'find', arguments: '{"b":2}' },
  ])
  expect(await balance()).toEqual({ paid: 10_000_000 - CHARGE, held: 0 })
})

describe('a stream that was asked for', () => {
  const STREAMS = {
    chat: CALLS.chat,
    messages: CALLS.messages,
    responses: CALLS.responses,
    google: ['/v1beta/models/gem:streamGenerateContent?alt=sse', google],
    'google, as a list': ['/v1beta/models/gem:streamGenerateContent', google],
  } as const
  test.each(Object.entries(STREAMS))(
    'and answered with a page is 502 before any event, on %s',
    async (name, [path, body]) => {
      const { key, balance } = await gateway.funded()
      first.answer = html
      const asked = name.startsWith('google') ? body : { ...body, stream: true }
      const refused = await gateway.post(key, path, asked)
      expect([refused.status, refused.headers.get('content-type')?.split(';')[0]]).toEqual([502, 'application/json'])
      expect(await balance()).toEqual({ paid: 10_000_000, held: 0 })
    },
  )

  test('and answered with endless spaces that are called JSON is 502 soon', async () => {
    const { key } = await gateway.funded()
    const spaces = new TextEncoder().encode(' '.repeat(8192))
    const body = new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(spaces) })
    first.answer = () => new Response(body, { headers: { 'content-type': 'application/json' } })
    expect((await gateway.post(key, CALLS.chat[0], { ...CALLS.chat[1], stream: true })).status).toBe(502)
  })

  test('is served as a stream although the upstream calls it JSON', async () => {
    const { key, balance } = await gateway.funded()
    first.answer = () =>
      new Response(`\n\n${openAi.words(['Hi'], USAGE).join('')}`, { headers: { 'content-type': 'application/json' } })
    const served = await gateway.post(key, CALLS.chat[0], { ...CALLS.chat[1], stream: true })
    expect([served.status, served.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
    expect(await served.text()).toEndWith(openAi.done)
    expect(await balance()).toEqual({ paid: 10_000_000 - CHARGE, held: 0 })
  })
})
