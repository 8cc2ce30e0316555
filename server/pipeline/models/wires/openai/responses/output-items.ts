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
  readonly text: string
}

export function functionCallOf({ id, callId, name, text }: FunctionCall, status: ItemStatus): object {
  return { id, type: 'function_call', status, call_id: callId, name, arguments: text }
}
