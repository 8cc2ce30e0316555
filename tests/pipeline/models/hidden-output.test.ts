import { describe, expect, test } from 'bun:test'
import { MESSAGES } from '../../../server/pipeline/models/wires/anthropic/messages-wire'
import { GENERATE_CONTENT } from '../../../server/pipeline/models/wires/google/generate-content-wire'
import { mayHideOutput } from '../../../server/pipeline/models/wires/hidden-output'
import type { ModelWire } from '../../../server/pipeline/models/wires/model-wire'
import { CHAT_COMPLETIONS } from '../../../server/pipeline/models/wires/openai/chat-completions-wire'

const SAID = {
  chat: [CHAT_COMPLETIONS, { model: 'm', messages: [{ role: 'user', content: 'Hi' }] }],
  messages: [MESSAGES, { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] }],
  google: [GENERATE_CONTENT, { contents: [{ parts: [{ text: 'Hi' }] }] }],
} as const satisfies Record<string, readonly [ModelWire, object]>

function hides(name: keyof typeof SAID, more: object): boolean {
  const [wire, body] = SAID[name]
  const bytes = new TextEncoder().encode(JSON.stringify({ ...body, ...more }))
  const read = wire.read(bytes, { model: 'm', stream: true, events: true })
  if (!read.ok) throw new Error(read.error.message)
  return mayHideOutput(read.value)
}

describe('a call whose vendor may bill output that it does not return', () => {
  test.each([
    ['chat', { reasoning_effort: 'minimal' }],
    ['chat', { reasoning: { effort: 'low' } }],
    ['chat', { reasoning: true }],
    ['chat', { thinking: { type: 'enabled' } }],
    ['chat', { enable_thinking: true }],
    ['chat', { chat_template_kwargs: { enable_thinking: true } }],
    ['chat', { tools: [{ type: 'namespace', tools: [{ type: 'web_search' }] }] }],
    ['chat', { web_search_options: {} }],
    ['chat', { plugins: [] }],
    ['chat', { tools: [{ type: 'function', function: { name: 'f' } }, { type: 'web_search' }] }],
    ['chat', { tools: ['what'] }],
    ['messages', { thinking: { type: 'enabled', budget_tokens: 1024 } }],
    ['messages', { thinking: { type: 'adaptive' } }],
    ['messages', { mcp_servers: [{ url: 'https://mcp.test' }] }],
    ['messages', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
    ['google', { generationConfig: { thinkingConfig: { thinkingBudget: 1 } } }],
    ['google', { generationConfig: { thinkingConfig: { includeThoughts: true } } }],
    ['google', { generation_config: { thinking_config: { thinking_budget: -1 } } }],
    ['google', { generationConfig: { thinkingConfig: { thinkingLevel: 'high' } } }],
    ['google', { tools: [{ googleSearch: {} }] }],
    ['google', { tools: [{ functionDeclarations: [], codeExecution: {} }] }],
    ['google', { tools: { googleSearch: {} } }],
  ] as const)('%s %j', (wire, more) => expect(hides(wire, more)).toBe(true))

  test.each([
    ['chat', {}],
    ['chat', { reasoning_effort: 'none', tools: [{ type: 'function', function: { name: 'f' } }] }],
    ['chat', { reasoning: { effort: 'none' }, thinking: { type: 'disabled' }, enable_thinking: false }],
    ['chat', { tools: [{ function: { name: 'f' } }] }],
    ['chat', { tools: [{ type: 'namespace', tools: [{ type: 'function', name: 'f' }] }] }],
    ['messages', { thinking: { type: 'disabled' }, tools: [{ name: 'f', description: 'd', input_schema: {} }] }],
    ['google', { generationConfig: { temperature: 1 }, tools: [{ functionDeclarations: [] }] }],
    ['google', { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } }],
  ] as const)('is none for %s %j', (wire, more) => expect(hides(wire, more)).toBe(false))
})
