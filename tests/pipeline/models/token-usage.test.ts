import { describe, expect, test } from 'bun:test'
import {
  anthropicUsage,
  fromAnthropic,
  geminiUsage,
  openAiUsage,
} from '../../../server/pipeline/models/wires/token-usage'

const anthropic = (usage: unknown) => {
  const counts = anthropicUsage(usage)
  return counts && fromAnthropic(counts)
}

describe('token counts of vendors, converted to one meaning', () => {
  test('OpenAI counts cached tokens inside the prompt', () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 40,
      total_tokens: 140,
      prompt_tokens_details: { cached_tokens: 64, cache_write_tokens: 8 },
      completion_tokens_details: { reasoning_tokens: 30 },
    }
    expect(openAiUsage(usage)).toEqual({ input: 100, output: 40, cacheRead: 64, cacheWrite: 8 })
  })

  test('Anthropic reports one-hour cache writes, and a later event without them does not change it', () => {
    const cache_creation = { ephemeral_5m_input_tokens: 2, ephemeral_1h_input_tokens: 6 }
    const start = { input_tokens: 5, output_tokens: 1, cache_creation_input_tokens: 8, cache_creation }
    expect(anthropic(start)).toEqual({ input: 13, output: 1, cacheRead: 0, cacheWrite: 8, hourWrite: 6 })
    const end = anthropicUsage({ output_tokens: 30 }, anthropicUsage(start) ?? undefined)
    expect(end && fromAnthropic(end)).toEqual({ input: 13, output: 30, cacheRead: 0, cacheWrite: 8, hourWrite: 6 })
  })

  test('Anthropic counts cached tokens outside the input', () => {
    const usage = {
      input_tokens: 28,
      output_tokens: 40,
      cache_read_input_tokens: 64,
      cache_creation_input_tokens: 8,
    }
    expect(anthropic(usage)).toEqual({ input: 100, output: 40, cacheRead: 64, cacheWrite: 8 })
    expect(anthropic({ input_tokens: 5, output_tokens: 1, cache_read_input_tokens: null })).toEqual({
      input: 5,
      output: 1,
      cacheRead: 0,
      cacheWrite: 0,
    })
  })

  test('Gemini counts thinking outside the candidates, and cached tokens inside the prompt', () => {
    const usage = { promptTokenCount: 41, candidatesTokenCount: 5, thoughtsTokenCount: 343, totalTokenCount: 389 }
    expect(geminiUsage(usage)).toEqual({ input: 41, output: 348, cacheRead: 0, cacheWrite: 0 })
    expect(geminiUsage({ promptTokenCount: 41, toolUsePromptTokenCount: 9, cachedContentTokenCount: 40 })).toEqual({
      input: 50,
      output: 0,
      cacheRead: 40,
      cacheWrite: 0,
    })
  })

  test('an impossible count is ignored', () => {
    const lies = [
      { prompt_tokens: -1, completion_tokens: 1 },
      { prompt_tokens: 1.5, completion_tokens: 1 },
      { prompt_tokens: '10', completion_tokens: 1 },
      { prompt_tokens: 10 },
      { prompt_tokens: 0, completion_tokens: 5 },
      { prompt_tokens: 10, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 11 } },
      { prompt_tokens: 10, completion_tokens: 1e15 },
      null,
      [],
    ]
    for (const lie of lies) expect(openAiUsage(lie)).toBeNull()
    expect(anthropic({ input_tokens: 5, output_tokens: -2 })).toBeNull()
    const kept = { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 9 }
    const more = { input_tokens: 5, output_tokens: 2, cache_creation_input_tokens: 8, cache_creation: kept }
    expect(anthropic(more)).toBeNull()
    expect(geminiUsage({ promptTokenCount: 5, thoughtsTokenCount: -1, candidatesTokenCount: 9 })).toBeNull()
  })
})
