import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { encode } from 'gpt-tokenizer'
import { closeReconciled } from '../http/owner-bench'
import { callTool, mcp } from '../support/agents/mcp'
import { oauthApp } from '../support/agents/oauth'
import { anApi, anOperation } from '../support/apis'
import { type Harness, type MadeKey, openHarness } from '../support/harness'

let gateway: Harness
let account: Awaited<ReturnType<Harness['account']>>
let key: MadeKey
beforeAll(async () => {
  gateway = await openHarness()
  account = await gateway.account(10)
  key = await gateway.key(account)
})
afterAll(() => closeReconciled(gateway))

interface Listed {
  readonly name: string
  readonly description: string
  readonly inputSchema: { readonly properties: Record<string, { description?: string }> }
  readonly annotations: Record<string, unknown>
}
const toolsOf = async (who: MadeKey | string) =>
  ((await mcp(gateway, who, 'tools/list')).message.result?.tools ?? []) as unknown as readonly Listed[]
const textOf = async (name: string, input: Record<string, unknown>) => {
  const { message } = await callTool(gateway, key, name, input)
  expect(message.result?.isError).toBe(true)
  return message.result?.content?.[0]?.text ?? ''
}

describe('the list of tools', () => {
  test('takes fewer than 6,000 tokens for what is built in, and no description more than 1,024 characters', async () => {
    const tools = await toolsOf(key)
    expect(tools.length).toBeGreaterThan(15)
    expect(encode(JSON.stringify({ tools })).length).toBeLessThan(6000)
    for (const { name, description, inputSchema } of tools) {
      expect(description.length, name).toBeLessThanOrEqual(1024)
      for (const argument of Object.keys(inputSchema.properties)) expect(argument).toMatch(/^[a-zA-Z0-9_.-]{1,64}$/)
    }
  })

  test('has what a key may call, and what an app was granted', async () => {
    const names = async (who: MadeKey | string) => (await toolsOf(who)).map(({ name }) => name).toSorted()
    const FREE = ['balance', 'explain_charge', 'models', 'social_link', 'usage']
    const narrow = await gateway.key(account, { allowed_endpoints: ['image-search'] })
    expect(await names(narrow)).toEqual([...FREE, 'image_search'].toSorted())
    const { access_token: token } = await oauthApp(gateway, await gateway.owner()).connect('data:read offline_access', [
      '/mcp',
    ])
    expect(await names(token)).toEqual(['image_search', 'llm_context', 'models'])
    // Its call still says which scope to ask for.
    expect((await callTool(gateway, token, 'balance')).status).toBe(403)
  })

  test('says what a call changes, and whether it may be repeated', async () => {
    const hints = Object.fromEntries(
      (await toolsOf(key)).map(({ name, annotations: { readOnlyHint, destructiveHint, idempotentHint } }) => [
        name,
        [readOnlyHint, destructiveHint, idempotentHint],
      ]),
    )
    expect(hints).toMatchObject({
      image_search: [true, false, true],
      social_user: [true, false, true],
      social_follow: [false, false, true],
      social_unfollow: [false, true, true],
      social_post: [false, false, false],
      social_delete: [false, true, true],
    })
  })

  test('keeps the price of an imported operation whose description is long', async () => {
    gateway.core.apis.replace([
      anApi({
        operations: [
          anOperation({
            id: 'long',
            path: '/v1/long',
            title: 'L',
            description: 'é'.repeat(3000),
            toolName: 'weather_long',
          }),
        ],
      }),
    ])
    const tool = (await toolsOf(key)).find(({ name }) => name === 'weather_long')
    expect(tool?.description.length).toBeLessThanOrEqual(1024)
    expect(tool?.description).toEndWith('a failure costs nothing.')
    gateway.core.apis.replace([])
  })
})

describe('wrong arguments', () => {
  test('is all in the text, by the names of the arguments', async () => {
    const text = await textOf('image_search', { q: '', count: 0, max_price_usd: 'much', idempotency_key: 'a' })
    for (const name of ['q ', 'count ', 'max_price_usd ']) expect(text).toContain(name)
    expect(text).not.toMatch(/X-Max-Price-USD|see details/i)
    const unknown = await textOf('image_search', { qq: 'x', other: 1, count: 0 })
    for (const part of ['qq is not an argument', 'other is not an argument', 'q is required', 'count '])
      expect(unknown).toContain(part)
    expect(await textOf('llm_context', { nonsense: 1, count: 99, q: 'x' })).toMatch(/nonsense .*count /s)
  })
})

describe('a caller of MCP alone', () => {
  test('deep research has a default model, and lists others', async () => {
    const tool = (await toolsOf(key)).find(({ name }) => name === 'deep_research')
    const model = /Default: (\S+)\./.exec(tool?.inputSchema.properties['model']?.description ?? '')?.[1]
    const { message } = await callTool(gateway, key, 'deep_research', { query: 'otters' })
    expect(message.result?.structuredContent).toMatchObject({ object: 'chat.completion', model })
  })

  test('models lists their ids and prices, and social_link starts linking an account', async () => {
    const { message } = await callTool(gateway, key, 'models')
    const route = await (await gateway.as(key, '/v1/models')).json()
    expect(message.result?.structuredContent).toMatchObject({ data: route.data })
    const linked = await callTool(gateway, key, 'social_link', { scopes: ['tweet.write'] })
    expect(linked.message.result?.structuredContent).toMatchObject({ auth_url: expect.stringContaining('http') })
    expect(await textOf('social_link', { scopes: ['all'] })).toContain('scopes')
  })
})

describe('every form of Accept that clients send is answered', () => {
  const asked = (accept: string | null, method: string, params = {}, version = '2025-11-25') =>
    gateway.as(key, '/mcp', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'mcp-protocol-version': version,
        ...(accept !== null && { accept }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
  const FORMS = ['application/json', '*/*', 'application/*', 'application/json, application/mcp+json', null]

  test.each(FORMS)('%p: one JSON document, of a long tool too', async (accept) => {
    for (const [method, params] of [
      ['tools/list', {}],
      ['tools/call', { name: 'deep_research', arguments: { query: 'otters' } }],
    ] as const) {
      const answer = await asked(accept, method, params)
      expect([answer.status, answer.headers.get('content-type')?.split(';')[0]]).toEqual([200, 'application/json'])
      expect((await answer.json()).result).toBeDefined()
    }
  })

  test('text/event-stream alone gets events, and a page 406', async () => {
    const events = await asked('text/event-stream', 'tools/call', { name: 'deep_research', arguments: { query: 'x' } })
    expect([events.status, events.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
    await events.text()
    expect((await asked('text/html', 'tools/list')).status).toBe(406)
  })

  test('ping is answered in versions that have it', async () => {
    expect(await (await asked('application/json', 'ping')).json()).toMatchObject({ id: 1, result: {} })
  })
})
