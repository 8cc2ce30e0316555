import { elementsOf, isCount, isJson, type Json, jsonText, membersOf } from '../../../core/json'
import { USUAL_TIERS } from '../../../core/models/model-file-schema'
import type { ModelTokens } from '../../../core/models/model-tokens'
import type { TokenCounts } from '../../../core/usage/call-record'

/**
 * Converts a vendor's usage report to our definition: `input` includes cache reads and writes, `output` includes thinking. Null if
 * it is missing or impossible: not whole numbers, negative, or more cached than there was. `tier`: the one that the answer names.
 */
export function openAiUsage(usage: unknown, tier?: unknown): ModelTokens | null {
  return countsOf(usage, tier, CHAT_NAMES)
}

/** The same counts as OpenAI's Responses API names them. */
export function responsesUsage(usage: unknown, tier?: unknown): ModelTokens | null {
  return countsOf(usage, tier, RESPONSES_NAMES)
}

const CHAT_NAMES = {
  input: 'prompt_tokens',
  output: 'completion_tokens',
  read: 'prompt_tokens_details',
  written: 'completion_tokens_details',
}
const RESPONSES_NAMES = {
  input: 'input_tokens',
  output: 'output_tokens',
  read: 'input_tokens_details',
  written: 'output_tokens_details',
}

function countsOf(usage: unknown, tier: unknown, names: typeof CHAT_NAMES): ModelTokens | null {
  if (!isJson(usage)) return null
  const input = count(usage, names.input)
  const output = count(usage, names.output)
  if (input === null || output === null) return null
  const read = membersOf(usage[names.read])
  const written = membersOf(usage[names.written])
  const cacheRead = count(read, 'cached_tokens') ?? 0
  const cacheWrite = count(read, 'cache_write_tokens') ?? 0
  const sound = sizeOf(read, 'audio_tokens')
  const images = sizeOf(read, 'image_tokens')
  const reasoning = sizeOf(written, 'reasoning_tokens')
  const spoken = sizeOf(written, 'audio_tokens')
  const drawn = sizeOf(written, 'image_tokens')
  // xAI counts what is reasoned next to the output, not in it.
  const isBeside = reasoning > 0 && usage['total_tokens'] === input + output + reasoning
  const counts = { input, output: isBeside ? output + reasoning : output, cacheRead, cacheWrite }
  if (sound + images + reasoning + spoken + drawn === 0 && typeof tier !== 'string') return plausible(counts)
  const fresh = Math.min(sound, input - cacheRead - cacheWrite)
  const parts = {
    input_audio: fresh,
    // Sound that is not in the rest of the input came from the cache.
    cache_read_audio: sound - fresh,
    input_image: images,
    output_reasoning: reasoning,
    output_audio: spoken,
    output_image: drawn,
  }
  return detailed(counts, parts, tier)
}

/** The counts with those of their parts that are there, and the tier. Null if the counts are impossible. */
function detailed(counts: TokenCounts, sizes: NonNullable<ModelTokens['parts']>, tier: unknown): ModelTokens | null {
  const there = Object.entries(sizes).filter(([, size]) => size > 0)
  const parts = there.length > 0 ? Object.fromEntries(there) : null
  if (parts === null && typeof tier !== 'string') return plausible(counts)
  return plausible({
    ...counts,
    ...(parts && { parts }),
    ...(typeof tier === 'string' && { tier: tier.toLowerCase() }),
  })
}

/**
 * Anthropic's `input_tokens` excludes cached parts. `before`: counts of an earlier event, used for those that this one lacks, or reports
 * lower: the counts of a stream only grow, and some servers send zeros at one of its ends.
 */
export function anthropicUsage(usage: unknown, before: AnthropicCounts = NOTHING): AnthropicCounts | null {
  if (!isJson(usage)) return null
  const isSplit = isJson(usage['cache_creation']) || before.parts !== undefined
  const hour = sizeOf(membersOf(usage['cache_creation']), 'ephemeral_1h_input_tokens')
  const tier = anthropicTier(usage) ?? before.tier
  const uses = usesOf(usage['server_tool_use']) ?? before.uses
  const counts = {
    input: Math.max(count(usage, 'input_tokens') ?? 0, before.input),
    output: Math.max(count(usage, 'output_tokens') ?? 0, before.output),
    cacheRead: Math.max(count(usage, 'cache_read_input_tokens') ?? 0, before.cacheRead),
    cacheWrite: Math.max(count(usage, 'cache_creation_input_tokens') ?? 0, before.cacheWrite),
    ...(isSplit && { parts: { cache_write_1h: Math.max(hour, before.parts?.cache_write_1h ?? 0) } }),
    ...(tier !== undefined && { tier }),
    ...(uses && { uses }),
  }
  const { input, output, cacheRead, cacheWrite } = counts
  return input >= 0 && output >= 0 && cacheRead >= 0 && cacheWrite >= 0 ? counts : null
}

/** Speed and tier are two settings with prices of their own. Without a speed, a usual tier says nothing about the price. */
function anthropicTier({ speed, service_tier: named }: Json): string | undefined {
  if (speed === 'fast') return speed
  const tier = typeof named === 'string' ? named.toLowerCase() : undefined
  return tier !== undefined && (typeof speed === 'string' || !USUAL_TIERS.has(tier)) ? tier : undefined
}

/** `web_search_requests: 2` as two uses of `web_search`; null if there are none. */
function usesOf(reported: unknown): ModelTokens['uses'] | null {
  const members = membersOf(reported)
  const used = Object.keys(members).filter((name) => sizeOf(members, name) > 0)
  if (used.length === 0) return null
  return Object.fromEntries(used.map((name) => [name.replace(/_requests$/, ''), sizeOf(members, name)]))
}

/** Counts by Anthropic's definition: `input` excludes the cached parts. */
export type AnthropicCounts = ModelTokens
const NOTHING: AnthropicCounts = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }

export function fromAnthropic(counts: AnthropicCounts): ModelTokens | null {
  // One-hour writes are a part of all cache writes, so there cannot be more of them.
  if ((counts.parts?.cache_write_1h ?? 0) > counts.cacheWrite) return null
  return plausible({ ...counts, input: counts.input + counts.cacheRead + counts.cacheWrite })
}

/** Gemini: the prompt includes cached tokens, the candidates exclude thinking, and a missing count is 0. */
export function geminiUsage(usage: unknown): ModelTokens | null {
  if (!isJson(usage)) return null
  const thoughts = count(usage, 'thoughtsTokenCount') ?? 0
  const counts = {
    input: (count(usage, 'promptTokenCount') ?? 0) + (count(usage, 'toolUsePromptTokenCount') ?? 0),
    output: (count(usage, 'candidatesTokenCount') ?? 0) + thoughts,
    cacheRead: count(usage, 'cachedContentTokenCount') ?? 0,
    cacheWrite: 0,
  }
  const tier = usage['serviceTier'] ?? TRAFFIC.exec(jsonText(usage['trafficType']))?.[1]
  const [prompt, cached, written] = [
    usage['promptTokensDetails'],
    usage['cacheTokensDetails'],
    usage['candidatesTokensDetails'],
  ]
  if (!prompt && !written && thoughts === 0 && tier === undefined) return plausible(counts)
  const cachedSound = ofModality(cached, 'AUDIO')
  return detailed(
    counts,
    {
      input_audio: Math.max(0, ofModality(prompt, 'AUDIO') - cachedSound),
      cache_read_audio: cachedSound,
      input_image: Math.max(0, ofModality(prompt, 'IMAGE') - ofModality(cached, 'IMAGE')),
      output_reasoning: thoughts,
      output_audio: ofModality(written, 'AUDIO'),
      output_image: ofModality(written, 'IMAGE'),
    },
    tier,
  )
}

/** `ON_DEMAND_PRIORITY` of Vertex AI. */
const TRAFFIC = /^ON_DEMAND_(\w+)$/

function ofModality(details: unknown, modality: string): number {
  let tokens = 0
  for (const one of elementsOf(details))
    if (isJson(one) && one['modality'] === modality) tokens += sizeOf(one, 'tokenCount')
  return tokens
}

/** The report of an embeddings call, which has no output. `total` replaces a missing `input`. */
export function embeddingUsage(usage: unknown, input: string, total: string): TokenCounts | null {
  if (!isJson(usage)) return null
  const tokens = count(usage, input) ?? count(usage, total)
  return tokens === null ? null : plausible({ input: tokens, output: 0, cacheRead: 0, cacheWrite: 0 })
}

/** A count of a part; 0 if it is absent or no count. */
function sizeOf(details: Json, name: string): number {
  const size = count(details, name) ?? 0
  return Number.isNaN(size) ? 0 : size
}

/** A count; null if absent; NaN, which `plausible` rejects, if it is not a whole number from 0 up. */
function count(usage: Json, name: string): number | null {
  const value = usage[name]
  if (value === undefined || value === null) return null
  return isCount(value) && value < 10_000_000_000 ? value : Number.NaN
}

function plausible(counts: ModelTokens): ModelTokens | null {
  const { input, output, cacheRead, cacheWrite } = counts
  const whole = input >= 0 && output >= 0 && cacheRead >= 0 && cacheWrite >= 0
  return whole && cacheRead + cacheWrite <= input && input > 0 ? counts : null
}
