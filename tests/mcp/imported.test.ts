import { afterEach, describe, expect, test } from 'bun:test'
import type { ApiOperation, ApiParameter } from '../../server/core/apis/api'
import { BUILT_IN_TOOLS } from '../../server/core/apis/tool-name'
import { micros } from '../../server/core/money'
import { callTool, mcp } from '../support/agents/mcp'
import { type ApiGateway, openApiGateway } from '../support/api-upstream'
import { anOperation, listing } from '../support/apis'

let gateway: ApiGateway | null = null
afterEach(async () => {
  await gateway?.close()
  gateway = null
})

const OPERATOR = { kind: 'operator', id: 'test', address: null } as const

const CITY: ApiParameter = {
  name: 'city',
  in: 'path',
  required: true,
  description: 'A place.',
  style: 'simple',
  explode: false,
  schema: { type: 'string' },
}

async function selling(operations: readonly Partial<ApiOperation>[]) {
  const open = await openApiGateway({ operations: operations.map(anOperation) })
  gateway = open
  const account = await open.account(5)
  return { open, account, key: await open.key(account, listing(operations)) }
}

async function toolNames(open: ApiGateway, key: { readonly id: string; readonly secret: string }) {
  const { message } = await mcp(open, key, 'tools/list')
  return (message.result?.tools ?? []).map(({ name }) => name)
}

const FORECAST = { path: '/v1/{city}', parameters: [CITY] }

describe('few imported operations', () => {
  test('are one tool each, called and charged like their routes', async () => {
    const { open, account, key } = await selling([FORECAST])
    expect(await toolNames(open, key)).toContain('weather_forecast')
    const before = (await open.core.ledger.balance(account.id))?.available ?? 0
    const { message } = await callTool(open, key, 'weather_forecast', { city: 'Zürich' })
    expect(open.upstream.calls.map(({ target }) => target)).toEqual(['/base/v1/Z%C3%BCrich'])
    expect(message.result?._meta?.['gateway/cost_micros_usd']).toBe(10_000)
    expect(before - ((await open.core.ledger.balance(account.id))?.available ?? 0)).toBe(10_000)
    const wrong = await callTool(open, key, 'weather_forecast', { town: 'x' })
    expect(wrong.message.result?.isError).toBe(true)
    expect(open.upstream.calls).toHaveLength(1)
  })

  test('say what they cost this account', async () => {
    const { open, account, key } = await selling([FORECAST])
    const other = await open.key(await open.account(5))
    const costs = async (of: typeof key) => {
      const { message } = await mcp(open, of, 'tools/list')
      return (message.result?.tools ?? []).find(({ name }) => name === 'weather_forecast')?.description
    }
    await open.core.operator.setPrice(OPERATOR, 'weather.forecast', account.id, micros(2500))
    expect(await costs(key)).toContain('0.0025 USD')
    expect(await costs(other)).toContain('0.01 USD')
    await open.core.operator.setPrice(OPERATOR, 'weather.forecast', null, micros(30_000))
    expect(await costs(other)).toContain('0.03 USD')
  })

  test('are not tools for a key that may not call them', async () => {
    const { open, account } = await selling([FORECAST, { id: 'other', path: '/v1/other/x' }])
    const key = await open.key(account, { allowed_endpoints: ['weather.other'] })
    const names = await toolNames(open, key)
    expect([names.includes('weather_other'), names.includes('weather_forecast')]).toEqual([true, false])
  })

  test('return files as a resource, and long texts cut', async () => {
    const { open, key } = await selling([FORECAST])
    open.upstream.answers(() => new Response(new Uint8Array([1, 2, 255]), { headers: { 'content-type': 'image/png' } }))
    const file = await callTool(open, key, 'weather_forecast', { city: 'x' })
    expect(JSON.stringify(file.message.result?.content)).toContain('"blob":"AQL/"')
    open.upstream.answers(() => Response.json('x'.repeat(300_000)))
    const long = await callTool(open, key, 'weather_forecast', { city: 'x' })
    expect(long.message.result?.structuredContent).toMatchObject({ truncated: true })
  })
})

describe('more than 40 imported operations', () => {
  const many = Array.from({ length: 45 }, (_, i) => ({
    id: `op${i}`,
    path: `/v1/op${i}`,
    title: `Operation number ${i}`,
  }))
  const order = { id: 'order', method: 'POST', path: '/v1/orders', effect: 'write', title: 'Order a thing' } as const

  test('are searched, described, quoted and called', async () => {
    const { open, account, key } = await selling([
      ...many,
      { ...order, price: { mode: 'fixed', amount: micros(20_000) } },
    ])
    const names = await toolNames(open, key)
    // A key without a list may call all built-in operations, too.
    expect((await toolNames(open, await open.key(account))).toSorted()).toEqual(BUILT_IN_TOOLS.toSorted())
    expect(names).not.toContain('image_search')
    for (const name of [
      'search_operations',
      'describe_operation',
      'quote_operation',
      'call_operation',
      'call_write_operation',
    ])
      expect(names).toContain(name)
    expect(names.some((name) => name.startsWith('weather_'))).toBe(false)
    const { tools = [] } = (await mcp(open, key, 'tools/list')).message.result ?? {}
    expect(tools.filter(({ name }) => name.startsWith('call_'))).toMatchObject([
      { name: 'call_operation', annotations: { readOnlyHint: true, destructiveHint: false } },
      { name: 'call_write_operation', annotations: { readOnlyHint: false, destructiveHint: true } },
    ])
    const found = await callTool(open, key, 'search_operations', { query: 'order thing' })
    expect(found.message.result?.structuredContent).toMatchObject({ operations: [{ operation: 'weather.order' }] })
    const described = await callTool(open, key, 'describe_operation', { operation: 'weather.op7' })
    expect(described.message.result?.structuredContent).toMatchObject({ title: 'Operation number 7' })
    const quoted = await callTool(open, key, 'quote_operation', { operation: 'weather.order' })
    expect(quoted.message.result?.structuredContent).toMatchObject({ quote: { cost_micros_usd: 20_000 } })
    expect(open.upstream.calls).toEqual([])
    const before = (await open.core.ledger.balance(account.id))?.available ?? 0
    await callTool(open, key, 'call_operation', { operation: 'weather.op7', input: {} })
    await callTool(open, key, 'call_write_operation', { operation: 'weather.order' })
    expect(open.upstream.calls.map(({ target }) => target)).toEqual(['/base/v1/op7', '/base/v1/orders'])
    expect(before - ((await open.core.ledger.balance(account.id))?.available ?? 0)).toBe(30_000)
  })

  test('that the owner pinned stay a tool each, if the key may call them', async () => {
    const { open, account } = await selling([...many, order])
    const pinned_operations = ['weather.op3', 'weather.order']
    const key = await open.key(account, { pinned_operations })
    const own = async (of: typeof key) => (await toolNames(open, of)).filter((name) => name.startsWith('weather_'))
    // A key without a list may not call the write.
    expect(await own(key)).toEqual(['weather_op3'])
    const { message } = await callTool(open, key, 'weather_op3', {})
    expect(message.result?._meta?.['gateway/cost_micros_usd']).toBe(10_000)
    const allowed_endpoints = [...many.map(({ id }) => `weather.${id}`), 'weather.order']
    expect(await own(await open.key(account, { pinned_operations, allowed_endpoints }))).toEqual([
      'weather_op3',
      'weather_order',
    ])
    open.sell({ operations: many.filter(({ id }) => id !== 'op3').map(anOperation) })
    expect(await own(key)).toEqual([])
  })

  test('follow each change of the catalog and of the list of the key', async () => {
    const { open, account } = await selling(many)
    const key = await open.key(account)
    expect(await toolNames(open, key)).toContain('call_operation')
    open.sell({ operations: many.slice(0, 2).map(anOperation) })
    expect((await toolNames(open, key)).filter((name) => name.startsWith('weather_'))).toEqual([
      'weather_op0',
      'weather_op1',
    ])
    const limited = await open.key(account, { allowed_endpoints: ['weather.op1'] })
    expect((await toolNames(open, limited)).filter((name) => name.startsWith('weather_'))).toEqual(['weather_op1'])
    const found = await callTool(open, key, 'search_operations', { query: 'x' })
    expect(found.message.error?.message).toContain('There is no tool')
  })

  test('are not called by the read tool if they change something', async () => {
    const { open, key } = await selling([...many, order])
    const { message } = await callTool(open, key, 'call_operation', { operation: 'weather.order' })
    expect(message.result?.isError).toBe(true)
    expect(open.upstream.calls).toEqual([])
  })
})
