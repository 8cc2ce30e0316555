import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { OPERATIONS } from '../../server/core/catalog/operations'
import { err } from '../../server/core/result'
import { endAndReconcile } from '../http/wire'
import { callTool, mcp } from '../support/agents/mcp'
import { oauthApp } from '../support/agents/oauth'
import { type Harness, type MadeKey, openHarness } from '../support/harness'

let gateway: Harness
let key: MadeKey
let account: Awaited<ReturnType<Harness['account']>>
beforeAll(async () => {
  gateway = await openHarness()
  account = await gateway.account(10)
  key = await gateway.key(account)
})
afterAll(() => endAndReconcile(gateway))

const balance = async () => (await gateway.core.ledger.balance(account.id))!.posted

describe('the MCP server', () => {
  test('introduces itself, and says that results are data and calls cost money', async () => {
    const { status, message, headers } = await mcp(gateway, key, 'initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    })
    expect(status).toBe(200)
    expect(message.result).toMatchObject({ protocolVersion: '2025-11-25', serverInfo: { name: 'gateway' } })
    expect(String(message.result?.['instructions'])).toContain('never as instructions')
    expect(headers.get('x-ratelimit-limit-requests')).not.toBeNull()
    expect((await mcp(gateway, key, 'notifications/initialized', {}, { id: null })).status).toBe(202)
  })

  test('has one tool for every operation of the catalog, with its price, and tools for balance and usage', async () => {
    const { message } = await mcp(gateway, key, 'tools/list')
    const tools = message.result?.tools ?? []
    for (const operation of Object.values(OPERATIONS)) {
      const tool = tools.find(({ name }) => name === operation.name.replaceAll('-', '_'))
      expect(tool, operation.name).toBeDefined()
      expect(tool?.description).toMatch(/Costs [\d.]+ USD|Free\./)
    }
    const names = tools.map(({ name }) => name)
    expect(names).toContain('balance')
    expect(names).toContain('usage')
    expect(tools.find(({ name }) => name === 'image_search')).toMatchObject({
      description: expect.stringContaining('Costs 0.005 USD for each successful call'),
      inputSchema: { type: 'object', required: ['q'], additionalProperties: false },
      annotations: { readOnlyHint: true },
    })
  })

  test('shows the price that an operator set for this account', async () => {
    const own = await gateway.account(1)
    const its = await gateway.key(own)
    const actor = { kind: 'operator', id: 'test', address: null } as const
    await gateway.core.operator.setPrice(actor, 'image-search', own.id, 7000 as never)
    const { message } = await mcp(gateway, its, 'tools/list')
    const tool = message.result?.tools?.find(({ name }) => name === 'image_search')
    expect(tool?.description).toContain('0.007 USD')
  })
})

describe('a tool', () => {
  test('whose upstream reports more than was held fails as its route does, uncharged, and the log has its id', async () => {
    gateway.images.answer = async () => ({ ok: true, value: { body: '{}', units: 5 } })
    const before = await balance()
    const { message } = await callTool(gateway, key, 'image_search', { q: 'card' })
    const route = await gateway.as(key, '/apis/v1/websearch/images/search?q=card')
    const failures = [message.result?.structuredContent, await route.json()] as { error: { code: string } }[]
    expect(failures.map(({ error }) => error.code)).toEqual(['internal_error', 'internal_error'])
    expect(message.result?.isError).toBe(true)
    const id = String(message.result?._meta?.['gateway/request_id'])
    const lines = gateway.logged.filter((line) => line.includes(id))
    expect(lines.filter((line) => line.includes('call failed'))).toHaveLength(1)
    expect(lines.filter((line) => line.includes('request failed'))).toHaveLength(1)
    const after = await gateway.core.ledger.balance(account.id)
    expect([before - Number(after?.posted), after?.held]).toEqual([0, 0])
  })

  test('answers as its route does, marked as external data, and charges once', async () => {
    gateway.images.answer = async () => ({ ok: true, value: { body: '{"results":[{"title":"a"}]}' } })
    const before = await balance()
    const { message } = await callTool(gateway, key, 'image_search', { q: 'card', count: 3, spellcheck: false })
    const its = { cost_micros_usd: 5000, request_id: expect.stringMatching(/^req_/) }
    expect(message.result?.structuredContent).toEqual({ results: [{ title: 'a' }], gateway: its })
    expect(message.result?.content?.[0]?.text).toContain('written by strangers')
    expect(message.result?._meta).toMatchObject({ 'gateway/cost_micros_usd': 5000, 'gateway/untrusted': true })
    expect(gateway.images.asked.at(-1)).toMatchObject({ q: 'card', count: 3, spellcheck: false, country: 'US' })
    expect(before - (await balance())).toBe(5000)
    const id = String(message.result?._meta?.['gateway/request_id'])
    const explained = await callTool(gateway, key, 'explain_charge', { request_id: id })
    expect(explained.message.result?.structuredContent).toMatchObject({ id, cost_micros_usd: 5000 })
  })

  test('accepts the caller’s location and the lists of the POST form', async () => {
    await callTool(gateway, key, 'llm_context', {
      q: 'near me',
      goggles: ['$discard'],
      'x-loc-city': 'Bern',
      'x-loc-lat': 46.9,
    })
    expect(gateway.context.asked.at(-1)).toMatchObject({
      goggles: ['$discard'],
      'x-loc-city': 'Bern',
      'x-loc-lat': 46.9,
    })
  })

  test.each([
    ['a wrong value', { q: 'card', count: 0 }, 'invalid_parameter'],
    ['a missing one', {}, 'missing_parameter'],
    ['an unknown argument', { q: 'card', nonsense: 1 }, 'invalid_parameter'],
    ['a structure where a value belongs', { q: { a: 1 } }, 'invalid_parameter'],
    ['a line break for a header', { q: 'card', idempotency_key: 'a\r\nx: y' }, 'invalid_parameter'],
  ])('refuses %s with the rule, uncharged', async (_what, input, code) => {
    const before = await balance()
    const { message, status } = await callTool(gateway, key, 'image_search', input)
    expect(status).toBe(200)
    expect(message.result?.isError).toBe(true)
    expect(message.result?.structuredContent).toMatchObject({ error: { code } })
    expect(await balance()).toBe(before)
  })

  test("that costs more than the caller's maximum does not run", async () => {
    const asked = gateway.images.asked.length
    const { message } = await callTool(gateway, key, 'image_search', { q: 'card', max_price_usd: '0.001' })
    expect(message.result?.structuredContent).toMatchObject({ error: { code: 'estimated_price_exceeds_max_price' } })
    expect(gateway.images.asked.length).toBe(asked)
  })

  test('whose upstream fails returns an error for the model, uncharged', async () => {
    const before = await balance()
    gateway.images.answer = async () => err({ kind: 'unavailable', reason: 'away' })
    const { message } = await callTool(gateway, key, 'image_search', { q: 'card' })
    expect(message.result).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'upstream_unavailable' } },
    })
    expect(await balance()).toBe(before)
    gateway.images.answer = async () => ({ ok: true, value: { body: '{}' } })
  })

  test('that is not on the key’s list, or exceeds its limit, is refused like its route', async () => {
    const narrow = await gateway.key(account, { allowed_endpoints: ['llm-context'] })
    const listed = await callTool(gateway, narrow, 'image_search', { q: 'card' })
    expect(listed.message.result?.structuredContent).toMatchObject({ error: { code: 'insufficient_permissions' } })
    const poor = await gateway.key(account, { spending_limit: 0.001 })
    const spent = await callTool(gateway, poor, 'image_search', { q: 'card' })
    expect(spent.message.result?.structuredContent).toMatchObject({ error: { code: 'insufficient_api_key_balance' } })
  })

  test('that does not exist is a protocol error', async () => {
    const { message } = await callTool(gateway, key, 'no_such_tool')
    expect(message.error?.code).toBe(-32602)
  })

  test('counts once toward the minute, and is in the log once', async () => {
    const own = await gateway.account(1)
    const its = await gateway.key(own)
    const left = async () =>
      Number((await callTool(gateway, its, 'image_search', { q: 'x' })).headers.get('x-ratelimit-remaining-requests'))
    expect((await left()) - (await left())).toBe(1)
    await gateway.core.stores.applied()
    const page = await gateway.core.reports.requests(
      { accountId: own.id, keyId: its.id as never, operation: null, status: null, model: null, from: null, to: null },
      10,
      null,
    )
    expect(page?.rows.map(({ operation }) => operation)).toEqual(['image-search', 'image-search'])
  })
})

test('deep research is a tool: searches and a model, charged together, answered with a stream', async () => {
  gateway.context.answer = async () => ({
    ok: true,
    value: {
      body: '{"grounding":{"generic":[{"url":"https://a.example","title":"Otters","snippets":["Otters hold hands."]}]},"sources":{}}',
    },
  })
  const before = await balance()
  const { headers, message } = await callTool(
    gateway,
    key,
    'deep_research',
    { model: 'sandbox/extract', query: 'How do otters sleep?', max_searches: 2, max_price_usd: '0.05' },
    { _meta: { progressToken: 'p' } },
  )
  expect(headers.get('content-type')).toContain('text/event-stream')
  expect(message.result?.isError).toBeUndefined()
  expect(message.result?.structuredContent).toMatchObject({ object: 'chat.completion', model: 'sandbox/extract' })
  const cost = Number(message.result?._meta?.['gateway/cost_micros_usd'])
  expect(cost).toBeGreaterThan(0)
  expect(before - (await balance())).toBe(cost)
  const { message: dear } = await callTool(gateway, key, 'deep_research', {
    model: 'sandbox/extract',
    query: 'x',
    max_price_usd: 'a lot',
  })
  expect(dear.result?.structuredContent).toMatchObject({ error: { code: 'invalid_parameter' } })
})

describe('cancel', () => {
  const never = () => {
    const seen = Promise.withResolvers<AbortSignal>()
    gateway.images.answer = (_input, signal) => {
      seen.resolve(signal)
      return new Promise((resolve) =>
        signal.addEventListener('abort', () => resolve(err({ kind: 'timeout', reason: 'aborted' }))),
      )
    }
    return seen.promise
  }
  const restore = () => {
    gateway.images.answer = async () => ({ ok: true, value: { body: '{}' } })
  }
  const search = { name: 'image_search', arguments: { q: 'slow' } }

  test('finds its call by caller and id, though sent as another request; a call to a local source stops, uncharged', async () => {
    const before = await balance()
    gateway.images.isLocal = true
    const reached = never()
    const call = mcp(gateway, key, 'tools/call', search, { id: 'call-1' })
    const signal = await reached
    const other = await gateway.key(account)
    await mcp(gateway, other, 'notifications/cancelled', { requestId: 'call-1' }, { id: null })
    expect(signal.aborted).toBe(false)
    expect((await mcp(gateway, key, 'notifications/cancelled', { requestId: 'call-1' }, { id: null })).status).toBe(202)
    expect(signal.aborted).toBe(true)
    expect((await call).message.result?.isError).toBe(true)
    expect(await balance()).toBe(before)
    delete gateway.images.isLocal
    restore()
  })

  test('changes nothing once an external upstream is called: the call completes and is charged (spec D4)', async () => {
    const before = await balance()
    const [reached, given] = [Promise.withResolvers<AbortSignal>(), Promise.withResolvers<void>()]
    gateway.images.answer = async (_input, signal) => {
      reached.resolve(signal)
      await given.promise
      return { ok: true, value: { body: '{}' } }
    }
    const call = mcp(gateway, key, 'tools/call', search, { id: 'call-2' })
    const signal = await reached.promise
    await mcp(gateway, key, 'notifications/cancelled', { requestId: 'call-2' }, { id: null })
    expect(signal.aborted).toBe(false)
    given.resolve()
    await call
    expect(Number(before) - Number(await balance())).toBe(5_000)
    restore()
  })

  test('of an id that two clients of a key use concurrently stops neither', async () => {
    const signals: AbortSignal[] = []
    const both = Promise.withResolvers<void>()
    const ends: (() => void)[] = []
    gateway.images.answer = (_input, signal) => {
      signals.push(signal)
      if (signals.length === 2) both.resolve()
      return new Promise((resolve) => ends.push(() => resolve({ ok: true, value: { body: '{}' } })))
    }
    const calls = [1, 2].map(() => mcp(gateway, key, 'tools/call', search, { id: 7 }))
    await both.promise
    await mcp(gateway, key, 'notifications/cancelled', { requestId: 7 }, { id: null })
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false])
    for (const end of ends) end()
    for (const call of calls) expect((await call).message.result?.isError).toBeUndefined()
    restore()
  })
})

describe('401 and 403', () => {
  test('without a credential the answer says where to get one (spec 5.2, RFC 9728)', async () => {
    const { status, headers } = await mcp(gateway, null, 'tools/list')
    expect(status).toBe(401)
    expect(headers.get('www-authenticate')).toBe(
      `Bearer realm="gateway", resource_metadata="${gateway.config.baseUrl}/.well-known/oauth-protected-resource/mcp", scope="data:read usage:read offline_access"`,
    )
  })

  test.each(['gwk_nope', 'gwat_nope', 'nonsense'])('with %s it is an invalid token', async (secret) => {
    const { status, headers } = await mcp(gateway, secret, 'tools/list')
    expect(status).toBe(401)
    expect(headers.get('www-authenticate')).toContain('error="invalid_token"')
  })

  test('a tool that the owner did not allow is 403 with the scope to request', async () => {
    const app = oauthApp(gateway, await gateway.owner())
    const { access_token } = await app.connect('usage:read offline_access', ['/mcp'])
    expect((await callTool(gateway, access_token, 'balance')).message.result?.structuredContent).toMatchObject({
      currency: 'USD',
    })
    const refused = await callTool(gateway, access_token, 'image_search', { q: 'card' })
    expect(refused.status).toBe(403)
    expect(refused.headers.get('www-authenticate')).toContain('error="insufficient_scope"')
    expect(refused.headers.get('www-authenticate')).toContain('scope="data:read"')
  })

  test('a page of another site, and a name that only resolves here, are refused', async () => {
    const headers = { origin: 'https://evil.example' }
    expect((await mcp(gateway, key, 'tools/list', {}, { headers })).status).toBe(403)
    const rebound = await gateway.gateway.app.handle(
      new Request('http://evil.example:3000/mcp', {
        method: 'POST',
        headers: { authorization: `Bearer ${key.secret}`, 'content-type': 'application/json' },
        body: '{}',
      }),
    )
    expect(rebound.status).toBe(403)
  })

  test('another method is 405, a batch 400, a body over 1 MiB 413', async () => {
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const answer = await gateway.as(key, '/mcp', { method })
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST'])
    }
    const send = (body: string) =>
      gateway.as(key, '/mcp', { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    expect((await send('[]')).status).toBe(400)
    expect((await send(`"${'x'.repeat(1_100_000)}"`)).status).toBe(413)
  })
})
