import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type ModelGateway, openModelGateway, PRICE } from '../../support/model-gateway'
import { reconcile } from '../../support/reconcile'
import { anthropic, eventStream, openAi, openVendor, type VendorDouble } from '../../support/vendor-double'

let vendor: VendorDouble
let gateway: ModelGateway
beforeAll(async () => {
  vendor = openVendor(() => new Response())
  const at = (kind: 'openai' | 'anthropic' | 'gemini', path: string) => ({ kind, base_url: vendor.origin + path })
  gateway = await openModelGateway([
    { id: 'gpt', upstream: at('openai', '/v1'), price: PRICE },
    { id: 'claude', upstream: at('anthropic', '/v1'), price: PRICE },
    { id: 'gem', upstream: at('gemini', '/v1beta'), price: PRICE },
    { id: 'native', upstream: { ...at('openai', '/v1'), responses: true }, price: PRICE },
  ])
})
afterAll(async () => {
  await gateway.close(true)
  vendor.close()
  expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
})

const hello = { max_tokens: 10, stream: true, messages: [{ role: 'user', content: 'Hello' }] }
const google = { contents: [{ parts: [{ text: 'Hi' }] }], generationConfig: { maxOutputTokens: 10 } }
const CALLS = {
  chat: ['/v1/chat/completions', { ...hello, model: 'gpt' }],
  messages: ['/v1/messages', { ...hello, model: 'claude' }],
  events: ['/v1beta/models/gem:streamGenerateContent?alt=sse', google],
  array: ['/v1beta/models/gem:streamGenerateContent', google],
} as const

/** A stream of this text, again and again, without end. */
function endless(text: string): Response {
  const chunk = new TextEncoder().encode(text.repeat(Math.ceil(65_536 / text.length)))
  const body = new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(chunk) })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

describe.each(Object.entries(CALLS))('an endless stream, on %s', (_, [path, body]) => {
  test.each(['\n', ': keep-alive\n\n', 'event: ping\ndata: {"type": "ping"}\n\n'])(
    'of only %j is ended as a failure of the upstream, and costs nothing',
    async (text) => {
      const { key, balance } = await gateway.funded()
      vendor.answer = () => endless(text)
      const came = await (await gateway.post(key, path, body)).text()
      expect(came.length).toBeLessThan(2_000_000)
      expect(came.slice(-1000)).toContain('stopped in the middle')
      expect(await balance()).toEqual({ paid: 10_000_000, held: 0 })
    },
  )
})

const deep = `${'['.repeat(400_000)}${']'.repeat(400_000)}`

/** Prices of the hold and of what is charged: 9 tokens in, 10 out. */
const CHARGE = Math.ceil(9 * PRICE.input + 10 * PRICE.output)
const counted = {
  chat: openAi.usage({ input: 9, output: 10 }),
  messages: { input_tokens: 9, output_tokens: 10 },
  google: { promptTokenCount: 9, candidatesTokenCount: 10 },
  responses: { input_tokens: 9, output_tokens: 10 },
}

describe('an event that nests 400,000 deep', () => {
  const chunk = (json: string) => `data: ${json}\n\n`
  const streams: Record<keyof typeof CALLS, string[]> = {
    chat: [
      chunk(`{"choices":[{"index":0,"delta":{"x":${deep}},"finish_reason":null}]}`),
      openAi.chunk({}, 'stop'),
      chunk(`{"deep":${deep},"choices":[],"usage":${JSON.stringify(counted.chat)}}`),
      openAi.done,
    ],
    messages: [
      anthropic.start({ input: 9, output: 10 }),
      `event: content_block_delta\ndata: {"type":"content_block_delta","delta":${deep}}\n\n`,
      `event: message_delta\ndata: {"deep":${deep},"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":10}}\n\n`,
      anthropic.event('message_stop', {}),
    ],
    events: [
      chunk(`{"candidates":[{"args":${deep}}]}`),
      chunk(
        `{"candidates":[{"args":${deep},"finishReason":"STOP"}],"usageMetadata":${JSON.stringify(counted.google)}}`,
      ),
    ],
    array: [
      `[{"candidates":[{"args":${deep}}]},\n`,
      `{"candidates":[{"args":${deep},"finishReason":"STOP"}],"usageMetadata":${JSON.stringify(counted.google)}}]`,
    ],
  }
  test.each(Object.entries(CALLS))(
    'is passed on as it came, and its stream is charged exactly, on %s',
    async (name, [path, body]) => {
      const { key, balance } = await gateway.funded()
      const events = streams[name as keyof typeof CALLS]
      vendor.answer = () => eventStream(events)
      const asked = name === 'chat' ? { ...body, stream_options: { include_usage: true } } : body
      const came = await (await gateway.post(key, path, asked)).text()
      expect(came === events.join('')).toBe(true)
      expect(await balance()).toEqual({ paid: 10_000_000 - CHARGE, held: 0 })
    },
  )

  test('and does not end within the bytes of an event ends its stream, uncharged', async () => {
    const { key, balance } = await gateway.funded()
    vendor.answer = () =>
      eventStream([openAi.chunk({ content: 'Hello' }), ...Array<string>(40).fill('['.repeat(1_000_000))])
    const [path, body] = CALLS.chat
    const came = await (await gateway.post(key, path, body)).text()
    expect([came.includes('Hello'), came.includes('[['), came.includes('stopped in the middle')]).toEqual([
      true,
      false,
      true,
    ])
    expect(await balance()).toEqual({ paid: 10_000_000, held: 0 })
  })
})

test("an HTML error of a model's upstream is passed on as plain text", async () => {
  const { key } = await gateway.funded()
  vendor.answer = () =>
    new Response('<script>alert(1)</script>', { status: 400, headers: { 'content-type': 'text/html' } })
  const [path, body] = CALLS.chat
  const answer = await gateway.post(key, path, body)
  expect([answer.status, answer.headers.get('content-type')]).toEqual([400, 'text/plain; charset=utf-8'])
})
