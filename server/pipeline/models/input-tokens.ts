import type { ModelRequest, TokenBounds } from './wires/model-request'

/** A tokenizer, off the thread that serves. */
export interface InputTokens {
  /** The tokens of the text of a body, for an estimate; null when it cannot say. */
  count(body: Uint8Array): Promise<number | null>
}

const USUAL_IMAGE_TOKENS = 1_500

/** What a call's input likely is, where no vendor said it: at most what was proven. */
export async function countedInput(
  tokens: InputTokens,
  { bytes, parts }: Pick<ModelRequest, 'bytes' | 'parts'>,
  { most, likely }: TokenBounds['input'],
): Promise<number> {
  const text = await tokens.count(bytes)
  // A file has no text to count.
  if (text === null || parts.opaque > 0) return likely
  return Math.min(most, text + parts.images * USUAL_IMAGE_TOKENS)
}
