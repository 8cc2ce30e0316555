import { stringOrEmpty } from '../../../../server/core/json.ts'
import { type ApiFailure, parseFailure } from '../client/failure.ts'

/** The API formats in which a model can be called. */
export const ENDPOINT_TYPES = ['chat_completions', 'messages', 'generate_content'] as const
export type EndpointType = (typeof ENDPOINT_TYPES)[number]

/** One message of a conversation. */
export interface ChatMessage {
  readonly role: 'user' | 'assistant'
  readonly text: string
}

/** A request to a model, independent of the API format. */
export interface ChatRequest {
  readonly model: string
  readonly system: string
  readonly messages: readonly ChatMessage[]
  readonly temperature: number | null
  /** Null: the gateway's default cap. */
  readonly maxTokens: number | null
  readonly stream: boolean
}

/** The content of one stream event, or of a complete response. */
export interface ChatChunk {
  readonly text: string
  /** The response stopped at the maximum number of output tokens. */
  readonly capped: boolean
  readonly failure: ApiFailure | null
}

interface ChatWire {
  path(request: ChatRequest): string
  body(request: ChatRequest): Readonly<Record<string, unknown>>
  text(json: unknown): string
  /** Why the response ended; null if it continues. */
  ending(json: unknown): unknown
}

/** Anthropic requires a cap in every request. */
const MESSAGES_CAP = 1024
const CAPPED = ['length', 'max_tokens', 'MAX_TOKENS']

/** How each vendor's format writes a chat. The gateway does not translate between formats. */
export const CHAT_WIRES: Readonly<Record<EndpointType, ChatWire>> = {
  chat_completions: {
    path: () => '/v1/chat/completions',
    body: ({ model, system, messages, temperature, maxTokens, stream }) => ({
      model,
      messages: [
        ...(system === '' ? [] : [{ role: 'system', content: system }]),
        ...messages.map(({ role, text }) => ({ role, content: text })),
      ],
      ...(maxTokens !== null && { max_tokens: maxTokens }),
      ...(temperature !== null && { temperature }),
      ...(stream && { stream }),
    }),
    text(json) {
      const choice = at(json, 'choices', 0)
      return stringOrEmpty(at(choice, 'delta', 'content')) + stringOrEmpty(at(choice, 'message', 'content'))
    },
    ending: (json) => at(json, 'choices', 0, 'finish_reason'),
  },
  messages: {
    path: () => '/v1/messages',
    body: ({ model, system, messages, temperature, maxTokens, stream }) => ({
      model,
      max_tokens: maxTokens ?? MESSAGES_CAP,
      ...(system !== '' && { system }),
      messages: messages.map(({ role, text }) => ({ role, content: text })),
      ...(temperature !== null && { temperature }),
      ...(stream && { stream }),
    }),
    text: (json) => stringOrEmpty(at(json, 'delta', 'text')) + listAt(json, 'content').map(partText).join(''),
    ending: (json) => at(json, 'stop_reason') ?? at(json, 'delta', 'stop_reason'),
  },
  generate_content: {
    path({ model, stream }) {
      const name = model.split('/').map(encodeURIComponent).join('/')
      return `/v1beta/models/${name}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`
    },
    body: ({ system, messages, temperature, maxTokens }) => ({
      contents: messages.map(({ role, text }) => ({ role: role === 'user' ? 'user' : 'model', parts: [{ text }] })),
      ...(system !== '' && { systemInstruction: { parts: [{ text: system }] } }),
      ...((maxTokens !== null || temperature !== null) && {
        generationConfig: {
          ...(maxTokens !== null && { maxOutputTokens: maxTokens }),
          ...(temperature !== null && { temperature }),
        },
      }),
    }),
    text: (json) =>
      listAt(json, 'candidates', 0, 'content', 'parts')
        // Skips the parts with the model's reasoning.
        .filter((part) => at(part, 'thought') !== true)
        .map(partText)
        .join(''),
    ending: (json) => at(json, 'candidates', 0, 'finishReason'),
  },
}

/**
 * Parses the JSON of a stream event or a complete response. A failure after the 200 of a stream has the same form in every
 * format.
 */
export function parseChunk(type: EndpointType, json: unknown): ChatChunk {
  const wire = CHAT_WIRES[type]
  const failure = at(json, 'error') === undefined ? null : parseFailure(502, json)
  return { text: wire.text(json), capped: CAPPED.includes(String(wire.ending(json))), failure }
}

function partText(part: unknown): string {
  return stringOrEmpty(at(part, 'text'))
}

function listAt(value: unknown, ...path: readonly (string | number)[]): readonly unknown[] {
  const found = at(value, ...path)
  return Array.isArray(found) ? found : []
}

function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (inner, name) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, name) : undefined),
    value,
  )
}
