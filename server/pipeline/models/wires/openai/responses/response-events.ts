import { elementsOf, isJson, type Json, jsonText, membersOf } from '../../../../../core/json'
import { reportsFailure } from '../../json/readable-json'
import type { ModelRequest } from '../../model-request'
import type { ChatTranslator } from '../over-chat'
import {
  calledTool,
  callItemId,
  customInput,
  type ItemStatus,
  messageOf,
  partOf,
  type TextKind,
  type ToolCall,
  toolCallOf,
} from './output-items'
import { incompleteReason, ResponseFrame, type ResponseState } from './response-frame'

interface OpenMessage {
  readonly id: string
  readonly outputIndex: number
  readonly parts: object[]
  /** The part that is being written. */
  kind: TextKind
  text: string
}

interface OpenCall extends ToolCall {
  /** Whether the chat gave it an id. */
  readonly hasId: boolean
  readonly outputIndex: number
  text: string
}

const TEXT_EVENT = { output_text: 'response.output_text', refusal: 'response.refusal' } as const

/** Writes a stream of chat completions as the typed events of the Responses API. */
export class ResponseEvents implements ChatTranslator {
  sentEvents = 0
  private readonly request: ModelRequest
  private frame: ResponseFrame | null = null
  private output: object[] = []
  private message: OpenMessage | null = null
  /** They stay open to the end, since a chat may continue any of them. */
  private readonly calls: OpenCall[] = []
  /** The latest call of each index in the chat. */
  private readonly callAt = new Map<unknown, OpenCall>()
  private finish: unknown = null
  private usage: unknown = null

  constructor(request: ModelRequest) {
    this.request = request
  }

  chunk(json: Json): string {
    const { error, choices, usage } = json
    if (reportsFailure(json)) return this.failed(error)
    if (!Array.isArray(choices)) return ''
    if (isJson(usage)) this.usage = usage
    const start = this.frame ? '' : this.begin(json)
    const [choice] = choices
    if (!isJson(choice)) return start
    this.finish = choice['finish_reason'] ?? this.finish
    const { content, refusal, tool_calls: calls } = membersOf(choice['delta'])
    return [
      start,
      this.textDelta('output_text', content),
      this.textDelta('refusal', refusal),
      ...elementsOf(calls)
        .filter(isJson)
        .map((call) => this.called(call)),
    ].join('')
  }

  end(): string {
    const start = this.frame ? '' : this.begin({})
    const reason = incompleteReason(this.finish)
    const status = reason === null ? 'completed' : 'incomplete'
    const empty = this.output.length === 0 ? this.opened('output_text') : ''
    const closed = [this.closeMessage(status), ...this.calls.map((call) => this.closeCall(call, status))]
    const state = { status, reason, output: this.output, usage: this.usage } as const
    return [start, empty, ...closed, this.lifecycle(status, state)].join('')
  }

  private begin(chat: Json): string {
    this.frame = new ResponseFrame(this.request, chat)
    const state = { status: 'in_progress', output: [], usage: null } as const
    return this.lifecycle('created', state) + this.lifecycle('in_progress', state)
  }

  private failed(error: unknown): string {
    const start = this.frame ? '' : this.begin({})
    const { message } = isJson(error) ? error : { message: error }
    const failure = { code: 'server_error', message: jsonText(message ?? 'The model failed.') }
    return start + this.lifecycle('failed', { status: 'failed', output: this.output, usage: null, error: failure })
  }

  private textDelta(kind: TextKind, delta: unknown): string {
    if (typeof delta !== 'string' || delta === '') return ''
    const start = this.opened(kind)
    const { message } = this
    if (!message) return start
    message.text += delta
    const logprobs = kind === 'output_text' ? { logprobs: [] } : {}
    return start + this.event(`${TEXT_EVENT[kind]}.delta`, { ...positionOf(message), delta, ...logprobs })
  }

  /** Opens a message, or a part of it, unless it is open. */
  private opened(kind: TextKind): string {
    if (this.message?.kind === kind) return ''
    if (this.message) {
      const closed = this.closePart(this.message)
      this.message.kind = kind
      this.message.text = ''
      return closed + this.partAdded(this.message)
    }
    const outputIndex = this.output.length
    const id = `msg_${this.frame?.id}${outputIndex === 0 ? '' : `_${outputIndex}`}`
    this.message = { id, outputIndex, parts: [], kind, text: '' }
    return this.itemAdded(outputIndex, messageOf(id, 'in_progress', [])) + this.partAdded(this.message)
  }

  private partAdded(message: OpenMessage): string {
    return this.event('response.content_part.added', { ...positionOf(message), part: partOf(message.kind, '') })
  }

  private closePart(message: OpenMessage): string {
    const { kind, text, parts } = message
    const position = positionOf(message)
    const part = partOf(kind, text)
    const whole = kind === 'refusal' ? { refusal: text } : { text, logprobs: [] }
    const events =
      this.event(`${TEXT_EVENT[kind]}.done`, { ...position, ...whole }) +
      this.event('response.content_part.done', { ...position, part })
    parts.push(part)
    return events
  }

  private closeMessage(status: ItemStatus): string {
    const { message } = this
    if (!message) return ''
    this.message = null
    const closed = this.closePart(message)
    return closed + this.itemDone(message.outputIndex, messageOf(message.id, status, message.parts))
  }

  private called({ index, id, function: made }: Json): string {
    const { name, arguments: text } = membersOf(made)
    const latest = this.callAt.get(index ?? id)
    const known = latest && isAnother(latest, id, name) ? undefined : latest
    const start = known ? '' : this.closeMessage('completed')
    const call = known ?? this.newCall(id, name)
    if (!known) this.callAt.set(index ?? id, call)
    const added = known ? '' : this.itemAdded(call.outputIndex, toolCallOf(call, 'in_progress'))
    if (typeof text !== 'string' || text === '') return start + added
    call.text += text
    // Anything but a function is known when its JSON is whole.
    if (call.tool.kind !== 'function') return start + added
    const delta = { item_id: call.id, output_index: call.outputIndex, delta: text }
    return start + added + this.event('response.function_call_arguments.delta', delta)
  }

  private newCall(id: unknown, name: unknown): OpenCall {
    const own = `${this.frame?.id}_${this.calls.length}`
    const hasId = typeof id === 'string' && id !== ''
    const callId = hasId ? id : `call_${own}`
    const tool = calledTool(jsonText(name ?? ''), this.request.chat?.others)
    const call = {
      id: callItemId(tool, own),
      callId,
      hasId,
      tool,
      outputIndex: this.output.length,
      text: '',
    }
    this.calls.push(call)
    return call
  }

  private closeCall(call: OpenCall, status: ItemStatus): string {
    return this.argumentsDone(call) + this.itemDone(call.outputIndex, toolCallOf(call, status))
  }

  private argumentsDone({ id, tool: { kind, name }, text, outputIndex }: OpenCall): string {
    if (kind === 'tool_search') return ''
    const at = { item_id: id, output_index: outputIndex }
    if (kind === 'function')
      return this.event('response.function_call_arguments.done', { ...at, name, arguments: text })
    const input = customInput(text)
    const delta = this.event('response.custom_tool_call_input.delta', { ...at, delta: input })
    return delta + this.event('response.custom_tool_call_input.done', { ...at, input })
  }

  private itemAdded(outputIndex: number, item: object): string {
    this.output[outputIndex] = item
    return this.event('response.output_item.added', { output_index: outputIndex, item })
  }

  private itemDone(outputIndex: number, item: object): string {
    this.output[outputIndex] = item
    return this.event('response.output_item.done', { output_index: outputIndex, item })
  }

  private lifecycle(name: ResponseState['status'] | 'created', state: ResponseState): string {
    return this.written(`response.${name}`, `"response":${this.frame?.json(state)}`)
  }

  private event(type: string, members: object): string {
    return this.written(type, JSON.stringify(members).slice(1, -1))
  }

  private written(type: string, members: string): string {
    return `event: ${type}\ndata: {"type":"${type}","sequence_number":${this.sentEvents++},${members}}\n\n`
  }
}

/** Whether a delta begins another call: some servers give each call index 0. One without an id or a name continues the latest call. */
function isAnother({ hasId, callId }: OpenCall, id: unknown, name: unknown): boolean {
  const isNamed = typeof name === 'string' && name !== ''
  return hasId && isNamed && typeof id === 'string' && id !== '' && id !== callId
}

function positionOf({ id, outputIndex, parts }: OpenMessage) {
  return { item_id: id, output_index: outputIndex, content_index: parts.length }
}
