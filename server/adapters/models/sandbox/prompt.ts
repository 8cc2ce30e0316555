import { elementsOf, isJson } from '../../../core/json'

/** A call of a sandbox model, independent of its wire format. */
export interface Prompt {
  readonly turns: readonly Turn[]
  readonly tools: readonly OfferedTool[]
  /** `none`: no tool may be called. A name: that one must be. */
  readonly toolChoice: 'auto' | 'none' | { readonly name: string | null }
}

export interface Turn {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly text: string
}

export interface OfferedTool {
  readonly name: string
  readonly schema: unknown
}

/** The reply of a sandbox model. */
export type SandboxReply =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'tool'; readonly name: string; readonly args: Readonly<Record<string, unknown>> }

/** The text of a message: its content, or the texts of its parts. */
export function contentText(content: unknown): string {
  return typeof content === 'string' ? content : joinedTexts(content)
}

/** The texts of the parts that have one, as lines. */
export function joinedTexts(parts: unknown): string {
  return elementsOf(parts)
    .flatMap((part) => (isJson(part) && typeof part['text'] === 'string' ? [part['text']] : []))
    .join('\n')
}
