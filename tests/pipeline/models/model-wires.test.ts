import { describe, expect, test } from 'bun:test'
import type { Model, ModelUpstream } from '../../../server/core/models/model'
import { parseModelEntry } from '../../../server/core/models/model-entry'
import { MESSAGES } from '../../../server/pipeline/models/wires/anthropic/messages-wire'
import { GENERATE_CONTENT } from '../../../server/pipeline/models/wires/google/generate-content-wire'
import { ADDED_TOKENS, boundsOf } from '../../../server/pipeline/models/wires/model-request'
import { type ModelWire, metered, type WirePath } from '../../../server/pipeline/models/wires/model-wire'
import { CHAT_COMPLETIONS } from '../../../server/pipeline/models/wires/openai/chat-completions-wire'

const bytes = (value: unknown) => new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value))
const text = (of: Uint8Array) => new TextDecoder().decode(of)
const PATH: WirePath = { model: 'm', stream: false, events: false }
const SSE: WirePath = { model: 'm', stream: true, events: true }

function model(more: object = {}, upstream: object = {}): Model {
  const parsed = parseModelEntry(
    { id: 'm', upstream: { kind: 'openai', ...upstream }, price: { input: 1, output: 1, cache_write: 1 }, ...more },
    { created: 1, priceVersion: () => 'v' },
  )
  if (!parsed.ok) throw new Error(parsed.error)
  return parsed.value
}
const upstream = (more: object = {}): ModelUpstream => {
  const [first] = model({}, more).upstreams
  if (!first) throw new Error('no upstream')
  return first
}
function read(wire: ModelWire, body: unknown, path = PATH) {
  const request = wire.read(bytes(body), path)
  if (!request.ok) throw new Error(request.error.message)
  return request.value
}
const refused = (wire: ModelWire, body: unknown) => {
  const request = wire.read(bytes(body), PATH)
  return request.ok ? 'taken' : `${request.error.code} ${request.error.param ?? ''}`.trim()
}
/** A stream through a meter, cut at every `size` bytes. */
function through(wire: ModelWire, body: unknown, stream: string, size: number, path = SSE) {
  const meter = wire.meter(read(wire, body, path), path)
  const whole = bytes(stream)
  const out: Uint8Array[] = []
  for (let at = 0; at < whole.length; at += size) out.push(meter.push(whole.slice(at, at + size)).slice())
  out.push(meter.close().slice())
  return { sent: text(Buffer.concat(out)), meter }
}
const SIZES = [1, 2, 3, 7, 64, 100_000]
const hello = [{ role: 'user', content: 'Hello' }]

describe('reading a call', () => {
  test('chat completions: the larger of two caps, the number of answers, and what is not text', () => {
    const request = read(CHAT_COMPLETIONS, {
      model: 'm',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'x' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          ],
        },
        { role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] },
      ],
      max_tokens: 10,
      max_completion_tokens: 20,
      n: 3,
    })
    expect(request).toMatchObject({
      cap: 20,
      choices: 3,
      stream: false,
      parts: { images: 1, imageBytes: 4, opaque: 1 },
    })
  })

  test('a duplicate member is refused: two parsers would not agree on the cap', () => {
    expect(refused(CHAT_COMPLETIONS, '{"model":"m","messages":[1],"max_tokens":9999,"max_tokens":1}')).toBe(
      'invalid_request',
    )
    expect(
      refused(GENERATE_CONTENT, '{"contents":[{}],"generationConfig":{"maxOutputTokens":9999,"maxOutputTokens":1}}'),
    ).toBe('invalid_parameter generationConfig')
    expect(
      refused(GENERATE_CONTENT, '{"contents":[{}],"generationConfig":{"maxOutputTokens":9,"max_output_tokens":1}}'),
    ).toBe('invalid_parameter generationConfig')
  })

  test('wrong input names the parameter', () => {
    expect(refused(CHAT_COMPLETIONS, '{')).toBe('json_parse_error')
    expect(refused(CHAT_COMPLETIONS, [])).toBe('invalid_request')
    expect(refused(CHAT_COMPLETIONS, { messages: hello })).toBe('missing_parameter model')
    expect(refused(CHAT_COMPLETIONS, { model: 'm' })).toBe('missing_parameter messages')
    expect(refused(CHAT_COMPLETIONS, { model: 'm', messages: hello, max_tokens: 0 })).toBe(
      'invalid_parameter max_tokens',
    )
    expect(refused(CHAT_COMPLETIONS, { model: 'm', messages: hello, n: 1.5 })).toBe('invalid_parameter n')
    expect(refused(CHAT_COMPLETIONS, { model: 'm', messages: hello, stream_options: {} })).toBe(
      'invalid_parameter stream_options',
    )
    expect(refused(MESSAGES, { model: 'm', messages: hello })).toBe('missing_parameter max_tokens')
    expect(refused(MESSAGES, { max_tokens: 1, messages: hello })).toBe('missing_parameter model')
    expect(refused(GENERATE_CONTENT, {})).toBe('missing_parameter contents')
    expect(refused(CHAT_COMPLETIONS, { model: 'm', messages: hello, best_of: 0 })).toBe('invalid_parameter best_of')
  })

  test('a cap of null is refused: with it, ours would be the first of two', () => {
    for (const generationConfig of [{ maxOutputTokens: null }, { max_output_tokens: null }])
      expect(refused(GENERATE_CONTENT, { contents: [{}], generationConfig })).toBe(
        'invalid_parameter generationConfig.maxOutputTokens',
      )
    expect(refused(GENERATE_CONTENT, { contents: [{}], generationConfig: null })).toBe(
      'invalid_parameter generationConfig',
    )
  })

  test('n and best_of multiply the held answers', () => {
    expect(read(CHAT_COMPLETIONS, { model: 'm', messages: hello, n: 2, best_of: 20 }).choices).toBe(20)
    expect(read(GENERATE_CONTENT, { contents: [{}], generation_config: { candidate_count: 4 } }).choices).toBe(4)
  })
})

describe('the bounds of a call', () => {
  const request = read(CHAT_COMPLETIONS, { model: 'm', messages: hello, max_tokens: 10, n: 2 })

  test('count each byte as a token, and the cap for each answer', () => {
    const bounds = boundsOf(request, model(), 10)
    expect(bounds?.input.max).toBe(request.bytes.length + ADDED_TOKENS.call)
    expect(bounds?.output).toBe(20)
  })

  test('include tools, and as much again for each tool that the vendor describes itself', () => {
    const body = { model: 'm', max_tokens: 1, messages: hello }
    const most = (tools: readonly object[]) => {
      const call = read(MESSAGES, { ...body, tools })
      return (boundsOf(call, model(), 1)?.input.max ?? 0) - call.bytes.length - ADDED_TOKENS.call
    }
    expect(most([])).toBe(0)
    expect(most([{ name: 'mine', input_schema: {} }])).toBe(ADDED_TOKENS.tools)
    expect(
      most([
        { type: 'bash_20250124', name: 'bash' },
        { type: 'computer_20251124', name: 'computer' },
      ]),
    ).toBe(3 * ADDED_TOKENS.tools)
  })

  test('of what may not be text are the whole context', () => {
    const of = (wire: ModelWire, body: object) =>
      boundsOf(read(wire, body), model({ context_tokens: 999_000 }), 1)?.input.max
    const part = { type: 'audio_url', audio_url: { url: 'http://example.org/a.wav' } }
    expect(of(CHAT_COMPLETIONS, { model: 'm', messages: [{ role: 'user', content: [part] }] })).toBe(999_000)
    const pdf = { type: 'document', source: { type: 'base64', data: 'AA' } }
    const nested = { type: 'web_fetch_tool_result', content: { type: 'web_fetch_result', content: pdf } }
    const blocks = [{ role: 'user', content: [nested] }]
    expect(of(MESSAGES, { model: 'm', max_tokens: 1, messages: blocks })).toBe(999_000)
    const film = { file_data: { file_uri: 'https://youtu.be/x' }, video_metadata: { fps: 24 } }
    expect(of(GENERATE_CONTENT, { contents: { parts: film } })).toBe(999_000)
  })

  test('of images are their own, not the length of their data', () => {
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(100_000)}` } }
    const seen = read(CHAT_COMPLETIONS, { model: 'm', messages: [{ role: 'user', content: [image] }] })
    expect(boundsOf(seen, model({ image_tokens: 1000 }), 1)?.input.max).toBeLessThan(1300)
    const notBase64 = { type: 'image_url', image_url: { url: `data:text/plain,${'words '.repeat(1000)}` } }
    const words = read(CHAT_COMPLETIONS, { model: 'm', messages: [{ role: 'user', content: [notBase64] }] })
    expect(boundsOf(words, model({ image_tokens: 1000 }), 1)?.input.max).toBeGreaterThan(7000)
  })

  test("never exceed the model's context, which is the only limit for a file", () => {
    expect(boundsOf(request, model({ context_tokens: 50 }), 10)?.input.max).toBe(50)
    const file = read(MESSAGES, {
      model: 'm',
      max_tokens: 1,
      messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'base64', data: 'AA' } }] }],
    })
    expect(boundsOf(file, model(), 1)).toBeNull()
    expect(boundsOf(file, model({ context_tokens: 200_000 }), 1)?.input.max).toBe(200_000)
  })
})

describe('the body for an upstream', () => {
  test("is the caller's, byte for byte, if nothing is missing", () => {
    const body = '{ "model":"m",  "messages":[{"role":"user","content":"Ünï"}],"max_tokens":5 }'
    const own = upstream({ base_url: 'http://127.0.0.1:1/v1' })
    expect(text(CHAT_COMPLETIONS.bodyFor(read(CHAT_COMPLETIONS, body), own, 99))).toBe(body)
    expect(text(MESSAGES.bodyFor(read(MESSAGES, body), upstream(), 99))).toBe(body)
  })

  test.each([
    ['max_tokens', '{"max_completion_tokens" :5,"model":"m","messages":[1]}', { max_tokens: 5 }],
    ['max_tokens', '{"model":"m","messages":[1],"max_completion\\u005ftokens":5}', { max_tokens: 5 }],
    [
      'max_tokens',
      '{"max_tokens": null,"max_completion_tokens":5,"model":"m","messages":[1]}',
      { max_tokens: 5, max_completion_tokens: null },
    ],
    [
      'max_tokens',
      '{"max_tokens":4,"max_completion_tokens":5,"model":"m","messages":[1]}',
      { max_tokens: 4, max_completion_tokens: 5 },
    ],
    ['max_completion_tokens', '{"max_tokens":5,"model":"m","messages":[1]}', { max_completion_tokens: 5 }],
  ] as const)('has the cap under the name that the upstream reads, %s: %s', (cap_parameter, body, caps) => {
    const sent = CHAT_COMPLETIONS.bodyFor(read(CHAT_COMPLETIONS, body), upstream({ cap_parameter }), 99)
    expect(JSON.parse(text(sent))).toEqual({ model: 'm', messages: [1], ...caps })
  })

  test("has the upstream's name of the model, the missing cap, and requests usage in a stream", () => {
    const body = '{"model":"m","messages":[1],"stream":true,"stream_options":{"x":1}}'
    const sent = CHAT_COMPLETIONS.bodyFor(read(CHAT_COMPLETIONS, body), upstream({ model: 'real' }), 99)
    expect(text(sent)).toBe(
      '{"max_completion_tokens":99,"model":"real","messages":[1],"stream":true,"stream_options":{"x":1,"include_usage":true}}',
    )
    const own = upstream({ base_url: 'http://127.0.0.1:1/v1' })
    expect(JSON.parse(text(CHAT_COMPLETIONS.bodyFor(read(CHAT_COMPLETIONS, body), own, 99)))['max_tokens']).toBe(99)
    const gemini = read(GENERATE_CONTENT, { contents: [{}], generationConfig: { temperature: 1 } })
    expect(text(GENERATE_CONTENT.bodyFor(gemini, upstream(), 7))).toBe(
      '{"contents":[{}],"generationConfig":{"maxOutputTokens":7,"temperature":1}}',
    )
    expect(text(GENERATE_CONTENT.bodyFor(read(GENERATE_CONTENT, { contents: [{}] }), upstream(), 7))).toBe(
      '{"generationConfig":{"maxOutputTokens":7},"contents":[{}]}',
    )
  })
})

const chunk = (content: string, more = ',"usage":null') =>
  `data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":${JSON.stringify(content)}}}]${more}}\n\n`
const USAGE = 'data: {"id":"c","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}\n\n'

describe('a stream of chat completions', () => {
  const stream = `${chunk('Hé')}${chunk('llo, "usage":null')}: comment\r\n\r\n${USAGE}data: [DONE]\n\n`

  test('hides the usage unless it was requested, wherever the network splits it, and holds back its end', () => {
    for (const size of SIZES) {
      const { sent, meter } = through(CHAT_COMPLETIONS, { model: 'm', messages: hello, stream: true }, stream, size)
      expect(sent).toBe(`${chunk('Hé', '')}${chunk('llo, "usage":null', '')}: comment\r\n\r\n`)
      expect(text(meter.ending)).toBe('data: [DONE]\n\n')
      expect(meter.isComplete).toBe(true)
      expect(meter.seen).toMatchObject({ counts: { input: 9, output: 3 }, isFinal: true })
    }
  })

  test('returns the usage to those who requested it, byte for byte', () => {
    const body = { model: 'm', messages: hello, stream: true, stream_options: { include_usage: true } }
    for (const size of SIZES)
      expect(through(CHAT_COMPLETIONS, body, stream, size).sent).toBe(stream.replace('data: [DONE]\n\n', ''))
  })

  test('without usage is counted by its text', () => {
    const { meter } = through(
      CHAT_COMPLETIONS,
      { model: 'm', messages: hello, stream: true },
      chunk('x'.repeat(400), ''),
      50,
    )
    expect(meter.isComplete).toBe(false)
    expect(meter.seen).toMatchObject({ counts: null, textBytes: 400 })
    expect(metered(meter.seen, 7, 1000)).toEqual({
      tokens: { input: 7, output: 100, cacheRead: 0, cacheWrite: 0 },
      source: 'estimated',
    })
  })

  test('reports a failure inside it', () => {
    const { meter, sent } = through(
      CHAT_COMPLETIONS,
      { model: 'm', messages: hello, stream: true },
      'data: {"error":{"message":"x"}}\n\n',
      9,
    )
    expect(meter.hasFailed).toBe(true)
    expect(sent).toContain('"error"')
  })
})

const event = (name: string, data: object) => `event: ${name}\ndata: ${JSON.stringify({ type: name, ...data })}\n\n`

describe('a stream of messages', () => {
  const start = event('message_start', {
    message: { usage: { input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 1 } },
  })
  const delta = event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'x'.repeat(40) } })
  const ends = [12, 20].map((n) => event('message_delta', { delta: {}, usage: { output_tokens: n } })).join('')
  const stop = event('message_stop', {})
  const body = { model: 'm', max_tokens: 50, messages: hello, stream: true }

  test('uses the counts of the last delta, without adding up', () => {
    for (const size of SIZES) {
      const { sent, meter } = through(MESSAGES, body, start + event('ping', {}) + delta + ends + stop, size)
      expect(sent).toBe(start + event('ping', {}) + delta + ends)
      expect(text(meter.ending)).toBe(stop)
      expect(metered(meter.seen, 99, 50)).toEqual({
        tokens: { input: 15, output: 20, cacheRead: 5, cacheWrite: 0 },
        source: 'exact',
      })
    }
  })

  test('that is cut is charged the reported input, and its text', () => {
    const { meter } = through(MESSAGES, body, start + delta, 10)
    expect(metered(meter.seen, 99, 50)).toEqual({
      tokens: { input: 15, output: 10, cacheRead: 5, cacheWrite: 0 },
      source: 'estimated',
    })
  })
})

describe('a stream of generateContent', () => {
  const part = (words: string, usage: object, more: object = {}) => ({
    candidates: [{ content: { parts: [{ text: words }] }, ...more }],
    usageMetadata: usage,
  })
  const parts = [
    part('one ] } "', { promptTokenCount: 8, candidatesTokenCount: 1 }),
    part('two', { promptTokenCount: 8, candidatesTokenCount: 2, thoughtsTokenCount: 30 }, { finishReason: 'STOP' }),
  ]
  const tokens = { input: 8, output: 32, cacheRead: 0, cacheWrite: 0, parts: { output_reasoning: 30 } }
  const expected = { tokens, source: 'exact' } as const

  test('as events uses the last reported counts', () => {
    const stream = parts.map((json) => `data: ${JSON.stringify(json)}\r\n\r\n`).join('')
    for (const size of SIZES) {
      const { sent, meter } = through(GENERATE_CONTENT, { contents: [{}] }, stream, size)
      expect(sent).toBe(stream)
      expect(meter.isComplete).toBe(true)
      expect(metered(meter.seen, 1, 100)).toEqual(expected)
    }
  })

  test('does not end with a text that is the name of a finish reason', () => {
    const { meter } = through(
      GENERATE_CONTENT,
      { contents: [{}] },
      `data: ${JSON.stringify(part('finishReason', {}))}\n\n`,
      7,
    )
    expect(meter.isComplete).toBe(false)
  })

  test('as one JSON array is followed in pieces, and its end is held back', () => {
    const stream = JSON.stringify(parts, null, 2)
    for (const size of SIZES) {
      const { sent, meter } = through(GENERATE_CONTENT, { contents: [{}] }, stream, size, { ...SSE, events: false })
      expect(sent + text(meter.ending)).toBe(stream)
      expect(text(meter.ending)).toBe(']')
      expect(metered(meter.seen, 1, 100)).toEqual(expected)
    }
  })
})

describe("a vendor's report", () => {
  test('counts if it is possible; zero output, where text was sent, is not', () => {
    const counts = { input: 10, output: 0, cacheRead: 0, cacheWrite: 0 }
    expect(metered({ counts, isFinal: true, textBytes: 0 }, 1, 9).source).toBe('exact')
    expect(metered({ counts, isFinal: true, textBytes: 20 }, 1, 9)).toEqual({
      tokens: { ...counts, output: 5 },
      source: 'estimated',
    })
  })
})
