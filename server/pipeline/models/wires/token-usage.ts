import { isJson, type Json, membersOf } from '../../../core/json'
import type { ModelTokens } from '../../../core/models/model-tokens'
import type { TokenCounts } from '../../../core/usage/call-record'

/**
 * Converts a vendor's usage report to our definition: `input` includes cache reads and writes, `output` includes thinking. Null if
 * it is missing or impossible: not whole numbers, negative, or more cached than there was.
 */
export function openAiUsage(usage: unknown): TokenCounts | null {
  return countsOf(usage, CHAT_NAMES)
}

/** The same counts as OpenAI's Responses API names them. */
export function responsesUsage(usage: unknown): TokenCounts | null {
  return countsOf(usage, RESPONSES_NAMES)
}

const CHAT_NAMES = { input: 'prompt_tokens', output: 'completion_tokens', details: 'prompt_tokens_details' }
const RESPONSES_NAMES = { input: 'input_tokens', output: 'output_tokens', details: 'input_tokens_details' }
const NO_DETAILS: Json = {}

function countsOf(usage: unknown, names: typeof CHAT_NAMES): TokenCounts | null {
  if (!isJson(usage)) return null
  const input = count(usage, names.input)
  const output = count(usage, names.output)
  if (input === null || output === null) return null
  const value = usage[names.details]
  const details = isJson(value) ? value : NO_DETAILS
  return plausible({
    input,
    output,
    cacheRead: count(details, 'cached_tokens') ?? 0,
    cacheWrite: count(details, 'cache_write_tokens') ?? 0,
  })
}

/**
 * Anthropic's `input_tokens` excludes cached parts. `before`: counts of an earlier event, used for those that this one lacks, or reports
 * lower: the counts of a stream only grow, and some servers send zeros at one of its ends.
 */
export function anthropicUsage(usage: unknown, before: AnthropicCounts = NOTHING): AnthropicCounts | null {
  if (!isJson(usage)) return null
  const cacheCreation = membersOf(usage['cache_creation'])
  const hourWrite = Math.max(count(cacheCreation, 'ephemeral_1h_input_tokens') ?? 0, before.hourWrite ?? 0)
  const counts = {
    ...(hourWrite !== 0 && { hourWrite }),
    input: Math.max(count(usage, 'input_tokens') ?? 0, before.input),
    output: Math.max(count(usage, 'output_tokens') ?? 0, before.output),
    cacheRead: Math.max(count(usage, 'cache_read_input_tokens') ?? 0, before.cacheRead),
    cacheWrite: Math.max(count(usage, 'cache_creation_input_tokens') ?? 0, before.cacheWrite),
  }
  return Object.values(counts).every((value) => value >= 0) ? counts : null
}

/** Counts by Anthropic's definition: `input` excludes the cached parts. */
export type AnthropicCounts = ModelTokens
const NOTHING: AnthropicCounts = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }

export function fromAnthropic(counts: AnthropicCounts): ModelTokens | null {
  // One-hour writes are a part of all cache writes, so there cannot be more of them.
  if ((counts.hourWrite ?? 0) > counts.cacheWrite) return null
  return plausible({ ...counts, input: counts.input + counts.cacheRead + counts.cacheWrite })
}

/** Gemini: the prompt includes cached tokens, the candidates exclude thinking, and a missing count is 0. */
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

/** The report of an embeddings call, which has no output. `total` replaces a missing `input`. */
export function embeddingUsage(usage: unknown, input: string, total: string): TokenCounts | null {
  if (!isJson(usage)) return null
  const tokens = count(usage, input) ?? count(usage, total)
  return tokens === null ? null : plausible({ input: tokens, output: 0, cacheRead: 0, cacheWrite: 0 })
}

/** A count; null if absent; NaN, which `plausible` rejects, if it is not a whole number from 0 up. */
function count(usage: Json, name: string): number | null {
  const value = usage[name]
  if (value === undefined || value === null) return null
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) < 10_000_000_000
    ? Number(value)
    : Number.NaN
}

function plausible(counts: ModelTokens): ModelTokens | null {
  const { input, output, cacheRead, cacheWrite } = counts
  const whole = input >= 0 && output >= 0 && cacheRead >= 0 && cacheWrite >= 0
  return whole && cacheRead + cacheWrite <= input && input > 0 ? counts : null
}
