import { elementsOf, isJson, type Json, jsonText, membersOf } from '../../../../../core/json'
import { IN_BOTH } from '../../harmless-members'
import { type ChatEquivalent, manyOf } from '../../model-request'
import { specialTier } from '../../priced-members'
import { isOffTool, itemType, toolsOf } from './responses-members'
import { ToolNames } from './tool-names'

/** Members that have the same name and meaning in both. */
const SAME = ['temperature', 'top_p', 'user', ...IN_BOTH]

/**
 * A Responses call as a chat completion. Left out, because they change nothing that is answered: `metadata`, `store`, hints about
 * caching, summaries of the reasoning, and `include` of reasoning, which a chat completion does not return.
 */
export function chatFormOf(json: Json): ChatEquivalent {
  const names = new ToolNames(toolsOf(json))
  const messages = new ChatMessages(names)
  if (typeof json['instructions'] === 'string') messages.system(json['instructions'])
  messages.addInput(json['input'])
  const tools = names.tools.filter((tool) => !isOffTool(tool))
  const text = membersOf(json['text'])
  const beyond = [messages.beyond, ...beyondChat(json, tools)].find((path) => path !== null) ?? null
  const body = {
    messages: messages.list,
    ...Object.fromEntries(SAME.map((name) => [name, json[name] ?? undefined])),
    reasoning_effort: membersOf(json['reasoning'])['effort'] ?? undefined,
    verbosity: text['verbosity'] ?? undefined,
    service_tier: specialTier(json['service_tier']) ?? undefined,
    ...formatOf(membersOf(text['format'])),
    ...(tools.length > 0 && {
      tools: tools.map(toolOf),
      tool_choice: choiceOf(json['tool_choice'], names),
      parallel_tool_calls: json['parallel_tool_calls'] ?? undefined,
    }),
  }
  return { body: new TextEncoder().encode(JSON.stringify(body)), beyond, others: names.others }
}

/** Tools that become functions. */
const IN_CHAT: ReadonlySet<unknown> = new Set(['function', 'custom', 'tool_search'])

/** The settings that a chat completion cannot express, as paths. */
function beyondChat(json: Json, tools: readonly Json[]): readonly string[] {
  const choice = membersOf(json['tool_choice'])['type']
  const type = membersOf(membersOf(json['text'])['format'])['type'] ?? 'text'
  const isKnown = type === 'text' || type === 'json_object' || type === 'json_schema'
  const logprobs = elementsOf(json['include']).includes('message.output_text.logprobs')
  return [
    ...tools.flatMap((tool) => (IN_CHAT.has(tool['type']) ? [] : [`tools.${jsonText(tool['type'])}`])),
    ...(choice === undefined || choice === 'function' || choice === 'custom'
      ? []
      : [`tool_choice.${jsonText(choice)}`]),
    ...(isKnown ? [] : ['text.format']),
    ...(json['top_logprobs'] ? ['top_logprobs'] : []),
    ...(logprobs ? ['include.message.output_text.logprobs'] : []),
    ...(json['truncation'] === 'auto' ? ['truncation'] : []),
  ]
}

function formatOf({ type, ...format }: Json) {
  if (type === 'json_object') return { response_format: { type } }
  if (type !== 'json_schema') return {}
  const { name, description, schema, strict } = format
  return {
    response_format: {
      type,
      json_schema: { name, description: description ?? undefined, schema, strict: strict ?? undefined },
    },
  }
}

/** A tool that takes text, as a function. */
const TEXT_INPUT = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
}

function toolOf({ type, name, description, format, parameters, strict }: Json) {
  if (type === 'custom') {
    const { syntax, definition } = membersOf(format)
    const rule =
      definition === undefined
        ? ''
        : `\n\nThe input is text in this ${jsonText(syntax)} grammar:\n${jsonText(definition)}`
    return {
      type: 'function',
      function: { name, description: `${jsonText(description ?? '')}${rule}`, parameters: TEXT_INPUT },
    }
  }
  return {
    type: 'function',
    function: {
      name,
      description: description ?? undefined,
      parameters: parameters ?? undefined,
      strict: strict ?? undefined,
    },
  }
}

function choiceOf(choice: unknown, names: ToolNames): unknown {
  if (isJson(choice)) return { type: 'function', function: { name: names.inChat(choice['namespace'], choice['name']) } }
  return choice ?? undefined
}

interface Message {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  content: unknown
  tool_calls?: object[]
  readonly tool_call_id?: unknown
}

const DETAILS: ReadonlySet<unknown> = new Set(['low', 'high', 'auto'])

/** Writes the items of a Responses call as the messages of a chat. */
class ChatMessages {
  readonly list: Message[] = []
  /** The first part that a chat cannot express, as a path; null if there is none. */
  beyond: string | null = null
  private readonly names: ToolNames

  constructor(names: ToolNames) {
    this.names = names
  }

  addInput(input: unknown): void {
    if (typeof input === 'string') this.list.push({ role: 'user', content: input })
    for (const item of elementsOf(input)) if (isJson(item)) this.add(item)
  }

  /** Many chat templates take one system message only, so adjacent ones are joined. */
  system(text: string): void {
    const last = this.list.at(-1)
    if (last?.role === 'system') last.content = `${last.content}\n\n${text}`
    else this.list.push({ role: 'system', content: text })
  }

  private add(item: Json): void {
    switch (itemType(item)) {
      case 'message':
        this.addMessage(item)
        return
      case 'tool_search_call':
      case 'custom_tool_call':
      case 'function_call': {
        const { call_id: id, namespace, name = 'tool_search' } = item
        const call = {
          id,
          type: 'function',
          function: { name: this.names.inChat(namespace, name), arguments: argumentsOf(item) },
        }
        const last = this.list.at(-1)
        if (last?.role !== 'assistant') this.list.push({ role: 'assistant', content: null, tool_calls: [call] })
        else if (last.tool_calls) last.tool_calls.push(call)
        else last.tool_calls = [call]
        return
      }
      case 'custom_tool_call_output':
      case 'function_call_output':
        this.list.push({ role: 'tool', tool_call_id: item['call_id'], content: this.textOf(item['output']) })
        return
      case 'tool_search_output':
        this.list.push({ role: 'tool', tool_call_id: item['call_id'], content: JSON.stringify(item['tools'] ?? []) })
        return
      case 'additional_tools':
      case 'reasoning':
      case 'web_search_call':
        // Tools are a setting of the chat; the others only the vendor that wrote them can read.
        return
      default:
        this.beyond ??= `input.${jsonText(item['type'])}`
    }
  }

  private addMessage({ role, content }: Json): void {
    if (role === 'system' || role === 'developer') this.system(this.textOf(content))
    else if (role === 'assistant') this.list.push({ role, content: this.textOf(content) })
    else this.list.push({ role: 'user', content: this.contentOf(content) })
  }

  private textOf(content: unknown): string {
    if (typeof content === 'string') return content
    const texts = manyOf(content).map((part) => {
      const { text, refusal, type } = membersOf(part)
      if (typeof text === 'string') return text
      if (typeof refusal === 'string') return refusal
      this.beyond ??= `input.${jsonText(type)}`
      return ''
    })
    return texts.join('\n')
  }

  /** A single text stays a text, because some servers take no list. */
  private contentOf(content: unknown): unknown {
    if (typeof content === 'string') return content
    const [first, ...more] = manyOf(content)
    if (more.length === 0 && isJson(first) && first['type'] === 'input_text') return this.textOf(first)
    return manyOf(content).map((part) => {
      const { type, image_url: url, detail } = membersOf(part)
      // Only text: as a list it would be parts of a chat, whose tokens were not counted.
      if (type === 'input_text') return { type: 'text', text: this.textOf(part) }
      if (type === 'input_image' && typeof url === 'string')
        return { type: 'image_url', image_url: { url, ...(DETAILS.has(detail) && { detail }) } }
      this.beyond ??= `input.${jsonText(type)}`
      return null
    })
  }
}

/** The arguments of a call as the JSON that a chat has for them. */
function argumentsOf({ type, arguments: given, input }: Json): unknown {
  if (type === 'custom_tool_call') return JSON.stringify({ input })
  return type === 'tool_search_call' ? JSON.stringify(given ?? {}) : given
}
