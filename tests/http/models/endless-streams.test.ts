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

test('a plain answer that nests 400,000 deep is not parsed and not passed on, and costs nothing', async () => {
  const { key, balance } = await gateway.funded()
  vendor.answer = () =>
    new Response(`{"choices":${deep},"usage":{"prompt_tokens":1,"completion_tokens":1}}`, {
      headers: { 'content-type': 'application/json' },
    })
  const answer = await gateway.post(key, '/v1/chat/completions', { ...hello, model: 'gpt', stream: false })
  expect([answer.status, await answer.json()]).toMatchObject([502, { error: { code: 'upstream_error' } }])
  expect(await balance()).toEqual({ paid: 10_000_000, held: 0 })
})

describe('an event that nests 400,000 deep', () => {
  const started = openAi.chunk({ content: 'Hello there, this is text.' })
  const events: Record<keyof typeof CALLS, string> = {
    chat: `data: {"choices":${deep},"usage":{}}\n\n`,
    messages: `event: message_delta\ndata: {"usage":${deep}}\n\n`,
    events: `data: {"usageMetadata":${deep}}\n\n`,
    array: `[{"usageMetadata":${deep}}`,
  }
  test.each(Object.entries(CALLS))('is not forwarded, on %s', async (name, [path, body]) => {
    const { key } = await gateway.funded()
    vendor.answer = () => eventStream([events[name as keyof typeof CALLS]])
    const came = await (await gateway.post(key, path, body)).text()
    expect(came).not.toContain('[[')
    expect(came).toContain('stopped in the middle')
  })

  test('ends a stream that had begun, as an interruption does', async () => {
    const { key } = await gateway.funded()
    vendor.answer = () => eventStream([started, events.chat, openAi.done])
    const [path, body] = CALLS.chat
    const came = await (await gateway.post(key, path, body)).text()
    expect(came).toContain('Hello there')
    expect(came).not.toContain('[[')
    expect(came).not.toContain('[DONE]')
  })
})

test('a stream with probabilities, padding and pings goes through whole', async () => {
  const { key } = await gateway.funded()
  const logprobs = { content: [{ token: 'x', logprob: -1, top_logprobs: Array(20).fill({ token: 'x', logprob: -1 }) }] }
  const heavy = openAi.chunk({ content: 'x', obfuscation: 'y'.repeat(500), logprobs })
  vendor.answer = () =>
    eventStream([
      ...Array.from({ length: 300 }, () => `: keep-alive\n\n${heavy}`),
      openAi.total({ input: 9, output: 10 }),
      openAi.done,
    ])
  const [path, body] = CALLS.chat
  expect(await (await gateway.post(key, path, body)).text()).toEndWith(openAi.done)
  const pings = Array.from({ length: 500 }, () => anthropic.event('ping', {}))
  const [start, ...rest] = anthropic.words(['Hello'], { input: 9, output: 10 })
  vendor.answer = () => eventStream([start ?? '', ...pings, ...rest])
  expect(await (await gateway.post(key, CALLS.messages[0], CALLS.messages[1])).text()).toContain('message_stop')
})

test("an HTML error of a model's upstream is passed on as plain text", async () => {
  const { key } = await gateway.funded()
  vendor.answer = () =>
    new Response('<script>alert(1)</script>', { status: 400, headers: { 'content-type': 'text/html' } })
  const [path, body] = CALLS.chat
  const answer = await gateway.post(key, path, body)
  expect([answer.status, answer.headers.get('content-type')]).toEqual([400, 'text/plain; charset=utf-8'])
})
