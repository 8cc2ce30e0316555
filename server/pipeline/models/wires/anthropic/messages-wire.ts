import { elementsOf, isJson, jsonText, membersOf, partsOf } from '../../../../core/json'
import type { ModelTokens } from '../../../../core/models/model-tokens'
import { ok } from '../../../../core/result'
import type { FrameRules } from '../event-frame'
import { EventMeter } from '../event-meter'
import { edited } from '../json/json-members'
import {
  type InputParts,
  imagePart,
  invalidMember,
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
import { type AnthropicCounts, anthropicUsage, fromAnthropic } from '../token-usage'
import { isHistory, MESSAGES_MEMBERS, vendorDescribedTools, vendorUses } from './messages-members'

const TEXT_MEMBERS = ['text', 'partial_json', 'thinking']
const TEXTS = stringMembers(...TEXT_MEMBERS)
const STOP = new TextEncoder().encode('event: message_stop\ndata: {"type":"message_stop"}\n\n')

/**
 * Anthropic's messages.
 * https://platform.claude.com/docs/en/api/messages
 */
export const MESSAGES: ModelWire = {
  route: 'messages',
  read(bytes) {
    const read = readModelBody(bytes)
    if (!read.ok) return read
    const { json, members } = read.value
    const { model, messages, stream = false, max_tokens: cap } = json
    if (model === undefined) return missingMember('model')
    if (typeof model !== 'string') return invalidMember('model', 'must be the id of a model')
    if (cap === undefined) return missingMember('max_tokens')
    const maxTokens = positive(cap)
    if (!maxTokens) return invalidMember('max_tokens', 'must be a whole number above 0')
    if (messages === undefined) return missingMember('messages')
    if (!Array.isArray(messages) || messages.length === 0)
      return invalidMember('messages', 'must be a list of messages')
    if (typeof stream !== 'boolean') return invalidMember('stream', 'must be true or false')
    return ok({
      bytes,
      members,
      model,
      stream,
      usageAsked: true,
      cap: maxTokens,
      choices: 1,
      parts: sumOfParts([{ content: json['system'] }, ...messages].flatMap((message) => blocksOf(message))),
      hasTools: elementsOf(json['tools']).length > 0,
      vendorTools: vendorDescribedTools(json),
      uncovered: uncoveredIn(bytes, json, MESSAGES_MEMBERS),
      ...(json['speed'] !== undefined && { tier: specialTier(json['speed']) }),
      // "auto", the default: capacity that the operator has bought is used first.
      ...(json['service_tier'] !== 'standard_only' && { unaskedTier: 'priority' }),
      ...vendorUses(json),
    })
  },
  bodyFor({ bytes, members, model }, upstream) {
    const member = members.get('model')
    if (upstream.model === model || !member) return bytes
    return edited(bytes, [{ ...member, text: JSON.stringify(upstream.model) }])
  },
  usageOf(answer) {
    const counts = anthropicUsage(answer['usage'])
    return counts && fromAnthropic(counts)
  },
  textBytes: (answer) => stringBytes(answer, TEXTS),
  answerOf: ({ content, usage }, _request, bytes) => (Array.isArray(content) || isJson(usage) ? bytes : null),
  meter: () => new MessagesMeter(),
  errorEvent: (body) => `event: error\ndata: ${body}\n\n`,
}

/** Blocks whose byte length bounds their tokens. */
const BOUNDED_BY_BYTES: ReadonlySet<unknown> = new Set([
  'text',
  'search_result',
  'thinking',
  'redacted_thinking',
  'tool_use',
  'tool_reference',
])

function blocksOf(holder: unknown): InputParts[] {
  return manyOf(isJson(holder) ? holder['content'] : null).flatMap((block) => {
    if (!isJson(block)) return [TEXT_PART]
    const source = membersOf(block['source'])
    if (block['type'] === 'image') return [imagePart(source['type'] === 'base64' ? source['data'] : null)]
    if (block['type'] === 'document') return [source['type'] === 'text' ? TEXT_PART : OPAQUE_PART]
    if (block['type'] === 'tool_result') return blocksOf(block)
    if (isHistory(block['type'])) return [TEXT_PART, ...filesIn(block)]
    return [BOUNDED_BY_BYTES.has(block['type']) ? TEXT_PART : OPAQUE_PART]
  })
}

/** Images and documents inside the result of a vendor's tool, however deep. */
function filesIn(value: object): InputParts[] {
  return partsOf(value).flatMap((part) => {
    if (typeof part !== 'object' || part === null) return []
    const isFile = isJson(part) && (part['type'] === 'image' || part['type'] === 'document')
    return isFile ? blocksOf({ content: part }) : filesIn(part)
  })
}

/** Events of content blocks, which are nearly all of them. */
const CONTENT: FrameRules = {
  varying: TEXTS,
  texts: new Set(TEXT_MEMBERS),
  beyond: /message_(?:start|delta|stop)|\berror\b/,
  hidden: '',
}

const NAME = /(?:^|\n)event:\s*(\w+)/

class MessagesMeter extends EventMeter {
  private counts: AnthropicCounts | null = null
  private isFinal = false
  private hasStopped = false

  constructor() {
    super(CONTENT)
  }

  get seen(): MeteredOutput {
    const counts: ModelTokens | null = this.counts && fromAnthropic(this.counts)
    // The output count of the first event is provisional; the last delta has the count of the whole call.
    return {
      counts: counts && !this.isFinal ? { ...counts, output: 0 } : counts,
      isFinal: this.isFinal,
      textBytes: this.textBytes,
    }
  }

  override close(): Uint8Array {
    const rest = super.close()
    // Some servers end without `message_stop`. With the stop reason and the usage nothing is missing but that.
    if (!this.isComplete && this.isFinal && this.hasStopped) {
      this.isComplete = true
      this.last = STOP
    }
    return rest
  }

  read(event: Uint8Array, text: string): string | null {
    switch (NAME.exec(text)?.[1] ?? jsonText(eventJson(event)['type'])) {
      case 'message_start': {
        const { message } = eventJson(event)
        this.counts = anthropicUsage(isJson(message) ? message['usage'] : null)
        return null
      }
      case 'message_delta': {
        const { usage, delta } = eventJson(event)
        this.hasStopped ||= isJson(delta) && typeof delta['stop_reason'] === 'string'
        // Cumulative: each report replaces the one before.
        const next = anthropicUsage(usage, this.counts ?? undefined)
        if (next && isJson(usage) && usage['output_tokens'] !== undefined) {
          this.counts = next
          this.isFinal = true
        }
        return null
      }
      case 'message_stop':
        this.isComplete = true
        this.last = event
        return ''
      case 'error':
        this.hasFailed = true
        return null
      default:
        this.textBytes += stringBytes(text, TEXTS)
        return null
    }
  }
}
