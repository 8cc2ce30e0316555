import { expect, spyOn, test } from 'bun:test'
import fc from 'fast-check'
import { MESSAGES } from '../../server/pipeline/models/wires/anthropic/messages-wire'
import { GENERATE_CONTENT } from '../../server/pipeline/models/wires/google/generate-content-wire'
import type { ModelWire, StreamMeter } from '../../server/pipeline/models/wires/model-wire'
import { CHAT_COMPLETIONS } from '../../server/pipeline/models/wires/openai/chat-completions-wire'
import { RESPONSES } from '../../server/pipeline/models/wires/openai/responses/responses-wire'
import { type EventReader, SseEvents } from '../../server/pipeline/models/wires/sse-events'

const PATH = { model: 'm', stream: true, events: true }
const bytes = (text: string) => new TextEncoder().encode(text)

/** Texts that end in what ends a string, hold JSON, or name what an event is looked at for. */
const word = fc.oneof(
  { weight: 6, arbitrary: fc.string({ maxLength: 8, unit: 'binary' }).filter((text) => text.isWellFormed()) },
  { weight: 4, arbitrary: fc.stringMatching(/^ ?[a-z]{1,9}$/) },
  fc.constantFrom(
    ...['', '"', '\\', '\\"', '"\\', 'a\\\\', '\n\n', '\r', '\r\nevent: error\n', '{"error":1}', '"usage":{"x":1}'],
    ...[
      'usage',
      'error',
      'finishReason',
      'usageMetadata',
      'sequence_number',
      '[DONE]',
      ',"usage":null',
      'message_stop',
    ],
    ...['"finish_reason":"stop"', 'data: [DONE]\n\n', 'response.completed', 'ü€😀', 'an error', ': '],
  ),
)
const count = fc.integer({ min: 0, max: 999 })

interface Kind {
  readonly name: string
  readonly wire: ModelWire
  readonly body: object
  /** The members of one event. */
  readonly event: fc.Arbitrary<object>
}

const choice = (delta: object, more: object = {}) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'gpt-4o-mini',
  choices: [{ index: 0, delta, finish_reason: null }],
  ...more,
})
const chat = fc.oneof(
  { weight: 12, arbitrary: word.map((content) => choice({ content })) },
  { weight: 12, arbitrary: word.map((content) => choice({ content }, { usage: null })) },
  { weight: 4, arbitrary: fc.tuple(word, word).map(([content, obfuscation]) => choice({ content }, { obfuscation })) },
  fc.tuple(word, word).map(([content, reasoning]) => choice({ content, reasoning })),
  word.map((refusal) => choice({ content: null, refusal })),
  word.map((text) => choice({ tool_calls: [{ index: 0, function: { arguments: text } }] })),
  word.map((content) => choice({ role: 'assistant', content }, { error: null })),
  word.map((message) => choice({ content: '' }, { error: { message } })),
  fc
    .tuple(word, count)
    .map(([content, n]) => choice({ content }, { usage: { prompt_tokens: n + 1, completion_tokens: n } })),
  count.map((n) => choice({}, { choices: [], usage: { prompt_tokens: n, completion_tokens: n } })),
  fc
    .tuple(count, fc.constantFrom('stop', '', 'length'))
    .map(([index, finish_reason]) => choice({}, { choices: [{ index: index % 2, delta: {}, finish_reason }] })),
)
const block = (delta: object) => ({ type: 'content_block_delta', index: 0, delta })
const messages = fc.oneof(
  { weight: 24, arbitrary: word.map((text) => block({ type: 'text_delta', text })) },
  { weight: 4, arbitrary: word.map((thinking) => block({ type: 'thinking_delta', thinking })) },
  word.map((text) => block({ type: 'input_json_delta', partial_json: text })),
  fc.tuple(word, word).map(([text, thinking]) => block({ text, thinking })),
  count.map((n) => ({ type: 'message_start', message: { usage: { input_tokens: n, output_tokens: 1 } } })),
  count.map((n) => ({ type: 'message_delta', delta: { stop_reason: 'end' }, usage: { output_tokens: n } })),
  fc.constantFrom({ type: 'ping' }, { type: 'error', error: { message: 'no' } }, { type: 'message_stop' }),
)
const responses = fc.oneof(
  {
    weight: 24,
    arbitrary: fc.tuple(word, word, fc.integer({ min: 0, max: 9_999_999_999 })).map(([delta, obfuscation, n]) => ({
      type: 'response.output_text.delta',
      sequence_number: n,
      item_id: 'msg_1',
      delta,
      obfuscation,
    })),
  },
  fc.tuple(word, count).map(([delta, n]) => ({ type: 'response.refusal.delta', delta, sequence_number: n })),
  word.map((text) => ({ type: 'response.output_text.done', text })),
  fc.constantFrom({ type: 'error', code: 'x' }, { type: 'response.failed', response: {} }),
  count.map((n) => ({ type: 'response.completed', response: { usage: { input_tokens: n, output_tokens: n } } })),
)
const candidate = (part: object, more: object) => ({
  candidates: [{ content: { parts: [part], role: 'model' }, ...more }],
})
const gemini = fc.oneof(
  { weight: 12, arbitrary: word.map((text) => candidate({ text, thought: true }, { index: 0, safety: 'none' })) },
  {
    weight: 12,
    arbitrary: fc.tuple(word, count, count).map(([text, input, output]) => ({
      ...candidate({ text }, {}),
      usageMetadata: { promptTokenCount: input, candidatesTokenCount: output, cachedContentTokenCount: 3 },
    })),
  },
  word.map((name) => candidate({ functionCall: { name } }, {})),
  word.map((text) => candidate({ text }, { finishReason: 'STOP' })),
  fc.constantFrom({ error: { message: 'no' } }, { promptFeedback: { blockReason: 'SAFETY' } }),
)
const hello = [{ role: 'user', content: 'Hello' }]
const KINDS: readonly Kind[] = [
  { name: 'chat completions', wire: CHAT_COMPLETIONS, body: { messages: hello }, event: chat },
  {
    name: 'chat completions with usage',
    wire: CHAT_COMPLETIONS,
    body: { messages: hello, stream_options: { include_usage: true } },
    event: chat,
  },
  { name: 'messages', wire: MESSAGES, body: { messages: hello, max_tokens: 9 }, event: messages },
  { name: 'responses', wire: RESPONSES, body: { input: 'Hello' }, event: responses },
  { name: 'Gemini', wire: GENERATE_CONTENT, body: { contents: [{}] }, event: gemini },
]

/** How an event is written, the usual way far more often than any other. */
const writing = fc.oneof(
  { weight: 30, arbitrary: fc.constant('plain') },
  fc.constantFrom(
    ...['spaced', 'unnamed', 'comment before', 'returns', 'two lines', 'cut JSON', 'more behind', 'raw break'],
    ...['raw return', 'no end quote', 'done', 'comment', 'space'],
  ),
)

function written(json: object, how: string): string {
  const type = 'type' in json ? json.type : null
  const name = type === null || how === 'unnamed' ? '' : `event: ${type}\n`
  const data = JSON.stringify(json)
  switch (how) {
    case 'spaced':
      return `${name}data: ${JSON.stringify(json, null, 1).replaceAll('\n', '')}\n\n`
    case 'comment before':
      return `: comment\n${name}data: ${data}\n\n`
    case 'returns':
      return `${name}data:${data}\n\n`.replaceAll('\n', '\r\n')
    case 'two lines':
      return `${name}data: ${data.replace(',', ',\ndata:')}\n\n`
    case 'cut JSON':
      return `${name}data: ${data.slice(0, -1)}\n\n`
    case 'more behind':
      return `${name}data: ${data}{"error":"x"}\n\n`
    case 'raw break':
      return `${name}data: ${data.slice(0, -4)}\n\n${data.slice(-4)}\n\n`
    case 'raw return':
      return `${name}data: ${data.replace(/(e":"|t":"|a":")/, '$1\revent: error data: [DONE]')}\n\n`
    case 'no end quote':
      return `${name}data: ${data.replace(/"}/, '}')}\n\n`
    case 'done':
      return 'data: [DONE]\n\n'
    case 'comment':
      return ': comment\n\n'
    case 'space':
      return '\n'
    default:
      return `${name}data: ${data}\n\n`
  }
}

/** What `through` passes of these chunks, and what `meter` has counted then. */
function metered(meter: StreamMeter, chunks: Iterable<Uint8Array>, through: Pick<StreamMeter, 'push' | 'close'>) {
  const out: Uint8Array[] = []
  for (const chunk of chunks) out.push(through.push(chunk).slice())
  out.push(through.close().slice())
  const { ending, isComplete, hasFailed, sentEvents, seen } = meter
  const [sent, end] = [Buffer.concat(out), ending].map((all) => Buffer.from(all).toString('latin1'))
  return { sent, end, isComplete, hasFailed, sentEvents, seen }
}

/** Has a meter read each event of a stream in full. */
function inFull(meter: StreamMeter & EventReader): Pick<StreamMeter, 'push' | 'close'> {
  const events = new SseEvents({ read: (event, text) => meter.read(event, text) })
  return {
    push: (chunk) => events.push(chunk),
    close: () => Buffer.concat([events.end(), meter.close()]),
  }
}

function* pieces(all: Uint8Array, cuts: readonly number[]): Generator<Uint8Array> {
  for (let at = 0, i = 0; at < all.length; i++) {
    const length = cuts[i % cuts.length] ?? all.length
    yield all.slice(at, at + length)
    at += length
  }
}

test.each(KINDS)('$name: events that differ in their text only count and pass as if each was read in full', (kind) => {
  const request = kind.wire.read(bytes(JSON.stringify({ model: 'm', stream: true, ...kind.body })), PATH)
  if (!request.ok) throw new Error(request.error.message)
  const open = () => {
    const meter = kind.wire.meter(request.value, PATH) as StreamMeter & EventReader
    return { meter, reads: spyOn(meter, 'read') }
  }
  let framed = 0
  fc.assert(
    fc.property(
      fc.array(fc.tuple(kind.event, writing, fc.integer({ min: 1, max: 4 })), { maxLength: 12 }),
      fc.array(fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 100, max: 3000 })), {
        minLength: 1,
        maxLength: 5,
      }),
      (events, cuts) => {
        const all = bytes(events.map(([json, how, times]) => written(json, how).repeat(times)).join(''))
        const [one, other] = [open(), open()]
        const found = metered(one.meter, pieces(all, cuts), one.meter)
        expect(found).toEqual(metered(other.meter, pieces(all, [1]), inFull(other.meter)))
        framed += other.reads.mock.calls.length - one.reads.mock.calls.length
      },
    ),
    { numRuns: 400 },
  )
  expect(framed).toBeGreaterThan(100)
})
