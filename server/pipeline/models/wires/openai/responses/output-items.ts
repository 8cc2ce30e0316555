import type { NamespacedName } from './tool-names'

/** A text or a refusal, as part of a message. */
export type TextKind = 'output_text' | 'refusal'

export function partOf(kind: TextKind, text: string): object {
  return kind === 'refusal' ? { type: kind, refusal: text } : { type: kind, annotations: [], logprobs: [], text }
}

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

export function messageOf(id: string, status: ItemStatus, content: readonly object[]): object {
  return { id, type: 'message', status, role: 'assistant', content }
}

/** A call of one of the caller's functions. */
export interface FunctionCall {
  readonly id: string
  readonly callId: string
  readonly name: string
  /** The group of functions that it is from, if it is from one. */
  readonly namespace?: string
  readonly text: string
}

export function functionCallOf(call: FunctionCall, status: ItemStatus): object {
  const { id, callId, namespace, name, text } = call
  return { id, type: 'function_call', status, call_id: callId, namespace, name, arguments: text }
}

/** The name of a function that a chat called, in the words of the Responses call. */
export function calledName(name: string, namespaced: ReadonlyMap<string, NamespacedName> | undefined) {
  return namespaced?.get(name) ?? { name }
}
