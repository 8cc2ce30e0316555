import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { WIDE } from '../support/harness'
import { type ModelGateway, openModelGateway, PRICE } from '../support/model-gateway'
import { reconcile } from '../support/reconcile'
import { openAi, openVendor, type VendorDouble } from '../support/vendor-double'

/** JSON that throws when it is turned into text or a number: its own members hide the methods that every object has. */
const UNPRINTABLE = { toString: '', valueOf: 1, toJSON: null }

const text = { type: 'text', text: 'Hello' }
const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } }
const BODIES: readonly (readonly [path: string, body: object])[] = [
  [
    '/v1/chat/completions',
    {
      model: 'gpt',
      max_tokens: 5,
      stop: ['x'],
      response_format: { type: 'json_object' },
      tools: [tool],
      tool_choice: { type: 'function', function: { name: 'f' } },
      messages: [{ role: 'user', content: [text, { type: 'image_url', image_url: { url: 'data:,' } }] }],
    },
  ],
  [
    '/v1/messages',
    {
      model: 'claude',
      max_tokens: 5,
      system: [text],
      tools: [{ type: 'custom', name: 'f', input_schema: {} }],
      tool_choice: { type: 'tool', name: 'f' },
      messages: [
        {
          role: 'user',
          content: [text, { type: 'image', source: { type: 'base64', media_type: 'image/png', data: '' } }],
        },
      ],
    },
  ],
  [
    '/v1beta/models/gem:generateContent',
    {
      generationConfig: { maxOutputTokens: 5, responseModalities: ['TEXT'] },
      tools: [{ functionDeclarations: [{ name: 'f' }] }],
      toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } },
      contents: [{ role: 'user', parts: [{ text: 'Hello' }, { inlineData: { mimeType: 'image/png', data: '' } }] }],
    },
  ],
  ...['gpt', 'sandbox/echo'].map(
    (model) =>
      [
        '/v1/responses',
        {
          model,
          max_output_tokens: 16,
          reasoning: { effort: 'low' },
          text: { format: { type: 'text' } },
          include: ['message.output_text.logprobs'],
          tools: [{ type: 'function', name: 'f', parameters: {} }],
          tool_choice: { type: 'function', name: 'f' },
          input: [
            {
              role: 'user',
              content: [
                { type: 'input_text', text: 'Hello' },
                { type: 'input_image', image_url: 'data:,' },
              ],
            },
            { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
            { type: 'function_call_output', call_id: 'c', output: 'x' },
          ],
        },
      ] as const,
  ),
  ['/v1/embeddings', { model: 'sandbox/embed', input: ['Hello'], encoding_format: 'float', dimensions: 8 }],
  ['/v1/moderations', { model: 'sandbox/moderate', input: [{ type: 'text', text: 'Hello' }] }],
  ['/v1/images/generations', { model: 'sandbox/draw', prompt: 'x', n: 1, size: '64x64', quality: 'low' }],
  ['/v1/audio/speech', { model: 'sandbox/speak', input: 'x', voice: 'alloy', response_format: 'pcm' }],
  ['/v1/rerank', { model: 'sandbox/rerank', query: 'x', documents: ['x', { text: 'y' }], top_n: 1 }],
  ['/v1/completions', { model: 'gpt', prompt: 'Hello', stop: ['x'] }],
  ['/v1/deep-research', { model: 'sandbox/extract', query: 'otters', max_searches: 1 }],
  [
    '/v1/chat/completions',
    {
      model: 'sandbox/echo',
      messages: [{ role: 'user', content: [text] }],
      tools: [tool],
      tool_choice: { type: 'function', function: { name: 'f' } },
    },
  ],
  ['/apis/v1/websearch/llm/context', { q: 'otters', goggles: ['$boost'], count: 3, country: 'US' }],
  ['/apis/v1/social/auth_social', { scopes: ['tweet.read'] }],
  [
    '/api/auth/oauth2/register',
    {
      redirect_uris: ['http://127.0.0.1/cb'],
      client_name: 'A',
      token_endpoint_auth_method: 'none',
      scope: 'data:read',
      grant_types: ['authorization_code'],
    },
  ],
  [
    '/mcp',
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'image_search', arguments: { q: 'otters', count: 1, country: 'US' } },
    },
  ],
  [
    '/mcp',
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'usage', arguments: { group_by: 'key' }, _meta: { progressToken: 'a' } },
    },
  ],
]

/** The body, once per place in it: with that place unprintable. */
function variants(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  const isList = Array.isArray(value)
  return Object.entries(value).flatMap(([name, member]) =>
    [UNPRINTABLE, [UNPRINTABLE], ...variants(member)].map((one) =>
      isList ? value.with(Number(name), one) : { ...value, [name]: one },
    ),
  )
}

let vendor: VendorDouble
let gateway: ModelGateway
beforeAll(async () => {
  vendor = openVendor(() => openAi.plain('Hi', { input: 10, output: 4 }))
  gateway = await openModelGateway([
    { id: 'gpt', upstream: { kind: 'openai', base_url: `${vendor.origin}/v1` }, price: PRICE },
    {
      id: 'claude',
      upstream: { kind: 'anthropic', base_url: `${vendor.origin}/v1`, key_env: 'ANTHROPIC_DOUBLE_KEY' },
      price: PRICE,
    },
    { id: 'gem', upstream: { kind: 'gemini', base_url: `${vendor.origin}/v1beta` }, price: PRICE },
  ])
})
afterAll(async () => {
  await gateway.close(true)
  vendor.close()
  expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
})

describe('a member that cannot be turned into text', () => {
  test.each(BODIES)('in a body of %s never gets a 500', async (path, body) => {
    const { key } = await gateway.funded(10, {}, WIDE)
    const faults: string[] = []
    let reached = false
    for (const variant of variants(body)) {
      const answer = await gateway.call(path, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...(path.startsWith('/api/') ? {} : { authorization: `Bearer ${key.secret}` }),
        },
        body: JSON.stringify(variant),
      })
      const answered = await answer.text()
      if (answer.status === 500 || answered.includes('internal_error')) faults.push(JSON.stringify(variant))
      reached ||= answer.status !== 401 && answer.status !== 429
    }
    expect(faults).toEqual([])
    expect(reached).toBe(true)
  })
})
