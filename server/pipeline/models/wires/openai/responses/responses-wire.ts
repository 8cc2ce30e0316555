import { type Failure, failure } from '../../../../../core/failure'
import { elementsOf, isJson, type Json, jsonText, membersOf } from '../../../../../core/json'
import type { ModelTokens } from '../../../../../core/models/model-tokens'
import { err, ok } from '../../../../../core/result'
import type { FrameRules, Run } from '../../event-frame'
import { EventMeter } from '../../event-meter'
import { assigned, edited, listElements, type MemberPosition, objectMembers } from '../../json/json-members'
import { readableJson } from '../../json/readable-json'
import {
  type InputParts,
  type ItemReference,
  imagePart,
  invalidMember,
  type ModelRequest,
  missingMember,
  OPAQUE_PART,
  positive,
  readModelBody,
  sumOfParts,
  TEXT_PART,
  toolLimit,
  undatedTool,
} from '../../model-request'
import { type MeteredOutput, type ModelWire, stringBytes, stringMembers, type UpstreamWire } from '../../model-wire'
import { specialTier, uncoveredIn } from '../../priced-members'
import { eventJson } from '../../sse-events'
import { responsesUsage } from '../../token-usage'
import { CHAT_COMPLETIONS } from '../chat-completions-wire'
import { chatBodyFor, OverChatMeter } from '../over-chat'
import { chatFormOf } from './chat-form'
import { calledTool, callItemId, messageOf, partOf, type TextKind, toolCallOf } from './output-items'
import { ResponseEvents } from './response-events'
import { incompleteReason, ResponseFrame } from './response-frame'
import {
  isOffTool,
  OFF_TOOL,
  partsOfItem,
  RESPONSES_MEMBERS,
  TEXT_PARTS,
  toolsOf,
  vendorDescribedTools,
} from './responses-members'

/** Responses by an upstream that speaks chat completions only. */
const RESPONSES_OVER_CHAT: UpstreamWire = {
  bodyFor: chatBodyFor,
  usageOf: CHAT_COMPLETIONS.usageOf,
  textBytes: CHAT_COMPLETIONS.textBytes,
  answerOf(answer, request) {
    const [choice] = elementsOf(answer['choices'])
    if (!isJson(choice)) return null
    return new TextEncoder().encode(responseOf(request, answer, choice))
  },
  meter: (request) => new OverChatMeter(request, new ResponseEvents(request)),
}

const TEXTS = stringMembers('text', 'arguments', 'input', 'refusal')

/** OpenAI's Responses. Nothing is stored: the caller sends the whole conversation, and may refer to items of the last half hour. */
export const RESPONSES: ModelWire = {
  route: 'responses',
  read(bytes) {
    const read = readModelBody(bytes)
    if (!read.ok) return read
    const { json, members } = read.value
    const { model, input, instructions = null, stream = false, store } = json
    if (model === undefined) return missingMember('model')
    if (typeof model !== 'string') return invalidMember('model', 'must be the id of a model')
    const stateful = statefulMember(json)
    if (stateful) return err(stateful)
    if (input === undefined) return missingMember('input')
    if (typeof input !== 'string' && (!Array.isArray(input) || input.length === 0 || !input.every(isJson)))
      return invalidMember('input', 'must be text or a list of items')
    if (typeof instructions !== 'string' && instructions !== null) return invalidMember('instructions', 'must be text')
    if (typeof stream !== 'boolean' && stream !== null) return invalidMember('stream', 'must be true or false')
    if (store !== undefined && store !== null && typeof store !== 'boolean')
      return invalidMember('store', 'must be true or false')
    const cap = positive(json['max_output_tokens'])
    if (cap === undefined) return invalidMember('max_output_tokens', 'must be a whole number above 0')
    return ok({
      bytes,
      members,
      model,
      stream: stream === true,
      usageAsked: true,
      cap,
      choices: 1,
      parts: sumOfParts(elementsOf(input).flatMap(inputParts)),
      hasTools: toolsOf(json).length > 0 || isJson(json['chat_template_kwargs']),
      vendorTools: vendorDescribedTools(json),
      ...offTools(bytes, members.get('tools'), json['tools']),
      uncovered: uncoveredIn(bytes, json, RESPONSES_MEMBERS),
      tier: specialTier(json['service_tier']),
      ...(searchesWeb(json) && { uses: { [OFF_TOOL]: toolLimit(json['max_tool_calls']) } }),
      references: referencesOf(input),
      keepsItems: store !== false,
      chat: chatFormOf(json),
    })
  },
  bodyFor({ bytes, members, model, cap: given, defaults = {} }, upstream, cap) {
    const set = (name: string, value: unknown) => assigned(bytes, members, name, value)
    return edited(bytes, [
      set('store', false),
      ...(upstream.model === model ? [] : [set('model', upstream.model)]),
      ...(given === null ? [set('max_output_tokens', cap)] : []),
      ...Object.entries(defaults).map(([name, value]) => set(name, value)),
    ])
  },
  usageOf: usageOfResponse,
  // Only the output: the rest of the answer repeats the call.
  textBytes: (answer) => stringBytes(outputOf(answer), TEXTS),
  answerOf: ({ status, output, usage }, _request, bytes) =>
    status !== 'failed' && (Array.isArray(output) || isJson(usage)) ? bytes : null,
  meter: () => new ResponsesMeter(),
  overChat: RESPONSES_OVER_CHAT,
  errorEvent(body, _path, sent) {
    const { error } = Object(JSON.parse(body))
    const { code = null, message = '', param = null } = Object(error)
    // OpenAI's own flat members, and the object that both SDKs prefer.
    const event = { type: 'error', sequence_number: sent, code, message, param, error }
    return `event: error\ndata: ${JSON.stringify(event)}\n\n`
  },
}

/** The refusal of a call that relies on something that the vendor would keep; null if it does not. */
function statefulMember(json: Json): Failure | null {
  const refused = (param: string, why: string) => failure('unsupported_parameter', why, { param })
  const isSet = (name: string) => json[name] !== undefined && json[name] !== null
  if (json['background'] === true)
    return refused('background', 'background is not offered: no response is kept that could be fetched later.')
  for (const name of ['previous_response_id', 'conversation'])
    if (isSet(name))
      return refused(
        name,
        `${name} is not offered: no response is kept. Send the earlier messages and tool calls as items of input.`,
      )
  if (isSet('prompt')) return refused('prompt', 'prompt is not offered: send its text as instructions and input.')
  return null
}

function searchesWeb(json: Json): boolean {
  return toolsOf(json).some((tool) => undatedTool(jsonText(membersOf(tool)['type'] ?? '')) === OFF_TOOL)
}

/** The usage of an answer, with the searches in it. Opening a page that was found is not billed. */
function usageOfResponse({ usage, service_tier: tier, output }: Json): ModelTokens | null {
  const counts = responsesUsage(usage, tier)
  const searches = elementsOf(output).filter(
    (item) =>
      isJson(item) &&
      item['type'] === 'web_search_call' &&
      (membersOf(item['action'])['type'] ?? 'search') === 'search',
  ).length
  return counts && searches > 0 ? { ...counts, uses: { [OFF_TOOL]: searches } } : counts
}

/** See `ModelRequest.withoutOffTools`. */
function offTools(bytes: Uint8Array<ArrayBuffer>, member: MemberPosition | undefined, tools: unknown) {
  const isOff = (tool: unknown) => isJson(tool) && isOffTool(tool)
  const list = elementsOf(tools)
  const count = list.filter(isOff).length
  if (!member || count === 0) return {}
  const kept = listElements(bytes, member.start).filter((_, index) => !isOff(list[index]))
  const texts = kept.map(({ start, end }) => new TextDecoder().decode(bytes.subarray(start, end)))
  const text = `[${texts.join(',')}]`
  const without = edited(bytes, [{ ...member, text }])
  const members = objectMembers(without)
  if (!members) throw new Error('a body without some of its tools has a property twice')
  return { withoutOffTools: { path: `tools.${OFF_TOOL}`, bytes: without, members, count } }
}

function referencesOf(input: unknown): readonly ItemReference[] {
  return elementsOf(input).flatMap((item, index) =>
    isJson(item) && item['type'] === 'item_reference' ? [{ id: jsonText(item['id'] ?? ''), index }] : [],
  )
}

function inputParts(item: unknown): InputParts[] {
  if (!isJson(item)) return [TEXT_PART]
  return partsOfItem(item).map((part) => {
    if (!isJson(part)) return TEXT_PART
    const { type, image_url: url } = part
    if (type === 'input_image')
      return imagePart(typeof url === 'string' && url.startsWith('data:') ? url.slice(url.indexOf(',') + 1) : null)
    return TEXT_PARTS.has(type) ? TEXT_PART : OPAQUE_PART
  })
}

function outputOf(answer: string): string {
  const json = readableJson(answer)
  return JSON.stringify(isJson(json) ? elementsOf(json['output']) : [])
}

function responseOf(request: ModelRequest, answer: Json, { message, finish_reason: finish }: Json): string {
  const frame = new ResponseFrame(request, answer)
  const reason = incompleteReason(finish)
  const status = reason === null ? 'completed' : 'incomplete'
  const { content, refusal, tool_calls: calls } = membersOf(message)
  const parts = (
    [
      ['output_text', content],
      ['refusal', refusal],
    ] satisfies [TextKind, unknown][]
  ).flatMap(([kind, text]) => (typeof text === 'string' && text !== '' ? [partOf(kind, text)] : []))
  const called = elementsOf(calls)
    .filter(isJson)
    .map(({ id, function: made }, at) => {
      const { name, arguments: text } = membersOf(made)
      const own = `${frame.id}_${at}`
      const callId = typeof id === 'string' && id !== '' ? id : `call_${own}`
      const tool = calledTool(jsonText(name), request.chat?.others)
      return toolCallOf({ id: callItemId(tool, own), callId, tool, text: jsonText(text ?? '') }, status)
    })
  const hasMessage = parts.length > 0 || called.length === 0
  const messageParts = parts.length > 0 ? parts : [partOf('output_text', '')]
  return frame.json({
    status,
    reason,
    output: [...(hasMessage ? [messageOf(`msg_${frame.id}`, status, messageParts)] : []), ...called],
    usage: answer['usage'],
  })
}

/** Every text arrives once in a delta. The events that close a part repeat it. */
const DELTAS = stringMembers('delta')
/** Events beyond content. A match inside answer text only means that the events are parsed. */
const NOT_CONTENT_ALONE = /response\.(?:completed|incomplete|failed|cancelled)|\berror\b/
const DELTA_EVENTS: FrameRules = {
  varying: /"(delta|obfuscation)"\s*:\s*"|"sequence_number"\s*:\s*(?=\d)/g,
  texts: new Set(['delta']),
  beyond: NOT_CONTENT_ALONE,
  hidden: '',
}
const NAME = /(?:^|\n)event:\s*([\w.]+)/
const NUMBERS = /"sequence_number"\s*:\s*(\d{1,9})/g

/** Meters a stream of the Responses API, whose last event has the usage of the call. */
class ResponsesMeter extends EventMeter {
  sentEvents = 0
  private counts: ModelTokens | null = null

  constructor() {
    super(DELTA_EVENTS)
  }

  get seen(): MeteredOutput {
    return { counts: this.counts, isFinal: this.counts !== null, textBytes: this.textBytes }
  }

  override count(run: Run, events: string): void {
    super.count(run, events)
    const { number } = run
    if (number !== null) this.sentEvents = number + 1
  }

  read(event: Uint8Array, text: string): string | null {
    const type = NOT_CONTENT_ALONE.test(text) ? (NAME.exec(text)?.[1] ?? eventJson(event)['type']) : ''
    if (type === 'response.completed' || type === 'response.incomplete') {
      const { response } = eventJson(event)
      this.counts = isJson(response) ? usageOfResponse(response) : null
      this.isComplete = true
      this.last = event
      return ''
    }
    this.hasFailed ||= type === 'response.failed' || type === 'response.cancelled' || type === 'error'
    this.textBytes += stringBytes(text, DELTAS)
    for (const [, number] of text.matchAll(NUMBERS)) this.sentEvents = Number(number) + 1
    return null
  }
}
