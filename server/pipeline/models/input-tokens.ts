import { type ModelRequest, type TokenBounds, USUAL_IMAGE_TOKENS } from './wires/model-request'

/** A tokenizer that runs off the serving thread. */
export interface InputTokens {
  /** Estimates the tokens of a body's text; null if it cannot. */
  count(body: Uint8Array): Promise<number | null>
}

/** Estimates a call's input tokens where no vendor reported them; never above the proven maximum. */
export async function countedInput(
  tokens: InputTokens,
  { bytes, parts }: Pick<ModelRequest, 'bytes' | 'parts'>,
  { max, likely }: TokenBounds['input'],
): Promise<number> {
  const text = await tokens.count(bytes)
  // A file has no text to count.
  if (text === null || parts.opaque > 0) return likely
  return Math.min(max, text + parts.images * USUAL_IMAGE_TOKENS)
}
