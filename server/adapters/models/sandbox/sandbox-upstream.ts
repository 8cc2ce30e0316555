import { isJson, jsonText } from '../../../core/json'
import { boundedJson } from '../../../core/json-bounds'
import type { ModelRoute, ModelUpstream } from '../../../core/models/model'
import { err, ok, type Result } from '../../../core/result'
import type { BackendCall } from '../../../pipeline/models/model-backend'
import { formParts, partText } from '../../../pipeline/models/wires/form-parts'
import { wireAt } from '../../../pipeline/models/wires/model-wire'
import type { Attempt } from '../attempt'
import type { VendorRefusal } from '../vendor'
import { CHAT_FORMAT } from './chat-format'
import { embed } from './embed'
import { GEMINI_FORMAT } from './gemini-format'
import { MEDIA } from './media'
import { MESSAGES_FORMAT } from './messages-format'
import type { OfferedTool, Prompt, SandboxReply } from './prompt'
import type { SandboxAnswer, SandboxFormat } from './sandbox-format'
import { tokenizer } from './tokens'

/** The formats of the routes that write or count text. */
const FORMATS: Readonly<Partial<Record<ModelRoute, SandboxFormat>>> = {
  chat_completions: CHAT_FORMAT,
  responses: CHAT_FORMAT,
  completions: CHAT_FORMAT,
  messages: MESSAGES_FORMAT,
  messages_count_tokens: MESSAGES_FORMAT,
  generate_content: GEMINI_FORMAT,
  count_tokens: GEMINI_FORMAT,
}

/** The answers of the routes that only count. */
const COUNTS: Readonly<Partial<Record<ModelRoute, (tokens: number) => object>>> = {
  messages_count_tokens: (tokens) => ({ input_tokens: tokens }),
  count_tokens: (tokens) => ({ totalTokens: tokens, promptTokensDetails: [{ modality: 'TEXT', tokenCount: tokens }] }),
}

/** The input limit of a sandbox model, which runs on the gateway's main thread. */
const MAX_BYTES = 512 * 1024
const TOO_LONG = refusal(`A sandbox model accepts at most ${MAX_BYTES} bytes of input.`, 'context_length_exceeded')

function refusal(message: string, code: string): VendorRefusal {
  const body = JSON.stringify({ error: { message, type: 'invalid_request_error', param: null, code } })
  const passThrough = { status: 400, contentType: 'application/json', body }
  return {
    failure: { kind: 'error', reason: message, passThrough },
    goOn: false,
    isFault: false,
    retryAfter: null,
  }
}

/** Answers an attempt at a sandbox model: inside the gateway, free and deterministic, with real token counts. */
export function openSandbox(attempt: Attempt): VendorRefusal | null {
  const answer = sandboxAnswer(attempt.place.upstream, attempt.call)
  if (!answer.ok) return answer.error
  const { contentType, texts } = answer.value
  attempt.answered(contentType, new Response(streamOf(texts)))
  return null
}

interface SandboxTexts {
  readonly contentType: string
  readonly texts: readonly (string | Uint8Array)[]
}

function sandboxAnswer(upstream: ModelUpstream, call: BackendCall): Result<SandboxTexts, VendorRefusal> {
  const { wire, request, path, cap } = call
  if (request.bytes.length > MAX_BYTES) return err(TOO_LONG)
  const bytes = wire.overChat ? wireAt(upstream, wire).bodyFor(request, upstream, cap) : request.bytes
  const body: unknown = wire.isForm ? fieldsOf(request) : JSON.parse(new TextDecoder().decode(bytes))
  const json = isJson(body) ? body : {}
  const id = new Bun.CryptoHasher('sha256').update(request.bytes).digest('hex').slice(0, 24)
  const media = MEDIA[wire.route]?.({ body: json, request, id, created: call.model.created })
  if (media)
    return media.ok
      ? ok(answer(media.value.contentType, [media.value.body]))
      : err(refusal(media.error, 'invalid_value'))
  const tokenized = tokenizer()
  const format = FORMATS[wire.route]
  if (!format) {
    const embedded = embed(wire.route, json, tokenized)
    return embedded.ok
      ? ok(answer('application/json', [JSON.stringify(embedded.value)]))
      : err(refusal(embedded.error, 'invalid_value'))
  }
  const whole = json['generateContentRequest'] ?? json['generate_content_request']
  const prompt = format.prompt(wire.route === 'count_tokens' && isJson(whole) ? whole : json)
  const { encode, decode } = tokenized
  const input = Math.max(
    1,
    prompt.turns.reduce((sum, { text }) => sum + encode(text).length, 0),
  )
  const counted = COUNTS[wire.route]?.(input)
  if (counted) return ok(answer('application/json', [JSON.stringify(counted)]))
  const reply: SandboxReply = upstream.model === 'extract' ? extract(prompt) : echo(prompt)
  const written = reply.kind === 'text' ? reply.text : JSON.stringify(reply.args)
  const tokens = encode(written)
  const withinCap = reply.kind === 'text' ? tokens.slice(0, request.cap ?? cap) : tokens
  const sandboxAnswer: SandboxAnswer = {
    id,
    model: call.model.id,
    created: call.model.created,
    reply,
    text: withinCap.length < tokens.length ? decode(withinCap) : reply.kind === 'text' ? reply.text : '',
    pieces: reply.kind === 'text' ? piecesOf(withinCap, decode) : [],
    finish: withinCap.length < tokens.length ? 'length' : 'stop',
    usage: { input, output: withinCap.length },
  }
  if (!request.stream) return ok(answer('application/json', [JSON.stringify(format.plain(sandboxAnswer))]))
  if (path.events || wire.route !== 'generate_content')
    return ok(answer('text/event-stream', format.events(sandboxAnswer)))
  const elements = format.events(sandboxAnswer).map((event) => event.replace(/^data: /, '').trimEnd())
  return ok(answer('application/json', ['[', ...elements.map((json, i) => (i === 0 ? json : `,\r\n${json}`)), ']']))
}

/** The texts of a form. */
function fieldsOf({ bytes, boundary = '' }: BackendCall['request']): object {
  const fields = (formParts(bytes, boundary) ?? []).filter(({ fileName }) => fileName === null)
  return Object.fromEntries(fields.map((part) => [part.name, partText(part)]))
}

/** One piece per token. A character that consists of several tokens is not split. */
function piecesOf(tokens: readonly number[], decode: (tokens: readonly number[]) => string): string[] {
  const pieces: string[] = []
  let waiting: number[] = []
  for (const token of tokens) {
    waiting.push(token)
    const text = decode(waiting)
    if (text.endsWith('\uFFFD') && waiting.length < 8) continue
    pieces.push(text)
    waiting = []
  }
  return waiting.length > 0 ? [...pieces, decode(waiting)] : pieces
}

function answer(contentType: string, texts: SandboxTexts['texts']): SandboxTexts {
  return { contentType, texts }
}

/** Streams each text as its own chunk, on demand. */
function streamOf(texts: SandboxTexts['texts']): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let next = 0
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      const text = texts[next++]
      if (text === undefined) controller.close()
      else controller.enqueue(typeof text === 'string' ? encoder.encode(text) : text)
    },
  })
}

/**
 * `sandbox/echo`: repeats the last message. With tools it calls one first, with arguments made from that message, and
 * then repeats the tool's result. The same call always gets the same reply.
 */
function echo({ turns, tools, toolChoice }: Prompt): SandboxReply {
  const last = turns.findLast(({ role }) => role !== 'system')
  const text = last?.text ?? ''
  const wanted = typeof toolChoice === 'object' && toolChoice.name !== null ? toolChoice.name : null
  const tool = toolChoice === 'none' ? undefined : tools.find(({ name }) => wanted === null || name === wanted)
  if (tool && last?.role === 'user') return { kind: 'tool', name: tool.name, args: argumentsOf(tool, text) }
  return { kind: 'text', text: last?.role === 'tool' ? `The tool said: ${text}` : text }
}

/** A JSON object in the text, or the text for each string property that the schema requires. */
function argumentsOf(tool: OfferedTool, text: string): Readonly<Record<string, unknown>> {
  const stated = /\{[\s\S]*\}/.exec(text)?.[0]
  const object = stated === undefined ? undefined : boundedJson(stated)
  if (object !== undefined) return { ...Object(object) }
  const { properties = {}, required = Object.keys(Object(properties)) } = Object(tool.schema)
  return Object.fromEntries(
    (Array.isArray(required) ? required : []).map((name: unknown) => [
      jsonText(name),
      sampleOf(Object(Reflect.get(Object(properties), jsonText(name))), text),
    ]),
  )
}

function sampleOf(schema: Readonly<Record<string, unknown>>, text: string): unknown {
  const { enum: values, type } = schema
  if (Array.isArray(values)) return values.find((value) => text.includes(jsonText(value))) ?? values[0]
  const kind = jsonText(type).toLowerCase() // Google writes its types in capitals
  if (kind === 'number' || kind === 'integer') return Number.parseInt(/-?\d+/.exec(text)?.[0] ?? '0', 10)
  if (kind === 'boolean') return true
  if (kind === 'array') return []
  return kind === 'object' ? {} : text
}

const MAX_SENTENCES = 5
const COMMON = new Set(
  'a an and are as at be by can could do does for from give has have how i in is it its me my of on or please should tell than that the their them then there these this to using was were what when where which who why will with would you your about'.split(
    ' ',
  ),
)

/**
 * `sandbox/extract`: answers a question only from the text it was given, by picking sentences of it. The question is the last
 * line of the last message; everything before it is the text. It never says anything that is not in the text.
 */
function extract({ turns }: Prompt): SandboxReply {
  const last = turns.findLast(({ role }) => role === 'user' || role === 'tool')
  const lines = (last?.text ?? '').split('\n').filter((line) => line.trim() !== '')
  const question = lines.at(-1) ?? ''
  const given = [
    ...turns.filter((turn) => turn !== last && turn.role !== 'assistant').map(({ text }) => text),
    ...lines.slice(0, -1),
  ]
  const sentences = given.flatMap(sentencesOf)
  const questionWords = new Set(wordsOf(question))
  const found = new Map<string, number>()
  for (const sentence of sentences)
    for (const word of new Set(wordsOf(sentence))) found.set(word, (found.get(word) ?? 0) + 1)
  const ranked = sentences
    .map((sentence, index) => {
      const hits = [...new Set(wordsOf(sentence))].filter((word) => questionWords.has(word))
      // A rare word is more significant than a common one.
      const score = hits.reduce((sum, word) => sum + Math.log(1 + sentences.length / (found.get(word) ?? 1)), 0)
      return { sentence, index, score: score / (1 + Math.log(1 + sentence.length / 400)) }
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || a.index - b.index)
  const picked = ranked.slice(0, MAX_SENTENCES).sort((a, b) => a.index - b.index)
  const text = [...new Set(picked.map(({ sentence }) => sentence))].join(' ')
  return { kind: 'text', text: text === '' ? 'The text that I was given does not say.' : text }
}

function sentencesOf(text: string): string[] {
  return text
    .split(/\n+|(?<=[.!?](?:\s\[\d+\])?)\s+(?!\[\d)/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '')
}

/** Words without inflectional endings, so that "relations" finds "relation". */
function wordsOf(text: string): string[] {
  return (text.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) ?? [])
    .filter((word) => !COMMON.has(word))
    .map((word) => (word.length > 4 ? word.replace(/(ies|es|s|ing|ed)$/, '') : word))
}
