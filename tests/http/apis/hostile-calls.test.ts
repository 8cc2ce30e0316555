import { describe, expect, test } from 'bun:test'
import type { Api, ApiOperation, ApiParameter } from '../../../server/core/apis/api'
import { micros } from '../../../server/core/money'
import { callTool } from '../../support/agents/mcp'
import type { ApiGateway } from '../../support/api-upstream'
import { anOperation, listing } from '../../support/apis'
import { sharedApiGateway } from './shared-gateway'

const shared = sharedApiGateway()

async function selling(operations: readonly Partial<ApiOperation>[], api: Partial<Api> = {}) {
  return calling(shared.selling({ operations: operations.map(anOperation), ...api }), operations)
}

async function sellingAlone(operations: readonly Partial<ApiOperation>[], api: Partial<Api>, env = {}) {
  return calling(await shared.sellingAlone({ operations: operations.map(anOperation), ...api }, { env }), operations)
}

/** The gateway, and buyers of these operations. */
async function calling(open: ApiGateway, operations: readonly Partial<ApiOperation>[]) {
  const buyer = async () => {
    const account = await open.account(5)
    return { account, key: await open.key(account, listing(operations)) }
  }
  const targets = () => open.upstream.calls.map(({ target }) => target.slice('/base'.length))
  return { open, buyer, targets, ...(await buyer()) }
}

const QUERY = { in: 'query', required: false, description: '', style: 'form', explode: true } as const
const ID: ApiParameter = {
  ...QUERY,
  name: 'id',
  in: 'path',
  required: true,
  style: 'simple',
  schema: { type: 'string' },
}
const LIMIT: ApiParameter = {
  ...QUERY,
  name: 'limit',
  schema: { type: 'integer', minimum: 1, maximum: 5000 },
  default: 1,
}
const USER = { id: 'user', path: '/users/{id}', parameters: [ID] }
const EXPORT = { id: 'export', path: '/users/export', price: { mode: 'fixed', amount: micros(2_000_000) } as const }

describe('a parameter whose value is the path of a dearer operation', () => {
  test('is that operation, however it is escaped', async () => {
    const { open, key, targets } = await selling([USER, EXPORT])
    for (const path of ['/users/export', '/users/%65xport']) {
      const answer = await open.as(key, `/apis/v1/weather${path}`)
      expect([answer.status, answer.headers.get('x-cost-micros-usd')]).toEqual([200, '2000000'])
    }
    expect((await open.as(key, '/apis/v1/weather/users/EXPORT')).status).toBe(404)
    expect(targets()).toEqual(['/users/export', '/users/export'])
  })

  test('is refused in a tool call', async () => {
    const { open, key, targets } = await selling([USER, EXPORT])
    for (const id of ['export', 'Export']) {
      const { message } = await callTool(open, key, 'weather_user', { id })
      expect([message.result?.isError, JSON.stringify(message)]).toEqual([
        true,
        expect.stringContaining('another operation'),
      ])
    }
    expect(targets()).toEqual([])
    await callTool(open, key, 'weather_user', { id: 'exports' })
    expect(targets()).toEqual(['/users/exports'])
  })

  test('leads nowhere while that operation is not sold', async () => {
    const { open, key, targets } = await selling([USER, { ...EXPORT, enabled: false }])
    for (const last of ['export', '%65xport', 'Export'])
      expect((await open.as(key, `/apis/v1/weather/users/${last}`)).status).toBe(404)
    const { message } = await callTool(open, key, 'weather_user', { id: 'export' })
    expect(message.result?.isError).toBe(true)
    expect(targets()).toEqual([])
  })
})

describe('a bound of the price', () => {
  const PRICED = {
    parameters: [LIMIT],
    price: {
      ...({ mode: 'units', amount: micros(1000), figure: { kind: 'pointer', pointer: '/data' }, block: 1 } as const),
      minimum: 0,
      maximum: { parameter: 'limit' },
      onMissing: null,
    },
  } satisfies Partial<ApiOperation>

  test('goes up as the number that is held for, not as a text that another parser reads as more', async () => {
    const { open, key, targets } = await selling([PRICED])
    // As parseInt reads it: 1000e-3 is a thousand to it.
    open.upstream.answers(({ target }) => {
      const count = Number.parseInt(target.split('limit=')[1] ?? '', 10)
      return Response.json({ data: Array.from({ length: count }, () => 1) })
    })
    for (const [sent, cost] of [
      ['1000e-3', '1000'],
      ['1e1', '10000'],
      ['2.0', '2000'],
    ]) {
      const answer = await open.as(key, `/apis/v1/weather/v1/forecast?limit=${sent}`)
      expect([answer.status, answer.headers.get('x-cost-micros-usd')]).toEqual([200, cost ?? ''])
    }
    expect(targets().map((target) => target.split('=')[1])).toEqual(['1', '10', '2'])
  })

  test('is not sent a second time as the member of an object', async () => {
    const FILTER: ApiParameter = {
      ...QUERY,
      name: 'filter',
      schema: { type: 'object', properties: { limit: {}, q: {} } },
    }
    const { open, key, targets } = await selling([{ ...PRICED, parameters: [LIMIT, FILTER] }])
    for (const filter of [{ limit: '5000' }, { undeclared: '1' }]) {
      const { message } = await callTool(open, key, 'weather_forecast', { limit: 1, filter })
      expect(message.result?.isError).toBe(true)
    }
    expect((await open.as(key, '/apis/v1/weather/v1/forecast?limit=1&q=x')).status).toBe(400)
    await open.as(key, '/apis/v1/weather/v1/forecast?q=x')
    expect(targets()).toEqual(['/v1/forecast?limit=1&q=x'])
  })

  test('that the upstream exceeds in an answer that may be kept closes one account, not those that ask the same', async () => {
    const figure = { kind: 'pointer', pointer: '/n' } as const
    const price = { ...PRICED.price, figure, maximum: 10 }
    const { open, buyer, key } = await sellingAlone([{ price }], { cacheSeconds: 600 })
    open.upstream.answers(() => Response.json({ n: open.upstream.calls.length === 1 ? 1000 : 1 }))
    const keys = [key, (await buyer()).key, (await buyer()).key, (await buyer()).key]
    const statuses: number[] = []
    for (const one of keys) statuses.push((await open.as(one, '/apis/v1/weather/v1/forecast')).status)
    expect(statuses).toEqual([200, 200, 200, 200])
    expect((await open.as(key, '/apis/v1/weather/v1/forecast')).status).toBe(503)
  })
})

describe('the judged request is the one that goes up', () => {
  const body = (schema: object, contentType: 'application/json' | 'application/x-www-form-urlencoded') =>
    ({
      method: 'POST',
      effect: 'write',
      body: { contentType, required: true, schema: { ...schema } },
    }) satisfies Partial<ApiOperation>
  const post = (type: string, text: string) => ({ method: 'POST', headers: { 'content-type': type }, body: text })

  test('a JSON number beyond all numbers is refused, and never becomes null', async () => {
    const { open, key } = await selling([body({ properties: { a: { type: 'number' } } }, 'application/json')])
    const sent = (text: string) => open.as(key, '/apis/v1/weather/v1/forecast', post('application/json', text))
    expect((await sent('{"a":1e999}')).status).toBe(400)
    expect((await sent('{"a":1e99}')).status).toBe(200)
    expect(open.upstream.calls.map((call) => call.body)).toEqual(['{"a":1e+99}'])
  })

  test('an object in a form is judged by its members and goes up as it was judged', async () => {
    const meta = { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false }
    const type = 'application/x-www-form-urlencoded'
    const { open, key } = await selling([body({ type: 'object', properties: { meta } }, type)])
    const sent = (text: string) =>
      open.as(key, '/apis/v1/weather/v1/forecast', post(type, new URLSearchParams({ meta: text }).toString()))
    for (const text of ['{"a":"x","admin":true}', 'admin', '{"a":1}']) expect((await sent(text)).status).toBe(400)
    expect((await sent('{"a":"x","a":"y"}')).status).toBe(200)
    expect(open.upstream.calls.map((call) => new URLSearchParams(call.body).get('meta'))).toEqual(['{"a":"y"}'])
  })

  test('a part of a list holds no delimiter', async () => {
    const tags = { type: 'array', items: { type: 'string' }, maxItems: 1 }
    const { open, key, targets } = await selling([
      { parameters: [{ ...QUERY, name: 'tags', explode: false, schema: tags }] },
    ])
    const { message } = await callTool(open, key, 'weather_forecast', { tags: ['a,b'] })
    expect([message.result?.isError, targets()]).toEqual([true, []])
  })
})

describe('an object in a header that is exploded', () => {
  const size = { type: 'object', properties: { w: { type: 'integer' }, name: { type: 'string' } }, required: ['w'] }
  const closed = { ...size, unevaluatedProperties: false }
  const parameter: ApiParameter = { ...QUERY, name: 'X-Size', in: 'header', style: 'simple', schema: closed }
  const operation = { parameters: [parameter] }

  test('is read by its members and goes up in the same form', async () => {
    const { open, key } = await selling([operation])
    open.upstream.answers(() => Response.json({}))
    const sent = (value: string) =>
      open.as(key, '/apis/v1/weather/v1/forecast', { headers: { 'x-size': value } }).then(({ status }) => status)
    expect(await sent('w=10,name=a')).toBe(200)
    for (const value of ['w=x', 'name=a', 'w=10,admin=1', 'w=10,name=a=b']) expect(await sent(value)).toBe(400)
    expect(open.upstream.calls.map(({ headers }) => headers['x-size'])).toEqual(['w=10,name=a'])
  })
})

test('a header with underscores goes up no more than its twin with hyphens', async () => {
  const header = (name: string): ApiParameter => ({ ...QUERY, name, in: 'header', style: 'simple', schema: {} })
  const names = ['x_api_key', 'x_forwarded_for', 'X-Vendor_Token', 'x-http-method-override']
  const { open, key } = await selling(
    [{ parameters: names.map(header), headersUp: names.map((name) => name.toLowerCase()) }],
    {
      auth: { kind: 'header', name: 'X-Vendor-Token', secret: { from: 'environment', name: 'UPSTREAM_KEY' } },
    },
  )
  open.upstream.answers(() => Response.json({}))
  await open.as(key, '/apis/v1/weather/v1/forecast', {
    headers: Object.fromEntries(names.map((name) => [name, 'mine'])),
  })
  expect(open.upstream.calls.length).toBe(1)
  expect(JSON.stringify(open.upstream.calls)).not.toContain('mine')
})

test('an upstream that shows the password of its user alone is a 502', async () => {
  const { open, key } = await sellingAlone(
    [{}],
    { auth: { kind: 'basic', secret: { from: 'environment', name: 'UPSTREAM_LOGIN' } } },
    { UPSTREAM_LOGIN: 'shop:pass-word-1' },
  )
  open.upstream.answers(() => Response.json({ user: 'shop', password: 'pass-word-1' }))
  const answer = await open.as(key, '/apis/v1/weather/v1/forecast')
  expect([answer.status, await answer.text()]).toEqual([502, expect.not.stringContaining('pass-word-1')])
})

test('an answer nested deeper than a stack is a 502 without its figure, not a fault', async () => {
  const figure = { kind: 'pointer', pointer: '/n' } as const
  const price = {
    mode: 'units',
    amount: micros(1000),
    figure,
    block: 1,
    minimum: 0,
    maximum: 10,
    onMissing: null,
  } as const
  const { open, key } = await selling([{ price }])
  const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`
  open.upstream.answers(
    () => new Response(`{"n":3,"deep":${deep}}`, { headers: { 'content-type': 'application/json' } }),
  )
  const answer = await open.as(key, '/apis/v1/weather/v1/forecast')
  expect(answer.status).toBe(502)
})
