import { elementsOf, isJson, type Json, membersOf, stringOrEmpty } from '../../../../core/json'
import type { ModelUpstream } from '../../../../core/models/model'
import type { ModelTokens } from '../../../../core/models/model-tokens'
import { ok } from '../../../../core/result'
import type { FrameRules } from '../event-frame'
import { EventMeter } from '../event-meter'
import { assigned, type Edit, edited, objectMembers } from '../json/json-members'
import { reportsFailure } from '../json/readable-json'
import {
  type InputParts,
  imagePart,
  invalidMember,
  type ModelRequest,
  manyOf,
  missingMember,
  OPAQUE_PART,
  positive,
  readModelBody,
  sumOfParts,
  TEXT_PART,
} from '../model-request'
import { type MeteredOutput, type ModelWire, stringBytes, stringMembers } from '../model-wire'
import { specialTier, uncoveredIn } from '../priced-members'
import { eventJson } from '../sse-events'
import { openAiUsage } from '../token-usage'
import { CHAT_MEMBERS } from './chat-completions-members'

const TEXT_MEMBERS = ['content', 'arguments', 'refusal', 'reasoning', 'reasoning_content']
const TEXTS = stringMembers(...TEXT_MEMBERS)
/** The text of this property in every event of a stream with `include_usage`. */
const NO_USAGE = ',"usage":null'
/** Some servers send an empty reason before the last one. */
const FINISH = /"finish_reason"\s*:\s*"[^"]/
const USAGE = /"usage"\s*:\s*\{/
const END = /^data:\s*\[DONE\]/m
const ERROR_OR_FINISH = `"error"(?!\\s*:\\s*null\\b)|${FINISH.source}`
const SHOWN: FrameRules = {
  varying: stringMembers(...TEXT_MEMBERS, 'obfuscation'),
  texts: new Set(TEXT_MEMBERS),
  beyond: new RegExp(`${ERROR_OR_FINISH}|${USAGE.source}`),
  hidden: '',
}
const UNSHOWN: FrameRules = {
  ...SHOWN,
  beyond: new RegExp(`${ERROR_OR_FINISH}|"usage"`),
  hidden: NO_USAGE,
}
const DONE = new TextEncoder().encode('data: [DONE]\n\n')

/**
 * OpenAI's chat completions, also implemented by Ollama, vLLM, LM Studio and many more.
 * https://platform.openai.com/docs/api-reference/chat
 */
export const CHAT_COMPLETIONS: ModelWire = {
  route: 'chat_completions',
  read(bytes) {
    const read = readModelBody(bytes)
    if (!read.ok) return read
    const { json, members } = read.value
    const { model, messages, stream = false, n, stream_options: options } = json
    if (model === undefined) return missingMember('model')
    if (typeof model !== 'string') return invalidMember('model', 'must be the id of a model')
    if (messages === undefined) return missingMember('messages')
    if (!Array.isArray(messages) || messages.length === 0)
      return invalidMember('messages', 'must be a list of messages')
    if (typeof stream !== 'boolean' && stream !== null) return invalidMember('stream', 'must be true or false')
    if (isJson(options) && !stream) return invalidMember('stream_options', 'is allowed only with stream: true')
    const newCap = positive(json['max_completion_tokens'])
    const oldCap = positive(json['max_tokens'])
    if (newCap === undefined) return invalidMember('max_completion_tokens', 'must be a whole number above 0')
    if (oldCap === undefined) return invalidMember('max_tokens', 'must be a whole number above 0')
    const choices = positive(n)
    if (choices === undefined || (choices ?? 1) > 128) return invalidMember('n', 'must be a whole number from 1 to 128')
    const bestOf = positive(json['best_of'])
    if (bestOf === undefined || (bestOf ?? 1) > 128)
      return invalidMember('best_of', 'must be a whole number from 1 to 128')
    const thinking = thinkingOnTop(json)
    if (thinking === undefined) return invalidMember('thinking_budget', 'must be a whole number')
    return ok({
      bytes,
      members,
      model,
      stream: stream === true,
      usageAsked: isJson(options) && options['include_usage'] === true,
      // If both caps are set, the vendor may apply either, so the larger one bounds the output.
      cap: newCap === null || oldCap === null ? (newCap ?? oldCap) : Math.max(newCap, oldCap),
      // All candidates of `best_of` are billed, not only the returned ones.
      choices: Math.max(choices ?? 1, bestOf ?? 1),
      ...(thinking && { thinking }),
      parts: partsOf(messages),
      // A template describes its own tools on demand.
      hasTools:
        elementsOf(json['tools']).length > 0 ||
        elementsOf(json['functions']).length > 0 ||
        isJson(json['chat_template_kwargs']),
      uncovered: uncoveredIn(bytes, json, CHAT_MEMBERS),
      tier: specialTier(json['service_tier']),
    })
  },
  bodyFor(request, upstream, cap) {
    const { bytes, members } = request
    const edits: Edit[] = []
    if (upstream.model !== request.model) edits.push(assigned(bytes, members, 'model', upstream.model))
    if (request.cap === null) edits.push(assigned(bytes, members, upstream.capName, cap))
    else addCapUnder(upstream.capName, request, edits)
    if (request.thinking?.budget === null) edits.push(assigned(bytes, members, 'thinking_budget', request.cap ?? cap))
    for (const name in request.defaults) edits.push(assigned(bytes, members, name, request.defaults[name]))
    // The vendor would keep the call in the operator's account.
    if (members.has('store')) edits.push(assigned(bytes, members, 'store', false))
    if (request.stream && !request.usageAsked) {
      const member = members.get('stream_options')
      const usage: unknown = member ? JSON.parse(decodedText(bytes.subarray(member.start, member.end))) : null
      const options = { ...membersOf(usage), include_usage: true }
      edits.push(assigned(bytes, members, 'stream_options', options))
    }
    return edited(bytes, edits)
  },
  usageOf: (answer) => openAiUsage(answer['usage'], answer['service_tier']),
  textBytes: (answer) => stringBytes(answer, TEXTS),
  answerOf: ({ choices, usage }, _request, bytes) =>
    elementsOf(choices).length > 0 || openAiUsage(usage) ? bytes : null,
  meter: ({ usageAsked, choices }) => new ChatMeter(usageAsked, choices),
  errorEvent: (body) => `data: ${body}\n\n`,
}

/** See `ModelRequest.thinking`; null without it, undefined if its budget is not valid. */
function thinkingOnTop({
  enable_thinking: on = null,
  thinking_budget: budget = null,
}: Json): ModelRequest['thinking'] | null {
  const tokens = budget === 0 ? 0 : positive(budget)
  if (tokens === undefined) return undefined
  return on === false || (on === null && tokens === null) ? null : { budget: tokens }
}

const OTHER_NAME = { max_tokens: 'max_completion_tokens', max_completion_tokens: 'max_tokens' } as const

/** Moves the cap to the property that the upstream reads. Under the other name it would be held for but would not limit the upstream. */
function addCapUnder(name: ModelUpstream['capName'], { bytes, members, cap }: ModelRequest, edits: Edit[]): void {
  const own = members.get(name)
  const other = members.get(OTHER_NAME[name])
  if (!other || (own && decodedText(bytes.subarray(own.start, own.end)) !== 'null')) return
  if (own) edits.push({ ...own, text: String(cap) }, { ...other, text: 'null' })
  else edits.push({ start: other.nameStart, end: other.end, text: `"${name}":${cap}` })
}

/** Parts whose byte length bounds their tokens. An unknown part may be a URL of a file or a video. */
const BOUNDED_BY_BYTES: ReadonlySet<unknown> = new Set(['text', 'refusal', 'thinking'])

function partsOf(messages: readonly unknown[]): InputParts {
  let all: InputParts[] | null = null
  for (const message of messages) {
    const content = isJson(message) ? message['content'] : null
    if (typeof content === 'string') continue
    all ??= []
    for (const part of manyOf(content)) all.push(partOf(part))
  }
  return all ? sumOfParts(all) : TEXT_PART
}

function partOf(part: unknown): InputParts {
  if (!isJson(part)) return TEXT_PART
  if (part['type'] === 'image_url') {
    const url = isJson(part['image_url']) ? part['image_url']['url'] : null
    return imagePart(typeof url === 'string' && url.startsWith('data:') ? url.slice(url.indexOf(',') + 1) : null)
  }
  return BOUNDED_BY_BYTES.has(part['type']) ? TEXT_PART : OPAQUE_PART
}

export class ChatMeter extends EventMeter {
  private counts: ModelTokens | null = null
  /** Whether the usage came in an event of its own, as the final report does. Some servers add a running count to every event. */
  private isReport = false
  private readonly shown: boolean
  private readonly choices: number
  /** The indexes of the choices that have a finish reason. */
  private readonly finished = new Set<unknown>()
  /** Whether the usage came with the last finish reason, or after it. */
  private isCountedToEnd = false

  /** `shown`: the caller requested the usage. Otherwise the usage that the gateway requested is removed. */
  constructor(shown: boolean, choices: number, rules: FrameRules | null = shown ? SHOWN : UNSHOWN) {
    super(rules)
    this.shown = shown
    this.choices = choices
  }

  get seen(): MeteredOutput {
    const isFinal = this.counts !== null && (this.isReport || this.isComplete)
    return { counts: this.counts, isFinal, textBytes: this.textBytes }
  }

  override close(): Uint8Array {
    const rest = super.close()
    // Some servers end without `[DONE]`. With every finish reason and the usage nothing is missing but that.
    const isCounted = this.isCountedToEnd || this.isReport
    if (!this.isComplete && isCounted && this.finished.size >= this.choices) {
      this.isComplete = true
      this.last = DONE
    }
    return rest
  }

  read(event: Uint8Array, text: string): string | null {
    if (text.length < 64 && END.test(text)) {
      this.isComplete = true
      this.last = event
      return ''
    }
    this.textBytes += stringBytes(text, TEXTS)
    if (text.includes('"error"')) this.hasFailed ||= reportsFailure(eventJson(event))
    if (FINISH.test(text)) this.finish(eventJson(event))
    if (!text.includes('"usage"')) return null
    if (USAGE.test(text)) {
      const json = eventJson(event)
      const counts = openAiUsage(json['usage'], json['service_tier'])
      const isAlone = json['usage'] !== undefined && elementsOf(json['choices']).length === 0
      this.counts = counts ?? this.counts
      this.isCountedToEnd ||= counts !== null && this.finished.size > 0
      this.isReport ||= counts !== null && isAlone
      if (this.shown) return null
      if (isAlone) return ''
    }
    return this.shown ? null : withoutUsage(event, text)
  }

  private finish({ choices }: Json): void {
    for (const choice of elementsOf(choices))
      if (isJson(choice) && stringOrEmpty(choice['finish_reason']) !== '') this.finished.add(choice['index'])
    this.isCountedToEnd = false
  }
}

/** The event without its usage, otherwise byte for byte the same. */
function withoutUsage(event: Uint8Array, text: string): string | null {
  // Inside a string its quotes would be escaped, so a match is always a property.
  const plain = text.indexOf(NO_USAGE)
  if (plain >= 0) return text.slice(0, plain) + text.slice(plain + NO_USAGE.length)
  const start = event.indexOf(0x7b)
  const members = start < 0 ? null : objectMembers(event, start)
  const usage = members?.get('usage')
  if (!members || !usage) return null
  const name = text.lastIndexOf('"usage"', usage.start)
  const before = text.slice(0, name).trimEnd()
  const after = text.slice(usage.end)
  return before.endsWith(',') ? before.slice(0, -1) + after : before + after.replace(/^\s*,/, '')
}

function decodedText(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes)
}
