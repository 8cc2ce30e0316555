import { afterAll, beforeAll, expect, test } from 'bun:test'
import { endAndReconcile } from '../http/wire'
import { type Harness, type MadeKey, openHarness } from '../support/harness'

/** The stateless protocol of 2026-07-28: no session and no `initialize`; every message says its version and its client. */
let gateway: Harness
let key: MadeKey
beforeAll(async () => {
  gateway = await openHarness()
  gateway.images.answer = async () => ({ ok: true, value: { body: '{"results":[]}' } })
  key = await gateway.key(await gateway.account(10))
})
afterAll(() => endAndReconcile(gateway))

const VERSION = '2026-07-28'
const CLAIM = {
  'io.modelcontextprotocol/protocolVersion': VERSION,
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

interface Sent {
  readonly method: string
  readonly params?: Record<string, unknown>
  readonly meta?: Record<string, unknown>
  readonly headers?: Record<string, string>
}

function send({ method, params = {}, meta = CLAIM, headers = {} }: Sent, who: MadeKey | null = key) {
  const { name } = params
  const init = {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': VERSION,
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': name }),
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params: { ...params, _meta: meta } }),
  }
  return who ? gateway.as(who, '/mcp', init) : gateway.call(headers['x-path'] ?? '/mcp', init)
}

const read = async (answer: Response) =>
  (await answer.json()) as { result?: Record<string, unknown>; error?: { code?: number } }

test('a client discovers the server, lists its tools and calls one, which is charged as everywhere', async () => {
  const discovered = await read(await send({ method: 'server/discover' }))
  expect(discovered.result).toMatchObject({ supportedVersions: [VERSION], capabilities: { tools: {} } })
  const { result } = await read(await send({ method: 'tools/list' }))
  expect(result?.['tools']).toContainEqual(expect.objectContaining({ name: 'image_search' }))
  const before = await (await gateway.as(key, '/v1/credits/balance')).json()
  const called = await send({ method: 'tools/call', params: { name: 'image_search', arguments: { q: 'card' } } })
  expect(called.headers.get('content-type')).toStartWith('application/json')
  expect((await read(called)).result).toMatchObject({ structuredContent: { results: [] } })
  expect(await (await gateway.as(key, '/v1/credits/balance')).json()).not.toEqual(before)
})

test('a long tool answers with a stream from its start', async () => {
  const params = { name: 'deep_research', arguments: { model: 'sandbox/extract', query: 'How do otters sleep?' } }
  const answer = await send({ method: 'tools/call', params, meta: { ...CLAIM, progressToken: 'p' } })
  expect(answer.headers.get('content-type')).toStartWith('text/event-stream')
  const messages = [...(await answer.text()).matchAll(/^data: (.+)$/gm)].map(([, data]) => JSON.parse(data ?? 'null'))
  expect(messages.at(-1)).toMatchObject({ id: 7, result: { structuredContent: { object: 'chat.completion' } } })
})

test('a caller without a key learns what a call costs where it can be paid for, and is refused elsewhere', async () => {
  const call = { method: 'tools/call', params: { name: 'image_search', arguments: { q: 'card' } } }
  const refused = await send(call, null)
  expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, expect.stringContaining('Bearer')])
  const offered = await read(await send({ ...call, headers: { 'x-path': '/mcp/paid' } }, null))
  expect(offered.result).toMatchObject({ isError: true, structuredContent: { error: { code: 'payment_required' } } })
})

test('the claims of a message about itself must be whole and true, and nothing is held open for news that never come', async () => {
  const cases: readonly (readonly [Sent, number, number])[] = [
    [{ method: 'tools/list', headers: { 'mcp-method': 'tools/call' } }, 400, -32020],
    [{ method: 'tools/list', meta: {} }, 400, -32602],
    [
      { method: 'tools/list', meta: { ...CLAIM, 'io.modelcontextprotocol/protocolVersion': '2999-01-01' } },
      400,
      -32020,
    ],
    [{ method: 'subscriptions/listen', params: { notifications: { toolsListChanged: true } } }, 404, -32601],
    [{ method: 'initialize' }, 404, -32601],
    [{ method: 'tools/call', params: { name: 'nobody' } }, 200, -32602],
  ]
  for (const [sent, status, code] of cases) {
    const answer = await send(sent)
    expect([sent, answer.status, await read(answer)]).toMatchObject([sent, status, { error: { code } }])
  }
  // This version has no ping any more.
  const ping = await send({ method: 'ping' })
  expect([ping.status, (await read(ping)).error?.code]).toEqual([404, -32601])
  const older = await send({ method: 'tools/list', meta: {}, headers: { 'mcp-protocol-version': '2025-11-25' } })
  expect((await read(older)).result).toHaveProperty('tools')
})
