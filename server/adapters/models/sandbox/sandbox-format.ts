import type { Json } from '../../../core/json'
import type { Prompt, SandboxReply } from './prompt'

/** A sandbox model's reply before it is written in a wire format. */
export interface SandboxAnswer {
  readonly id: string
  readonly model: string
  /** UNIX seconds. */
  readonly created: number
  readonly reply: SandboxReply
  /** The text of a reply of text, cut where the cap cut it, and the same in the pieces that a stream has. */
  readonly text: string
  readonly pieces: readonly string[]
  readonly finish: 'stop' | 'length'
  readonly usage: { readonly input: number; readonly output: number }
}

/** One wire format, as a vendor's server uses it. */
export interface SandboxFormat {
  prompt(body: Json): Prompt
  plain(answer: SandboxAnswer): object
  /** The events of a stream, its end included. */
  events(answer: SandboxAnswer): readonly string[]
}
