import { isJson } from '../../../core/json'
import type { ModelRoute, ModelUpstream } from '../../../core/models/model'
import { err, ok, type Result } from '../../../core/result'
import type { BackendCall } from '../../../pipeline/models/model-backend'
import { wireAt } from '../../../pipeline/models/wires/model-wire'
import type { OpenedUpstream } from '../http-upstream'
import type { VendorRefusal } from '../vendor'
import { CHAT_FORMAT } from './chat-format'
import { echo } from './echo'
import { embed } from './embed'
import { extract } from './extract'
import { GEMINI_FORMAT } from './gemini-format'
import { MEDIA } from './media'
import { MESSAGES_FORMAT } from './messages-format'
import type { SandboxReply } from './prompt'
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

/** A sandbox model: inside the gateway, free and deterministic, with real token counts. */
export async function openSandbox(
  upstream: ModelUpstream,
  call: BackendCall,
): Promise<Result<OpenedUpstream, VendorRefusal>> {
  const { wire, request, path, cap } = call
  if (request.bytes.length > MAX_BYTES) return err(TOO_LONG)
  const bytes = wire.overChat ? wireAt(upstream, wire).bodyFor(request, upstream, cap) : request.bytes
  const body: unknown = JSON.parse(new TextDecoder().decode(bytes))
  const json = isJson(body) ? body : {}
  const id = new Bun.CryptoHasher('sha256').update(request.bytes).digest('hex').slice(0, 24)
  const media = MEDIA[wire.route]?.({ body: json, id, created: call.model.created })
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

/** Streams each text as its own chunk, on demand. */
function answer(contentType: string, texts: readonly (string | Uint8Array)[]) {
  const encoder = new TextEncoder()
  let next = 0
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const text = texts[next++]
      if (text === undefined) controller.close()
      else controller.enqueue(typeof text === 'string' ? encoder.encode(text) : text)
    },
  })
  return { contentType, body }
}
