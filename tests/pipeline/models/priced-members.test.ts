import { describe, expect, test } from 'bun:test'
import { MESSAGES } from '../../../server/pipeline/models/wires/anthropic/messages-wire'
import { GENERATE_CONTENT } from '../../../server/pipeline/models/wires/google/generate-content-wire'
import type { ModelWire } from '../../../server/pipeline/models/wires/model-wire'
import { CHAT_COMPLETIONS } from '../../../server/pipeline/models/wires/openai/chat-completions-wire'

const messages = [{ role: 'user', content: 'Hello' }]
const BODIES = new Map<ModelWire, object>([
  [CHAT_COMPLETIONS, { model: 'm', messages }],
  [MESSAGES, { model: 'm', max_tokens: 5, messages }],
  [GENERATE_CONTENT, { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] }],
])
/** What of a body with these members no token price covers. */
function uncovered(wire: ModelWire, more: object): readonly string[] {
  const bytes = new TextEncoder().encode(JSON.stringify({ ...BODIES.get(wire), ...more }))
  const read = wire.read(bytes, { model: 'm', stream: false, events: false })
  if (!read.ok) throw new Error(read.error.message)
  return read.value.uncovered
}

describe('a token price covers all members', () => {
  test('of a chat completion that SDKs send', () => {
    const sent = {
      ...{ n: 2, temperature: 1, top_p: 1, top_k: 5, min_p: 0.1, stop: ['x'], seed: 7, presence_penalty: 1 },
      ...{ frequency_penalty: 1, logit_bias: { 1: 2 }, logprobs: true, top_logprobs: 3, max_tokens: 9 },
      ...{ response_format: { type: 'json_object' }, tool_choice: 'auto', parallel_tool_calls: false },
      ...{ reasoning_effort: 'low', verbosity: 'low', modalities: ['text'], user: 'u', metadata: { a: 'b' } },
      ...{ safety_identifier: 's', prompt_cache_key: 'k', prompt_cache_retention: '24h', store: false },
      ...{ prompt_cache_options: { mode: 'explicit' }, service_tier: 'auto', audio: null, web_search_options: null },
      tools: [
        { type: 'function', function: { name: 'f', parameters: {} } },
        { type: 'custom', custom: { name: 'c' } },
      ],
    }
    expect(uncovered(CHAT_COMPLETIONS, sent)).toEqual([])
  })

  test('of a message that Claude Code sends', () => {
    const sent = {
      ...{
        stop_sequences: ['x'],
        temperature: 1,
        top_k: 1,
        top_p: 1,
        metadata: { user_id: 'u' },
        service_tier: 'auto',
      },
      ...{ tool_choice: { type: 'auto' }, thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
      ...{ mcp_servers: [], container: null, speed: 'standard', inference_geo: null },
      system: [{ type: 'text', text: 'You are', cache_control: { type: 'ephemeral', ttl: '1h' } }],
      context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
      tools: [
        { name: 'Bash', input_schema: {} },
        { type: 'custom', name: 'Read', input_schema: {} },
        { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' },
      ],
    }
    expect(uncovered(MESSAGES, sent)).toEqual([])
  })

  test('of generateContent, in both spellings', () => {
    const sent = {
      ...{ systemInstruction: { parts: [{ text: 'x' }] }, safetySettings: [], tools: [{ functionDeclarations: [] }] },
      toolConfig: { functionCallingConfig: { mode: 'AUTO' } },
      generation_config: { top_p: 1, thinking_config: { thinking_budget: 5 }, responseModalities: ['TEXT'], topK: 4 },
    }
    expect(uncovered(GENERATE_CONTENT, sent)).toEqual([])
    expect(uncovered(GENERATE_CONTENT, { tools: [{ function_declarations: [] }], cachedContent: null })).toEqual([])
  })
})

describe('a member that it does not cover is named', () => {
  test.each([
    'models',
    'plugins',
    'route',
    'fallbacks',
    'provider',
    'api_base',
    'best_of',
    'chat_template',
    'prediction',
    'moderation',
    'audio',
    'web_search_options',
    'Model',
    'MAX_TOKENS',
    '__proto__',
    'constructor',
  ])('of a chat completion: %s', (name) => {
    const value = name === 'best_of' ? 5 : [{}]
    expect(uncovered(CHAT_COMPLETIONS, JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(value)}}`))).toEqual([
      name,
    ])
  })

  test.each<[string, object]>([
    ['store', { store: true }],
    ['service_tier', { service_tier: 'priority' }],
    ['service_tier', { service_tier: 'flex' }],
    ['modalities', { modalities: ['text', 'audio'] }],
    ['modalities', { modalities: 'audio' }],
    ['prompt_cache_options.price', { prompt_cache_options: { price: 0 } }],
    ['tools', { tools: { type: 'web_search' } }],
    ['tools.web_search', { tools: [{ type: 'web_search' }] }],
    ['tools.type', { tools: [{ google_search: {} }] }],
    ['tools.google_search', { tools: [{ type: 'function', function: {}, google_search: {} }] }],
    ['messages.input_audio', { messages: [{ role: 'user', content: [{ type: 'input_audio' }] }] }],
    ['messages.audio', { messages: [{ role: 'assistant', audio: { id: 'audio_1' } }] }],
  ])('of a chat completion: %s in %j', (name, more) => expect(uncovered(CHAT_COMPLETIONS, more)).toEqual([name]))

  test.each<[string, object]>([
    ['container', { container: 'c' }],
    ['mcp_servers', { mcp_servers: [{ url: 'https://example.org' }] }],
    ['inference_geo', { inference_geo: 'us' }],
    ['speed', { speed: 'fast' }],
    ['fallbacks', { fallbacks: 'default' }],
    ['compaction', { compaction: {} }],
    ['thread', { thread: {} }],
    ['billing_policy', { billing_policy: { type: 'billing_policy', bill_to: 'user_profile' } }],
    ['context_management.edits.compact_20260112', { context_management: { edits: [{ type: 'compact_20260112' }] } }],
    ['output_config.tier', { output_config: { tier: 'x' } }],
    ['tools.web_search_20250305', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
    ['tools.code_execution_20260521', { tools: [{ type: 'code_execution_20260521', name: 'x' }] }],
    ['tools.mcp_toolset', { tools: [{ type: 'mcp_toolset' }] }],
    ['messages.container_upload', { messages: [{ role: 'user', content: [{ type: 'container_upload' }] }] }],
    ['messages.tool_addition', { messages: [{ role: 'user', content: [{ type: 'tool_addition', tool: {} }] }] }],
    [
      'messages.web_search_tool_result',
      { messages: [{ role: 'user', content: [{ type: 'tool_result', content: { type: 'web_search_tool_result' } }] }] },
    ],
  ])('of a message: %s', (name, more) => expect(uncovered(MESSAGES, more)).toEqual([name]))

  test.each<[string, object]>([
    ['tools.googleSearch', { tools: [{ googleSearch: {} }] }],
    ['tools.googleSearch', { tools: { google_search: {} } }],
    ['tools.codeExecution', { tools: [{ functionDeclarations: [] }, { code_execution: {} }] }],
    ['tools.urlContext', { tools: [{ functionDeclarations: [], urlContext: {} }] }],
    ['tools', { tools: [[{ googleSearch: {} }]] }],
    ['cachedContent', { cached_content: 'cachedContents/x' }],
    ['serviceTier', { service_tier: 'flex' }],
    ['store', { store: true }],
    ['model', { model: 'models/gemini-dearer' }],
    ['toolConfig.retrievalConfig', { tool_config: { retrieval_config: {} } }],
    ['generationConfig.responseModalities', { generationConfig: { responseModalities: ['IMAGE'] } }],
    ['generationConfig.responseModalities', { generationConfig: { response_modalities: 'AUDIO' } }],
    ['generationConfig.speechConfig', { generation_config: { speech_config: {} } }],
    ['contents.audio', { contents: { parts: { inline_data: { mime_type: 'Audio/WAV', data: 'AA' } } } }],
    ['contents.audio', { contents: [{ parts: [{ fileData: { mimeType: 'audio/mp3', fileUri: 'x' } }] }] }],
  ])('of generateContent: %s in %j', (name, more) => expect(uncovered(GENERATE_CONTENT, more)).toEqual([name]))
})
