import { elementsOf, isJson, type Json, jsonText } from '../../../../../core/json'
import { manyOf } from '../../model-request'
import { itemType } from './responses-members'
import type { ToolNames } from './tool-names'

interface Message {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  content: unknown
  tool_calls?: object[]
  readonly tool_call_id?: unknown
}

const DETAILS: ReadonlySet<unknown> = new Set(['low', 'high', 'auto'])

/** Writes the items of a Responses call as the messages of a chat. */
export class ChatMessages {
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
        else last.tool_calls = [...(last.tool_calls ?? []), call]
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
      const { text, refusal, type } = isJson(part) ? part : {}
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
      const { type, image_url: url, detail } = isJson(part) ? part : {}
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
