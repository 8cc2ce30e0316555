import { describe, expect, test } from 'bun:test'
import { MESSAGES } from '../../../server/pipeline/models/wires/anthropic/messages-wire'
import { GENERATE_CONTENT } from '../../../server/pipeline/models/wires/google/generate-content-wire'
import type { ModelWire } from '../../../server/pipeline/models/wires/model-wire'
import { CHAT_COMPLETIONS } from '../../../server/pipeline/models/wires/openai/chat-completions-wire'
import { RESPONSES } from '../../../server/pipeline/models/wires/openai/responses/responses-wire'
import { pricedPart } from '../../../server/pipeline/models/wires/priced-members'

const messages = [{ role: 'user', content: 'Hello' }]
const BODIES = new Map<ModelWire, object>([
  [CHAT_COMPLETIONS, { model: 'm', messages }],
  [RESPONSES, { model: 'm', input: 'Hello' }],
  [MESSAGES, { model: 'm', max_tokens: 5, messages }],
  [GENERATE_CONTENT, { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] }],
])
/** The members of a body that a price of input and output alone does not cover. It covers caches of each known lifetime. */
function uncovered(wire: ModelWire, more: object): readonly string[] {
  const bytes = new TextEncoder().encode(JSON.stringify({ ...BODIES.get(wire), ...more }))
  const read = wire.read(bytes, { model: 'm', stream: false, events: false })
  if (!read.ok) throw new Error(read.error.message)
  return read.value.uncovered.filter((member) => !pricedPart(member)?.startsWith('cache_write'))
}

describe('a token price covers all members', () => {
  test('of a chat completion that SDKs send', () => {
    const sent = {
      n: 2,
      temperature: 1,
      top_p: 1,
      top_k: 5,
      min_p: 0.1,
      stop: ['x'],
      seed: 7,
      presence_penalty: 1,
      frequency_penalty: 1,
      logit_bias: { 1: 2 },
      logprobs: true,
      top_logprobs: 3,
      max_tokens: 9,
      response_format: { type: 'json_object' },
      tool_choice: 'auto',
      parallel_tool_calls: false,
      reasoning_effort: 'low',
      verbosity: 'low',
      modalities: ['text'],
      user: 'u',
      metadata: { a: 'b' },
      safety_identifier: 's',
      prompt_cache_key: 'k',
      prompt_cache_retention: '24h',
      store: false,
      prompt_cache_options: { mode: 'explicit' },
      service_tier: 'auto',
      audio: null,
      web_search_options: null,
      tools: [
        { type: 'function', function: { name: 'f', parameters: {} } },
        { type: 'custom', custom: { name: 'c' } },
      ],
    }
    expect(uncovered(CHAT_COMPLETIONS, sent)).toEqual([])
  })

  test('of a message that Claude Code sends', () => {
    const sent = {
      stop_sequences: ['x'],
      temperature: 1,
      top_k: 1,
      top_p: 1,
      metadata: { user_id: 'u' },
      service_tier: 'auto',
      tool_choice: { type: 'auto' },
      thinking: { type: 'adaptive' },
      output_config: { effort: 'high' },
      mcp_servers: [],
      container: null,
      speed: 'standard',
      inference_geo: null,
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
      systemInstruction: { parts: [{ text: 'x' }] },
      safetySettings: [],
      tools: [{ functionDeclarations: [] }],
      toolConfig: { functionCallingConfig: { mode: 'AUTO' } },
      generation_config: { top_p: 1, thinking_config: { thinking_budget: 5 }, responseModalities: ['TEXT'], topK: 4 },
    }
    expect(uncovered(GENERATE_CONTENT, sent)).toEqual([])
    expect(uncovered(GENERATE_CONTENT, { tools: [{ function_declarations: [] }], cachedContent: null })).toEqual([])
  })
})

describe('members without a cost of their own pass', () => {
  test('in a chat: what agents say of themselves, open members of servers, hints about caches, a tool without a type', () => {
    const sent = {
      client_metadata: { turn: 1 },
      session_id: 's',
      store: true,
      usage: { include: true },
      chat_template_kwargs: { enable_thinking: false },
      enable_thinking: true,
      thinking: { type: 'enabled' },
      reasoning: { effort: 'high', exclude: true },
      include_reasoning: true,
      thinking_budget: 100,
      guided_json: {},
      structured_outputs: { regex: 'a' },
      grammar: 'root ::= "a"',
      min_tokens: 2,
      cache_prompt: true,
      ignore_eos: false,
      mirostat: 2,
      dry_multiplier: 0.8,
      xtc_threshold: 0.1,
      repeat_penalty: 1.1,
      tools: [
        { type: 'function', function: { name: 'f' }, cache_control: { type: 'ephemeral' } },
        { function: { name: 'g', parameters: {} } },
      ],
    }
    expect(uncovered(CHAT_COMPLETIONS, sent)).toEqual([])
  })

  test('in Responses: what Codex sends by default', () => {
    const functions = {
      type: 'namespace',
      name: 'mcp__files',
      description: 'd',
      tools: [{ type: 'function', name: 'f' }],
    }
    const sent = {
      client_metadata: { 'x-codex-window-id': 'w' },
      store: false,
      include: ['reasoning.encrypted_content'],
      reasoning: { summary: 'auto' },
      tool_choice: 'auto',
      parallel_tool_calls: true,
      prompt_cache_key: 'k',
      tools: [
        { type: 'function', name: 'exec_command', strict: false, parameters: {} },
        functions,
        { type: 'web_search', external_web_access: false },
        { type: 'local_shell' },
        { type: 'tool_search', execution: 'client', description: 'd', parameters: {} },
      ],
      input: [
        { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } },
        { type: 'local_shell_call', call_id: 'c', action: { type: 'exec', command: ['ls'] } },
        { type: 'local_shell_call_output', call_id: 'c', output: 'a' },
        { type: 'tool_search_output', call_id: 't', execution: 'client', tools: [functions] },
        { type: 'function_call', call_id: 'c', namespace: 'mcp__files', name: 'f', arguments: '{}' },
      ],
    }
    expect(uncovered(RESPONSES, sent)).toEqual([])
    const newer = [
      { type: 'additional_tools', role: 'developer', tools: [functions, { type: 'tool_search', execution: 'client' }] },
    ]
    expect(uncovered(RESPONSES, { input: newer, reasoning: { effort: 'low', context: 'all_turns' } })).toEqual([])
    expect(uncovered(RESPONSES, { chat_template_kwargs: {}, top_k: 4, seed: 1 })).toEqual([])
  })

  test("in messages: what the vendor's tools left in the history", () => {
    const content = [
      { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'q' } },
      {
        type: 'web_search_tool_result',
        tool_use_id: 's',
        content: [{ type: 'web_search_result', encrypted_content: 'x' }],
      },
      { type: 'tool_search_tool_result', tool_use_id: 's', content: { type: 'tool_search_tool_search_result' } },
      { type: 'compaction', content: 'What was said' },
    ]
    const sent = { messages: [...messages, { role: 'assistant', content }], client_metadata: {} }
    expect(uncovered(MESSAGES, sent)).toEqual([])
  })
})

test('a document in the result of a tool that the vendor ran counts as one', () => {
  const document = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' } }
  const result = {
    type: 'web_fetch_tool_result',
    tool_use_id: 's',
    content: { type: 'web_fetch_result', content: document },
  }
  const body = { ...BODIES.get(MESSAGES), messages: [{ role: 'assistant', content: [result] }] }
  const read = MESSAGES.read(new TextEncoder().encode(JSON.stringify(body)), {
    model: 'm',
    stream: false,
    events: false,
  })
  expect(read.ok && read.value.parts).toMatchObject({ opaque: 1, images: 0 })
})

test('a lifetime that is written twice is found, whichever a parser takes', () => {
  const text = (hint: string) =>
    `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":[{"type":"text","text":"say \\"cache_control\\"","cache_control":${hint}}]}]}`
  const found = (hint: string) => {
    const read = MESSAGES.read(new TextEncoder().encode(text(hint)), { model: 'm', stream: false, events: false })
    return read.ok && read.value.uncovered
  }
  expect(found('{"ttl":"5m"}')).toEqual([])
  expect(found('{ "type":"ephemeral", "ttl" : "1h" }')).toEqual(['cache_control.ttl.1h'])
  expect(found('{"ttl":"1h","ttl":"5m"}')).toEqual(['cache_control.ttl.twice'])
  expect(found('{"ttl":"1h"},"cache_control":{"ttl":"5m"}')).toEqual(['cache_control.ttl.1h'])
  expect(found('{"\\u0074tl":"1h"}')).toEqual(['cache_control.ttl.1h'])
  expect(found('{"ttl":{"ttl":"2h"}}')).toEqual(['cache_control.ttl.{"ttl":"2h"}'])
  expect(found(`${' '.repeat(100)}{"ttl":"1h"}`)).toEqual(['cache_control.ttl.1h'])
  // Hints that are nested in long ones would be searched to their ends, 1 MB for 300 ms.
  const long = (bytes: number) => `{"ttl":"5m","x":"${'x'.repeat(bytes)}"}`
  expect(found(long(4000))).toEqual([])
  expect(found(long(5000))).toEqual(['cache_control.ttl.too long'])
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
    'echo',
    'n_predict',
    'use_beam_search',
    'enable_search',
    'priority',
    'kv_transfer_params',
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
    ['service_tier.priority', { service_tier: 'priority' }],
    ['service_tier.flex', { service_tier: 'flex' }],
    ['modalities.audio', { modalities: ['text', 'audio'] }],
    ['modalities.audio', { modalities: 'audio' }],
    ['prompt_cache_retention.7d', { prompt_cache_retention: '7d' }],
    ['prompt_cache_options.ttl.2h', { prompt_cache_options: { ttl: '2h' } }],
    [
      'cache_control.ttl.2h',
      { messages: [{ role: 'user', content: [{ type: 'text', cache_control: { ttl: '2h' } }] }] },
    ],
    ['prompt_cache_options.price', { prompt_cache_options: { price: 0 } }],
    ['tools', { tools: { type: 'web_search' } }],
    ['tools.web_search', { tools: [{ type: 'web_search' }] }],
    ['tools.type', { tools: [{ google_search: {} }] }],
    ['tools.google_search', { tools: [{ function: {}, google_search: {} }] }],
    ['reasoning.models', { reasoning: { models: ['dearer'] } }],
    ['tools.google_search', { tools: [{ type: 'function', function: {}, google_search: {} }] }],
    ['messages.input_audio', { messages: [{ role: 'user', content: [{ type: 'input_audio' }] }] }],
    ['messages.audio', { messages: [{ role: 'assistant', audio: { id: 'audio_1' } }] }],
  ])('of a chat completion: %s in %j', (name, more) => expect(uncovered(CHAT_COMPLETIONS, more)).toEqual([name]))

  test.each<[string, object]>([
    ['container', { container: 'c' }],
    ['mcp_servers', { mcp_servers: [{ url: 'https://example.org' }] }],
    ['inference_geo', { inference_geo: 'us' }],
    ['speed.fast', { speed: 'fast' }],
    ['cache_control.ttl.2h', { system: [{ type: 'text', text: 'x', cache_control: { ttl: '2h' } }] }],
    ['cache_control.ttl.2h', { cache_control: { '\u0074tl': '2h' } }],
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
    ['messages.fallback', { messages: [{ role: 'assistant', content: [{ type: 'fallback', to: 'dearer' }] }] }],
  ])('of a message: %s', (name, more) => expect(uncovered(MESSAGES, more)).toEqual([name]))

  test.each<[string, object]>([
    ['tools.web_search', { tools: [{ type: 'web_search' }] }],
    ['tools.web_search', { tools: [{ type: 'web_search', external_web_access: true }] }],
    ['tools.web_search', { tools: { type: 'web_search', external_web_access: false } }],
    ['tools.web_search', { tools: { type: 'namespace', tools: [{ type: 'web_search' }] } }],
    ['tools.tool_search', { tools: [{ type: 'tool_search' }] }],
    [
      'tools.web_search',
      { tools: [{ type: 'namespace', tools: [{ type: 'web_search', external_web_access: false }] }] },
    ],
    ['tools.local_shell', { tools: [{ type: 'namespace', tools: [{ type: 'local_shell' }] }] }],
    ['tools.shell', { tools: [{ type: 'shell' }] }],
    ['input.mcp', { input: [{ type: 'additional_tools', tools: [{ type: 'mcp' }] }] }],
    [
      'input.web_search',
      { input: [{ type: 'additional_tools', tools: [{ type: 'web_search', external_web_access: false }] }] },
    ],
    ['input.mcp', { input: [{ type: 'tool_search_output', tools: [{ type: 'mcp' }] }] }],
    ['input.compaction', { input: [{ type: 'compaction', encrypted_content: 'x' }] }],
  ])('of Responses: %s in %j', (name, more) => expect(uncovered(RESPONSES, more)).toEqual([name]))

  test.each<[string, object]>([
    ['tools.googleSearch', { tools: [{ googleSearch: {} }] }],
    ['tools.googleSearch', { tools: { google_search: {} } }],
    ['tools.codeExecution', { tools: [{ functionDeclarations: [] }, { code_execution: {} }] }],
    ['tools.urlContext', { tools: [{ functionDeclarations: [], urlContext: {} }] }],
    ['tools', { tools: [[{ googleSearch: {} }]] }],
    ['cachedContent', { cached_content: 'cachedContents/x' }],
    ['serviceTier.flex', { service_tier: 'flex' }],
    ['store', { store: true }],
    ['model', { model: 'models/gemini-dearer' }],
    ['toolConfig.retrievalConfig', { tool_config: { retrieval_config: {} } }],
    ['generationConfig.responseModalities.IMAGE', { generationConfig: { responseModalities: ['IMAGE'] } }],
    ['generationConfig.responseModalities.AUDIO', { generationConfig: { response_modalities: 'AUDIO' } }],
    ['generationConfig.speechConfig', { generation_config: { speech_config: {} } }],
    ['contents.audio', { contents: { parts: { inline_data: { mime_type: 'Audio/WAV', data: 'AA' } } } }],
    ['contents.audio', { contents: [{ parts: [{ fileData: { mimeType: 'audio/mp3', fileUri: 'x' } }] }] }],
  ])('of generateContent: %s in %j', (name, more) => expect(uncovered(GENERATE_CONTENT, more)).toEqual([name]))
})

test('as many members as a body can have are read at once, and each is named once', () => {
  const many = Object.fromEntries(Array.from({ length: 90_000 }, (_, i) => [`x${i}`, 1]))
  // Copied one by one, they took 20 s.
  expect(uncovered(CHAT_COMPLETIONS, { reasoning: many })).toHaveLength(90_000)
  const spoken = Array.from({ length: 15_000 }, () => ({ content: [{ type: 'input_audio' }], audio: { id: 'a' } }))
  expect(uncovered(CHAT_COMPLETIONS, { messages: spoken })).toEqual(['messages.input_audio', 'messages.audio'])
  const tools = Array.from({ length: 15_000 }, () => ({ type: 'web_search' }))
  expect(uncovered(RESPONSES, { tools })).toEqual(['tools.web_search'])
})
