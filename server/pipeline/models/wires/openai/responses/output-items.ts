import { member, parsedJson } from '../../../../../core/json'
import type { CallersTool } from '../../model-request'

/** A text or a refusal, as part of a message. */
export type TextKind = 'output_text' | 'refusal'

export function partOf(kind: TextKind, text: string): object {
  return kind === 'refusal' ? { type: kind, refusal: text } : { type: kind, annotations: [], logprobs: [], text }
}

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

export function messageOf(id: string, status: ItemStatus, content: readonly object[]): object {
  return { id, type: 'message', status, role: 'assistant', content }
}

export interface ToolCall {
  readonly id: string
  readonly callId: string
  readonly tool: CallersTool
  /** The arguments as the chat wrote them. */
  readonly text: string
}

export function toolCallOf({ id, callId, tool, text }: ToolCall, status: ItemStatus): object {
  const { namespace, name, kind } = tool
  if (kind === 'tool_search') {
    const search = { id, type: 'tool_search_call', status, call_id: callId, execution: 'client' }
    return { ...search, arguments: parsedJson(text) ?? {} }
  }
  const called = { status, call_id: callId, namespace, name }
  if (kind === 'custom') return { id, type: 'custom_tool_call', ...called, input: customInput(text) }
  return { id, type: 'function_call', ...called, arguments: text }
}

/** The text that a chat gave to a tool that takes text. Some models leave out the JSON around it. */
export function customInput(text: string): string {
  const input = member(parsedJson(text), 'input')
  return typeof input === 'string' ? input : text
}

/** The tool that a chat called by this name. */
export function calledTool(name: string, others: ReadonlyMap<string, CallersTool> | undefined): CallersTool {
  return others?.get(name) ?? { name, kind: 'function' }
}

const ITEM_IDS = { function: 'fc', custom: 'ctc', tool_search: 'tsc' } as const

export function callItemId({ kind }: CallersTool, own: string): string {
  return `${ITEM_IDS[kind]}_${own}`
}
