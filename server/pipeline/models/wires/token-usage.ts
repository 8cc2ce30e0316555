import { isJson, type Json } from '../../../core/json'
import type { ModelTokens } from '../../../core/models/model-tokens'
import type { TokenCounts } from '../../../core/usage/call-record'

/**
 * Reads what a vendor says of the tokens of a call, in our one meaning: `input` with what a cache gave or took, `output` with
 * the thinking. Null where it is missing or cannot be true: not whole, below zero, more cached than there was.
 */
export function openAiUsage(usage: unknown): TokenCounts | null {
  if (!isJson(usage)) return null
  const input = count(usage, 'prompt_tokens')
  const output = count(usage, 'completion_tokens')
  if (input === null || output === null) return null
  const details = isJson(usage['prompt_tokens_details']) ? usage['prompt_tokens_details'] : {}
  return plausible({
    input,
    output,
    cacheRead: count(details, 'cached_tokens') ?? 0,
    cacheWrite: count(details, 'cache_write_tokens') ?? 0,
  })
}

/** Anthropic's `input_tokens` leaves cached parts out. `before`: what an earlier event said, for what this one does not. */
export function anthropicUsage(usage: unknown, before: AnthropicCounts = NOTHING): AnthropicCounts | null {
  if (!isJson(usage)) return null
  const kept = isJson(usage['cache_creation']) ? usage['cache_creation'] : {}
  const hourWrite = count(kept, 'ephemeral_1h_input_tokens') ?? before.hourWrite ?? 0
  const counts = {
    ...(hourWrite !== 0 && { hourWrite }),
    input: count(usage, 'input_tokens') ?? before.input,
    output: count(usage, 'output_tokens') ?? before.output,
    cacheRead: count(usage, 'cache_read_input_tokens') ?? before.cacheRead,
    cacheWrite: count(usage, 'cache_creation_input_tokens') ?? before.cacheWrite,
  }
  return Object.values(counts).every((value) => value >= 0) ? counts : null
}

/** As Anthropic counts: `input` without the cached parts. */
export type AnthropicCounts = ModelTokens
const NOTHING: AnthropicCounts = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }

export function fromAnthropic(counts: AnthropicCounts): ModelTokens | null {
  // An hour's part of nothing cannot be true.
  if ((counts.hourWrite ?? 0) > counts.cacheWrite) return null
  return plausible({ ...counts, input: counts.input + counts.cacheRead + counts.cacheWrite })
}

/** Gemini: cached is inside the prompt, thinking is outside the candidates, and a missing count is 0. */
export function geminiUsage(usage: unknown): TokenCounts | null {
  if (!isJson(usage)) return null
  const names = [
    'promptTokenCount',
    'toolUsePromptTokenCount',
    'candidatesTokenCount',
    'thoughtsTokenCount',
    'cachedContentTokenCount',
  ]
  const [prompt, tools, candidates, thoughts, cached] = names.map((name) => count(usage, name) ?? 0)
  return plausible({
    input: (prompt ?? 0) + (tools ?? 0),
    output: (candidates ?? 0) + (thoughts ?? 0),
    cacheRead: cached ?? 0,
    cacheWrite: 0,
  })
}

/** A count, null where there is none; NaN, which nothing plausible holds, where it is not a whole number from 0 up. */
function count(usage: Json, name: string): number | null {
  const value = usage[name]
  if (value === undefined || value === null) return null
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) < 10_000_000_000
    ? Number(value)
    : Number.NaN
}

function plausible(counts: ModelTokens): ModelTokens | null {
  const { input, output, cacheRead, cacheWrite } = counts
  const whole = [input, output, cacheRead, cacheWrite].every((value) => value >= 0)
  return whole && cacheRead + cacheWrite <= input && input > 0 ? counts : null
}
