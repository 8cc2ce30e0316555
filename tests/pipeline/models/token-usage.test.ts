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
    const parts = { output_reasoning: 30 }
    expect(openAiUsage(usage)).toEqual({ input: 100, output: 40, cacheRead: 64, cacheWrite: 8, parts })
  })

  test('Anthropic reports one-hour cache writes, and a later event without them does not change it', () => {
    const cache_creation = { ephemeral_5m_input_tokens: 2, ephemeral_1h_input_tokens: 6 }
    const start = { input_tokens: 5, output_tokens: 1, cache_creation_input_tokens: 8, cache_creation }
    expect(anthropic(start)).toEqual({
      input: 13,
      output: 1,
      cacheRead: 0,
      cacheWrite: 8,
      parts: { cache_write_1h: 6 },
    })
    const end = anthropicUsage({ output_tokens: 30 }, anthropicUsage(start) ?? undefined)
    expect(end && fromAnthropic(end)).toEqual({
      input: 13,
      output: 30,
      cacheRead: 0,
      cacheWrite: 8,
      parts: { cache_write_1h: 6 },
    })
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
    const parts = { output_reasoning: 343 }
    expect(geminiUsage(usage)).toEqual({ input: 41, output: 348, cacheRead: 0, cacheWrite: 0, parts })
    expect(geminiUsage({ promptTokenCount: 41, toolUsePromptTokenCount: 9, cachedContentTokenCount: 40 })).toEqual({
      input: 50,
      output: 0,
      cacheRead: 40,
      cacheWrite: 0,
    })
  })

  test('sound, pictures and reasoning are parts of the counts, and sound in the cache is no fresh sound', () => {
    const openAi = {
      prompt_tokens: 100,
      completion_tokens: 40,
      prompt_tokens_details: { cached_tokens: 70, audio_tokens: 50, image_tokens: 10 },
      completion_tokens_details: { audio_tokens: 25, reasoning_tokens: 5 },
    }
    expect(openAiUsage(openAi)?.parts).toEqual({
      input_audio: 30,
      cache_read_audio: 20,
      input_image: 10,
      output_audio: 25,
      output_reasoning: 5,
    })
    const google = {
      promptTokenCount: 100,
      cachedContentTokenCount: 30,
      candidatesTokenCount: 20,
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: 20 },
        { modality: 'AUDIO', tokenCount: 80 },
      ],
      cacheTokensDetails: [{ modality: 'AUDIO', tokenCount: 30 }],
      candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 20 }],
    }
    expect(geminiUsage(google)?.parts).toEqual({ input_audio: 50, cache_read_audio: 30, output_image: 20 })
  })

  test('the tier is the one that the answer names, and reasoning that a vendor counts next to its output is added', () => {
    const usage = { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 }
    expect(openAiUsage(usage, 'Priority')?.tier).toBe('priority')
    expect(openAiUsage(usage, null)).toEqual({ input: 10, output: 4, cacheRead: 0, cacheWrite: 0 })
    expect(geminiUsage({ promptTokenCount: 5, trafficType: 'ON_DEMAND_FLEX' })?.tier).toBe('flex')
    expect(anthropic({ input_tokens: 5, output_tokens: 1, service_tier: 'standard', speed: 'fast' })?.tier).toBe('fast')
    const fast = anthropicUsage({ input_tokens: 5, output_tokens: 1, speed: 'fast' }) ?? undefined
    expect(anthropicUsage({ output_tokens: 9, service_tier: 'standard' }, fast)?.tier).toBe('fast')
    const beside = { ...usage, total_tokens: 44, completion_tokens_details: { reasoning_tokens: 30 } }
    expect(openAiUsage(beside)).toMatchObject({ output: 34, parts: { output_reasoning: 30 } })
  })

  test('Anthropic reports the uses of its tools, and the last report of a stream counts', () => {
    const start = anthropicUsage({ input_tokens: 5, output_tokens: 1, server_tool_use: { web_search_requests: 1 } })
    const end = anthropicUsage({ output_tokens: 9, server_tool_use: { web_search_requests: 3 } }, start ?? undefined)
    expect(end?.uses).toEqual({ web_search: 3 })
    expect(anthropicUsage({ output_tokens: 9 }, start ?? undefined)?.uses).toEqual({ web_search: 1 })
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
