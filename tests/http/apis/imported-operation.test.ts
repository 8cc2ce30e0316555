import { describe, expect, test } from 'bun:test'
import { compileJsonSchema } from '../../../server/adapters/openapi/compile-json-schema'
import type { Api, ApiOperation, ApiParameter } from '../../../server/core/apis/api'
import type { Actor } from '../../../server/core/audit'
import { micros, ZERO } from '../../../server/core/money'
import { ApiInputs } from '../../../server/pipeline/apis/api-input'
import { oauthApp } from '../../support/agents/oauth'
import type { ApiGateway } from '../../support/api-upstream'
import { anApi, anOperation, listing } from '../../support/apis'
import { sharedApiGateway } from './shared-gateway'

const OPERATOR: Actor = { kind: 'operator', id: 'test', address: '127.0.0.1' }

const shared = sharedApiGateway()

async function selling(
  operations: readonly Partial<ApiOperation>[],
  api: Partial<Api> = {},
  answer?: Parameters<typeof shared.selling>[1],
) {
  return calling(shared.selling({ operations: operations.map(anOperation), ...api }, answer), operations)
}

async function sellingAlone(
  operations: readonly Partial<ApiOperation>[],
  options: Parameters<typeof shared.sellingAlone>[1] = {},
) {
  return calling(await shared.sellingAlone({ operations: operations.map(anOperation) }, options), operations)
}

/** The gateway, and an account and a key for these operations. */
async function calling(gateway: ApiGateway, operations: readonly Partial<ApiOperation>[]) {
  const account = await gateway.account(5)
  const key = await gateway.key(account, listing(operations))
  const balance = async () => (await gateway.core.ledger.balance(account.id))?.available
  return { ...gateway, gateway, makeKey: gateway.key, newAccount: gateway.account, account, key, balance }
}

const CITY: ApiParameter = {
  name: 'city',
  in: 'query',
  required: true,
  description: '',
  style: 'form',
  explode: true,
  schema: { type: 'string', maxLength: 20 },
}
const DAYS: ApiParameter = {
  name: 'days',
  in: 'query',
  required: false,
  description: '',
  style: 'form',
  explode: true,
  default: 3,
  schema: { type: 'integer', minimum: 1, maximum: 10 },
}

const READ = { parameters: [CITY, DAYS] } as const

describe('a call with a key', () => {
  test("returns the upstream's response unchanged and charges the price once", async () => {
    const { as, key, balance, upstream } = await selling([READ], {}, () => Response.json({ sun: true }))
    const before = await balance()
    const answer = await as(key, '/apis/v1/weather/v1/forecast?city=Z%C3%BCrich')
    expect(answer.status).toBe(200)
    expect(await answer.json()).toEqual({ sun: true })
    expect(answer.headers.get('x-cost-micros-usd')).toBe('10000')
    expect(answer.headers.get('x-ratelimit-remaining-requests')).not.toBeNull()
    expect(answer.headers.get('x-gateway-request-id')).not.toBeNull()
    expect(upstream.calls.map(({ target }) => target)).toEqual(['/base/v1/forecast?city=Z%C3%BCrich&days=3'])
    expect((before ?? 0) - ((await balance()) ?? 0)).toBe(10_000)
  })

  test('is in the usage report and is explained', async () => {
    const { as, key } = await selling([READ])
    const id = (await as(key, '/apis/v1/weather/v1/forecast?city=x')).headers.get('x-gateway-request-id')
    const explained = await (await as(key, `/v1/usage/${id}`)).json()
    expect(explained).toMatchObject({
      operation: 'weather.forecast',
      cost_micros_usd: 10_000,
      charge: { price_version: expect.stringMatching(/^price.forecast$/) },
    })
    const usage = await (await as(key, '/v1/usage')).json()
    expect(JSON.stringify(usage)).toContain('10000')
  })

  test('is refused without charge when the input is not declared or not valid, with all errors at once', async () => {
    const { as, key, balance, upstream } = await selling([READ])
    const before = await balance()
    const answer = await as(key, '/apis/v1/weather/v1/forecast?days=11&admin=1')
    expect(answer.status).toBe(400)
    const { error } = await answer.json()
    expect(error.details.map(({ param }: { param: string }) => param).sort()).toEqual(['admin', 'city', 'days'])
    expect(upstream.calls).toEqual([])
    expect(await balance()).toBe(before as never)
  })

  test('quotes, respects a price bound and a repeat under an Idempotency-Key', async () => {
    const { as, key, balance, upstream } = await selling(
      [READ],
      {},
      () => new Response(new Uint8Array([0xff, 0, 1]), { headers: { 'content-type': 'image/png' }, status: 201 }),
    )
    const path = '/apis/v1/weather/v1/forecast?city=x'
    const quoted = await as(key, path, { headers: { 'x-cost-mode': 'quote' } })
    expect(await quoted.json()).toMatchObject({ quote: { operation: 'weather.forecast', cost_micros_usd: 10_000 } })
    expect((await as(key, path, { headers: { 'x-max-price-usd': '0.009' } })).status).toBe(412)
    const first = await as(key, path, { headers: { 'idempotency-key': 'a' } })
    const paid = await balance()
    const again = await as(key, path, { headers: { 'idempotency-key': 'a' } })
    for (const answer of [first, again]) {
      expect(answer.status).toBe(201)
      expect(answer.headers.get('content-type')).toBe('image/png')
      expect([...new Uint8Array(await answer.arrayBuffer())]).toEqual([0xff, 0, 1])
      const logged = await as(key, `/v1/usage/${answer.headers.get('x-request-id')}`)
      expect(await logged.json()).toMatchObject({ status: 201 })
    }
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(await balance()).toBe(paid as never)
    expect(upstream.calls.length).toBe(1)
  })
})

describe('the operations on sale', () => {
  test('other paths are 404, other methods 405 with Allow, path values that lead elsewhere 400; all with limit headers', async () => {
    const { as, key, upstream } = await selling([
      { id: 'one', path: '/v1/cities/{city}', parameters: [{ ...CITY, in: 'path', style: 'simple' }] },
    ])
    for (const [path, status] of [
      ['/apis/v1/weather/v1/other', 404],
      ['/apis/v1/unknown/v1/cities/a', 404],
      ['/apis/v1/weather', 404],
      ['/apis/v1/weather/v1/cities/%252e%252e', 400],
      ['/apis/v1/weather/v1/cities/a%2Fb', 400],
      ['/apis/v1/weather/v1/cities/a%00', 400],
    ] as const) {
      const answer = await as(key, path)
      expect([path, answer.status]).toEqual([path, status])
      expect(answer.headers.get('x-ratelimit-limit-requests')).not.toBeNull()
    }
    const wrong = await as(key, '/apis/v1/weather/v1/cities/a', { method: 'POST' })
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET'])
    expect(upstream.calls).toEqual([])
  })

  test('a change is served at once, and a disabled API is 404', async () => {
    const { as, key, sell } = await selling([READ])
    sell({
      operations: [
        anOperation({ ...READ, price: { mode: 'fixed', amount: micros(7) }, priceVersion: 'price_2' as never }),
      ],
    })
    expect((await as(key, '/apis/v1/weather/v1/forecast?city=x')).headers.get('x-cost-micros-usd')).toBe('7')
    sell({ enabled: false })
    expect((await as(key, '/apis/v1/weather/v1/forecast?city=x')).status).toBe(404)
  })

  test('a key may be restricted to one operation', async () => {
    const open = await selling([READ, { id: 'other', path: '/v1/other' }])
    const key = await open.makeKey(open.account, { allowed_endpoints: ['weather.other'] })
    expect((await open.as(key, '/apis/v1/weather/v1/other')).status).toBe(200)
    expect((await open.as(key, '/apis/v1/weather/v1/forecast?city=x')).status).toBe(403)
  })
})

describe('a gateway that calls itself', () => {
  test('is detected after three hops, however its host is written, and no hop is charged', async () => {
    const { as, key, upstream, balance, call } = await selling([READ])
    const before = await balance()
    const path = '/apis/v1/weather/v1/forecast?city=x'
    // The upstream is this gateway under another name: it sends the request on with the headers that it got.
    upstream.answers(({ headers }) => {
      const hops = headers['x-gateway-hops'] ?? ''
      return call(path, { headers: { authorization: `Bearer ${key.secret}`, 'x-gateway-hops': hops } })
    })
    const answer = await as(key, path)
    expect(answer.status).toBe(502)
    expect(upstream.calls.map(({ headers }) => headers['x-gateway-hops'])).toEqual(['1', '2', '3'])
    expect(await balance()).toBe(before as never)
  })
})

describe('an upstream that wants to be paid per request', () => {
  test('is never called by a gateway that has no wallet, nor with signup credit', async () => {
    const { as, key, upstream, balance, account, core } = await selling([READ], { auth: { kind: '402', payees: [] } })
    expect((await as(key, '/apis/v1/weather/v1/forecast?city=x')).status).toBe(402)
    const topUp = { account: account.id, part: 'paid', kind: 'top_up', amount: micros(1_000_000) } as const
    expect((await core.ledger.credit({ ...topUp, description: 'test', reference: 'top-up' })).ok).toBe(true)
    const before = await balance()
    expect((await as(key, '/apis/v1/weather/v1/forecast?city=x')).status).toBe(503)
    expect([upstream.calls.length, await balance()]).toEqual([0, before])
  })
})

describe('headers', () => {
  test('the caller’s credentials and forwarding headers never go up; the operator’s credential does', async () => {
    const { as, key, upstream } = await selling(
      [{ ...READ, headersUp: ['x-trace', 'cookie', 'x-upstream-key', 'x-forwarded-host', 'host'] }],
      {
        auth: { kind: 'header', name: 'X-Upstream-Key', secret: { from: 'environment', name: 'UPSTREAM_KEY' } },
        headers: { 'x-app': 'gateway' },
      },
      () => Response.json({}),
    )
    await as(key, '/apis/v1/weather/v1/forecast?city=x', {
      headers: {
        cookie: 'a=b',
        'x-trace': '1',
        'x-upstream-key': 'mine',
        'x-forwarded-for': '1.2.3.4',
        'x-forwarded-host': 'evil',
        'x-other': 'no',
        'accept-language': 'de',
      },
    })
    const { headers } = upstream.calls[0] ?? { headers: {} as Record<string, string> }
    expect(headers).toMatchObject({
      'x-trace': '1',
      'x-upstream-key': 'upstream-secret-1',
      'x-app': 'gateway',
      'accept-language': 'de',
    })
    for (const name of ['cookie', 'authorization', 'x-forwarded-for', 'x-forwarded-host', 'x-other'])
      expect(headers[name]).toBeUndefined()
  })

  test('that an operation declares as parameters do not go up either, nor does a query parameter named like the credential', async () => {
    const header = (name: string): ApiParameter => ({
      name,
      in: 'header',
      required: false,
      description: '',
      style: 'simple',
      explode: false,
      schema: true,
    })
    const names = ['Cookie', 'Authorization', 'X-Forwarded-For', 'Host', 'X-Fine']
    const { as, key, upstream } = await selling(
      [{ parameters: [...names.map(header), { ...CITY, name: 'key', required: false }] }],
      {
        auth: { kind: 'query', name: 'key', secret: { from: 'environment', name: 'UPSTREAM_KEY' } },
      },
      () => Response.json({}),
    )
    const headers = { cookie: 'a=b', 'x-forwarded-for': '1.2.3.4', 'x-fine': 'yes' }
    expect((await as(key, '/apis/v1/weather/v1/forecast?key=mine')).status).toBe(400)
    expect((await as(key, '/apis/v1/weather/v1/forecast', { headers })).status).toBe(200)
    const [call] = upstream.calls
    expect(call?.target).toBe('/base/v1/forecast?key=upstream-secret-1')
    expect(call?.headers['x-fine']).toBe('yes')
    for (const name of ['cookie', 'authorization', 'x-forwarded-for']) expect(call?.headers[name]).toBeUndefined()
  })

  test('cookies, redirects and CORS of the upstream never come down, and pages come as sandboxed attachments', async () => {
    const { as, key } = await selling(
      [
        {
          ...READ,
          headersDown: ['x-units', 'set-cookie', 'location', 'x-request-id', 'x-cost-micros-usd', 'cache-control'],
        },
      ],
      {},
      () =>
        new Response('<script>alert(1)</script>', {
          headers: {
            'content-type': 'text/html',
            'set-cookie': 'a=b',
            location: 'https://evil.example',
            'access-control-allow-origin': '*',
            refresh: '0',
            'x-units': '4',
            'x-hidden': '1',
            'x-request-id': 'theirs',
            'x-cost-micros-usd': '1',
            'cache-control': 'public, max-age=600',
            etag: '"1"',
          },
        }),
    )
    const answer = await as(key, '/apis/v1/weather/v1/forecast?city=x')
    expect(answer.headers.get('content-disposition')).toBe('attachment')
    expect(answer.headers.get('content-security-policy')).toBe('sandbox')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    expect([answer.headers.get('x-units'), answer.headers.get('etag')]).toEqual(['4', '"1"'])
    for (const name of ['set-cookie', 'location', 'access-control-allow-origin', 'refresh', 'x-hidden'])
      expect(answer.headers.get(name)).toBeNull()
    expect(answer.headers.get('x-request-id')).not.toBe('theirs')
    expect([answer.headers.get('x-cost-micros-usd'), answer.headers.get('cache-control')]).toEqual(['10000', 'private'])
  })

  test.each([
    ['as it is', '{"key":"upstream-secret-1"}', {}],
    ['escaped', '{"key":"\\u0075pstream-secret-1"}', {}],
    ['in a header', '{}', { 'x-echo': 'upstream-secret-1' }],
    ['in base64', JSON.stringify({ key: btoa('Bearer upstream-secret-1') }), {}],
    ['in hexadecimal', JSON.stringify({ key: Buffer.from('upstream-secret-1').toString('hex') }), {}],
    ['in base64 in a header', '{}', { 'x-echo': btoa('x upstream-secret-1') }],
    ['percent-encoded', '{"url":"https://a.example/?k=upstream%2Dsecret%2d1"}', {}],
  ])('an answer that holds the secret %s is a 502 without charge', async (_, body, headers) => {
    const { as, key, balance } = await selling(
      [READ],
      { auth: { kind: 'bearer', secret: { from: 'environment', name: 'UPSTREAM_KEY' } } },
      () => new Response(body, { headers: { 'content-type': 'application/json', ...headers } as HeadersInit }),
    )
    const before = await balance()
    const answer = await as(key, '/apis/v1/weather/v1/forecast?city=x')
    expect(answer.status).toBe(502)
    expect(await answer.text()).not.toContain('upstream-secret-1')
    expect(await balance()).toBe(before as never)
  })
})

describe('the upstream', () => {
  test('at a private address is refused unless the environment allows it, and link-local never', async () => {
    const closed = await sellingAlone([READ], { env: { ALLOW_PRIVATE_UPSTREAMS: '10.0.0.0/8' } })
    expect((await closed.as(closed.key, '/apis/v1/weather/v1/forecast?city=x')).status).toBe(503)
    expect(closed.upstream.calls).toEqual([])
    closed.sell({ operations: [anOperation(READ)], baseUrl: 'http://169.254.169.254' })
    expect((await closed.as(closed.key, '/apis/v1/weather/v1/forecast?city=x')).status).toBe(503)
  })

  test('that cannot be reached or refuses us: a trial of the operator says what to change', async () => {
    const { core, control, upstream } = await selling([READ])
    const trial = async (baseUrl: string) => {
      core.apis.replace([anApi({ baseUrl, operations: [anOperation(READ)] })])
      return (await control('/apis/weather/test', { operation: 'forecast', input: { city: 'x' } })).json()
    }
    expect((await trial('http://10.0.0.1')).problem).toContain('ALLOW_PRIVATE_UPSTREAMS')
    upstream.answers(() => new Response('no key', { status: 401 }))
    const problem = 'The call failed: status 401. Check how the API authenticates to its upstream.'
    expect(await trial(upstream.url)).toMatchObject({ status: 401, problem })
  })

  test('is not followed when it redirects', async () => {
    const { as, key, upstream } = await selling([READ], {}, () => Response.redirect('http://127.0.0.1:1/'))
    expect((await as(key, '/apis/v1/weather/v1/forecast?city=x')).status).toBe(502)
    expect(upstream.calls.length).toBe(1)
  })

  test('gives its own 4xx about the request to the caller, and never its 401 or 402', async () => {
    const { as, key, upstream, balance } = await selling([READ])
    const before = await balance()
    upstream.answers(() => Response.json({ message: 'no such city' }, { status: 404 }))
    const answer = await as(key, '/apis/v1/weather/v1/forecast?city=x')
    expect([answer.status, await answer.json()]).toEqual([404, { message: 'no such city' }])
    for (const status of [401, 402, 403]) {
      upstream.answers(() => Response.json({ message: 'pay me' }, { status }))
      expect((await as(key, '/apis/v1/weather/v1/forecast?city=x')).status).toBe(503)
    }
    upstream.answers(() => new Response('', { status: 429, headers: { 'retry-after': '7' } }))
    const limited = await as(key, '/apis/v1/weather/v1/forecast?city=x')
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '7'])
    expect(await balance()).toBe(before as never)
  })

  test('is charged for a 404 that the operator counts as a success, which is never kept, and for no 402 in its range', async () => {
    const success = { minStatus: 200, maxStatus: 404, conditions: [] }
    const { as, key, balance, upstream } = await selling([{ ...READ, success }], { cacheSeconds: 60 })
    const before = await balance()
    const path = '/apis/v1/weather/v1/forecast?city=x'
    upstream.answers(() => Response.json({ known: false }, { status: 404 }))
    for (let i = 0; i < 2; i++) {
      const answer = await as(key, path)
      expect([answer.status, answer.headers.get('x-cost-micros-usd')]).toEqual([404, '10000'])
      expect(await answer.json()).toEqual({ known: false })
    }
    expect(upstream.calls.length).toBe(2)
    upstream.answers(() => Response.json({}, { status: 402 }))
    expect((await as(key, path)).status).toBe(503)
    expect((before ?? 0) - ((await balance()) ?? 0)).toBe(20_000)
  })

  test('answers of reads are kept for a while, charged alike, and carry their age', async () => {
    const { as, key, upstream, clock } = await selling([READ], { cacheSeconds: 60 })
    const path = '/apis/v1/weather/v1/forecast?city=x'
    await as(key, path)
    clock.advance(5000)
    const kept = await as(key, path)
    expect([kept.headers.get('age'), kept.headers.get('x-cost-micros-usd'), upstream.calls.length]).toEqual([
      '5',
      '10000',
      1,
    ])
    clock.advance(56_000)
    await as(key, path)
    expect(upstream.calls.length).toBe(2)
    upstream.answers(() => Response.json({}, { headers: { 'cache-control': 'private' } }))
    await as(key, '/apis/v1/weather/v1/forecast?city=y')
    await as(key, '/apis/v1/weather/v1/forecast?city=y')
    expect(upstream.calls.length).toBe(4)
  })
})

describe('prices by the answer', () => {
  test('an operator sets the price for one account, and the charge is explained by it', async () => {
    const open = await selling([READ])
    const path = '/apis/v1/weather/v1/forecast?city=x'
    const set = await open.core.operator.setPrice(OPERATOR, 'weather.forecast', open.account.id, micros(2500))
    const answer = await open.as(open.key, path)
    expect(answer.headers.get('x-cost-micros-usd')).toBe('2500')
    const explained = await (await open.as(open.key, `/v1/usage/${answer.headers.get('x-gateway-request-id')}`)).json()
    expect(explained.charge.price_version).toBe(set.ok ? set.value.id : '')
    const other = await open.makeKey(await open.newAccount(5))
    expect((await open.as(other, path)).headers.get('x-cost-micros-usd')).toBe('10000')
  })

  const UNITS = {
    price: {
      mode: 'units',
      amount: micros(1000),
      figure: { kind: 'pointer', pointer: '/data' },
      block: 10,
      minimum: 2,
      maximum: { parameter: 'days' },
      onMissing: null,
    },
    parameters: [DAYS],
  } as const

  test('hold the maximum for the request and charge for what was returned', async () => {
    const { as, key, upstream } = await selling([UNITS], {}, () => Response.json({ data: [1, 2, 3] }))
    const quote = await (
      await as(key, '/apis/v1/weather/v1/forecast?days=10', { headers: { 'x-cost-mode': 'quote' } })
    ).json()
    expect(quote.quote.cost_micros_usd).toBe(1000)
    const answer = await as(key, '/apis/v1/weather/v1/forecast?days=10')
    expect(answer.headers.get('x-cost-micros-usd')).toBe('1000')
    upstream.answers(() => Response.json({}))
    expect((await as(key, '/apis/v1/weather/v1/forecast')).status).toBe(502)
  })

  test('an upstream that claims more closes the operation to the account, and after three accounts to all', async () => {
    const open = await sellingAlone([UNITS], { answer: () => Response.json({ data: Array(1000).fill(0) }) })
    const path = '/apis/v1/weather/v1/forecast?days=10'
    const keys = [open.key, ...(await Promise.all([1, 2, 3].map(async () => open.makeKey(await open.newAccount(5)))))]
    const [first, second, third, fourth] = keys as [typeof open.key, typeof open.key, typeof open.key, typeof open.key]
    expect((await open.as(first, path)).headers.get('x-cost-micros-usd')).toBe('1000')
    expect((await open.as(first, path)).status).toBe(503)
    expect((await open.as(second, path)).status).toBe(200)
    expect((await open.as(third, path)).status).toBe(200)
    expect((await open.as(fourth, path)).status).toBe(503)
  })
})

describe('an answer without its figure', () => {
  const price = {
    mode: 'units',
    amount: micros(1000),
    figure: { kind: 'header', name: 'x-units' },
    block: 10,
    minimum: 2,
    maximum: 100,
  } as const

  test('costs nothing where it is read, and the declared units where something was written', async () => {
    const { as, key, balance, upstream } = await selling([
      { ...READ, price: { ...price, onMissing: null } },
      { id: 'order', method: 'POST', path: '/v1/orders', effect: 'write', price: { ...price, onMissing: 35 } },
    ])
    const before = (await balance()) ?? 0
    const order = () => as(key, '/apis/v1/weather/v1/orders', { method: 'POST' })
    for (const [units, cost] of [
      [undefined, '4000'],
      ['many', '4000'],
      ['-1', '4000'],
      ['11', '2000'],
      ['0', '1000'],
    ] as const) {
      upstream.answers(() => Response.json({}, { headers: units === undefined ? {} : { 'x-units': units } }))
      const answer = await order()
      expect([units, answer.status, answer.headers.get('x-cost-micros-usd')]).toEqual([units, 200, cost])
    }
    expect(before - ((await balance()) ?? 0)).toBe(15_000)
    upstream.answers(() => Response.json({}))
    expect((await as(key, '/apis/v1/weather/v1/forecast?city=x')).status).toBe(502)
    expect(before - ((await balance()) ?? 0)).toBe(15_000)
  })
})

describe('a required list that selects rows to delete', () => {
  const ids = (schema: ApiParameter['schema'], explode: boolean): ApiParameter => ({
    name: 'ids',
    in: 'query',
    required: true,
    description: '',
    style: 'form',
    schema,
    explode,
  })
  const list = { type: 'array', items: { type: 'string' } }
  const remove = { method: 'DELETE', path: '/v1/rows', effect: 'write' } as const

  test.each([
    [ids(list, false), '?ids=x,z&ids=y'],
    [ids(true, false), '?ids=x&ids=y'],
    [ids({ type: 'string' }, true), '?ids=x&ids=y'],
  ])('is refused and free, and deletes nothing, where it cannot be read', async (parameter, query) => {
    const { as, key, balance, upstream } = await selling([{ ...remove, parameters: [parameter] }])
    const before = await balance()
    expect((await as(key, `/apis/v1/weather/v1/rows${query}`, { method: 'DELETE' })).status).toBe(400)
    expect(upstream.calls).toEqual([])
    expect(await balance()).toBe(before)
  })

  test.each([
    [ids(list, true), '?ids=x&ids=y', '?ids=x&ids=y'],
    [ids({ anyOf: [{ type: 'string' }, list] }, true), '?ids=x&ids=y', '?ids=x&ids=y'],
    [ids(true, true), '?ids=x&ids=y', '?ids=x&ids=y'],
    [ids(list, false), '?ids=x,y', '?ids=x,y'],
    [ids({ anyOf: [{ type: 'string' }, list] }, false), '?ids=x&ids=y', '?ids=x,y'],
  ])('goes up whole where it can be read', async (parameter, query, sent) => {
    const { as, key, upstream } = await selling([{ ...remove, parameters: [parameter] }])
    expect((await as(key, `/apis/v1/weather/v1/rows${query}`, { method: 'DELETE' })).status).toBe(200)
    expect(upstream.calls.map(({ target }) => target)).toEqual([`/base/v1/rows${sent}`])
  })
})

describe('an app', () => {
  test('reads with data:read and writes with apis:write, and neither with the other alone', async () => {
    const write = { id: 'order', method: 'POST', path: '/v1/orders', effect: 'write' } as const
    const { as, upstream, gateway } = await selling([READ, write])
    const connect = async (scope: string) =>
      (await oauthApp(gateway, await gateway.owner()).connect(scope, ['/apis/v1'])).access_token
    const statuses = async (token: string) => [
      (await as(token, '/apis/v1/weather/v1/forecast?city=x')).status,
      (await as(token, '/apis/v1/weather/v1/orders', { method: 'POST' })).status,
    ]
    expect(await statuses(await connect('data:read offline_access'))).toEqual([200, 403])
    expect(await statuses(await connect('apis:write offline_access'))).toEqual([403, 200])
    expect(upstream.calls.map(({ method }) => method)).toEqual(['GET', 'POST'])
  })
})

describe('writes', () => {
  const WRITE = {
    id: 'order',
    method: 'POST',
    path: '/v1/orders',
    effect: 'write',
    idempotencyHeader: 'X-Request-Key',
    refusedStatuses: [409],
    body: {
      contentType: 'application/json',
      required: true,
      schema: { type: 'object', properties: { item: { type: 'integer' } }, unevaluatedProperties: false },
    },
  } as const
  const order = (body: string, key = 'k1') => ({
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body,
  })

  test('are sent once, with declared properties only and numbers exactly as written', async () => {
    const { as, key, upstream } = await selling([WRITE])
    expect((await as(key, '/apis/v1/weather/v1/orders', order('{"item":1,"admin":true}'))).status).toBe(400)
    const sent = await as(key, '/apis/v1/weather/v1/orders', order('{"item":1,"item":12345678901234567890}'))
    expect(sent.status).toBe(200)
    expect(upstream.calls.map(({ body }) => body)).toEqual(['{"item":12345678901234567890}'])
    expect(upstream.calls[0]?.headers['x-request-key']).toBe(sent.headers.get('x-gateway-request-id') ?? '')
  })

  test("must be named in the key's list: a key without a list can only read", async () => {
    const { as, key, account, makeKey, upstream } = await selling([WRITE, READ])
    const path = '/apis/v1/weather/v1/orders'
    const open = await makeKey(account)
    const refused = await as(open, path, order('{"item":1}'))
    expect(refused.status).toBe(403)
    expect((await refused.json()).error.message).toContain('list of allowed endpoints')
    expect((await as(open, '/apis/v1/weather/v1/forecast?city=x')).status).toBe(200)
    const reader = await makeKey(account, { allowed_endpoints: ['weather.forecast'] })
    expect((await as(reader, path, order('{"item":1}'))).status).toBe(403)
    expect(upstream.calls).toHaveLength(1)
    expect((await as(key, path, order('{"item":1}'))).status).toBe(200)
  })

  test('and reads: a list that names a removed API does not apply to a new API of that name until it is set again', async () => {
    const { as, key, sell, core, clock, account, upstream } = await sellingAlone([WRITE, READ])
    const owner = { accountId: account.id, tier: { ...account, toppedUp: ZERO }, actor: OPERATOR }
    core.apis.replace([])
    const change = (allowedEndpoints: readonly `${string}.${string}`[]) =>
      core.keys.change(owner, key.id, { isWhole: true, form: { allowedEndpoints }, errors: [] })
    expect(await change(['weather.order', 'weather.forecast'])).toMatchObject({ ok: true })
    clock.advance(31 * 86_400_000)
    sell({ operations: [WRITE, READ].map(anOperation), createdAt: clock.now() })
    expect((await as(key, '/apis/v1/weather/v1/orders', order('{"item":1}'))).status).toBe(403)
    expect((await as(key, '/apis/v1/weather/v1/forecast?city=x')).status).toBe(403)
    expect(await change(['weather.order', 'weather.forecast'])).toMatchObject({ ok: true })
    expect((await as(key, '/apis/v1/weather/v1/orders', order('{"item":1}'))).status).toBe(403)
    expect(await change(['weather.order'])).toMatchObject({ ok: true })
    expect((await as(key, '/apis/v1/weather/v1/orders', order('{"item":1}'))).status).toBe(200)
    expect(upstream.calls).toHaveLength(1)
  })

  test('a list takes only operations that are on sale when they are newly named', async () => {
    const { account, makeKey } = await selling([READ])
    expect(await makeKey(account, { allowed_endpoints: ['weather.forecast'] })).toBeDefined()
    const refusal = await makeKey(account, { allowed_endpoints: ['weather.nothing'] }).catch(String)
    expect(refusal).toContain('names an operation that is not on sale')
  })

  test('a declared refusal frees the Idempotency-Key; a 5xx leaves the outcome unknown', async () => {
    const { as, key, upstream } = await selling([WRITE])
    upstream.answers(() => Response.json({ error: 'sold out' }, { status: 409 }))
    expect((await as(key, '/apis/v1/weather/v1/orders', order('{"item":1}'))).status).toBe(409)
    upstream.answers(() => new Response('', { status: 500 }))
    expect((await as(key, '/apis/v1/weather/v1/orders', order('{"item":1}'))).status).toBe(502)
    const again = await as(key, '/apis/v1/weather/v1/orders', order('{"item":1}'))
    expect((await again.json()).error.code).toBe('outcome_unknown')
    expect(upstream.calls.length).toBe(2)
  })

  test('forms are rebuilt from their declared fields', async () => {
    const fields = { type: 'object', properties: { name: { type: 'string' }, photo: {} }, unevaluatedProperties: false }
    const { as, key, upstream } = await selling([
      { ...WRITE, body: { contentType: 'multipart/form-data', required: true, schema: fields } },
      {
        ...WRITE,
        id: 'plain',
        path: '/v1/plain',
        body: { contentType: 'application/x-www-form-urlencoded', required: true, schema: fields },
      },
    ])
    const form = new FormData()
    form.append('name', 'a')
    form.append('photo', new File(['bytes'], '../../etc/passwd', { type: 'image/png' }))
    expect((await as(key, '/apis/v1/weather/v1/orders', { method: 'POST', body: form })).status).toBe(200)
    expect(upstream.calls[0]?.body).not.toContain('../')
    form.append('admin', '1')
    expect((await as(key, '/apis/v1/weather/v1/orders', { method: 'POST', body: form })).status).toBe(400)
    const plain = await as(key, '/apis/v1/weather/v1/plain', {
      method: 'POST',
      body: new URLSearchParams({ name: 'a&b' }),
    })
    expect(plain.status).toBe(200)
    expect(upstream.calls.at(-1)?.body).toBe('name=a%26b')
  })
})

test('a tool call or a trial gives the files of a form as base64', () => {
  const schema = { type: 'object', properties: { name: { type: 'string' }, photos: { type: 'array' } } }
  const body = { contentType: 'multipart/form-data', required: true, schema } as const
  const operation = anOperation({ method: 'POST', effect: 'write', body })
  const inputs = new ApiInputs(compileJsonSchema)
  const read = (photo: unknown) =>
    inputs.readJson({ api: anApi(), operation, values: {} }, { body: { name: 'a', photos: [photo] } })
  const photo = { filename: 'a.png', content_type: 'image/png', base64: 'AP8K' }
  const file = { name: 'a.png', type: 'image/png', bytes: new Uint8Array([0, 255, 10]) }
  const fieldsOf = (sent: ReturnType<typeof read>) =>
    sent.ok && sent.value.body?.kind === 'multipart' ? sent.value.body.fields : null
  expect(fieldsOf(read(photo))).toEqual([
    ['name', 'a'],
    ['photos', file],
  ])
  // Anything else is a text, as before.
  for (const other of [{ ...photo, base64: 'not base64!' }, { ...photo, path: '/etc/passwd' }, { base64: 7 }])
    expect(fieldsOf(read(other))?.[1]).toEqual(['photos', JSON.stringify(other)])
})

describe('without an account', () => {
  const SECRET = { kind: 'bearer', secret: { from: 'environment', name: 'UPSTREAM_KEY' } } as const

  test.each<[string, Partial<Api>, Partial<ApiOperation>, number]>([
    ['offered for a payment if the upstream wants no credential', {}, {}, 402],
    ['not offered if the operator turned that off', {}, { payPerRequest: false }, 401],
    ['not offered if the upstream has a secret', { auth: SECRET }, {}, 401],
    ['not offered if its cost is 0, which only the margin counts', { auth: SECRET }, { upstreamCost: micros(0) }, 401],
    ['not offered if a header of the API may hold a secret', { headers: { 'x-key': 'k' } }, {}, 401],
    ['offered if the operator turned that on', { auth: SECRET }, { payPerRequest: true }, 402],
  ])('an operation is %s', async (_, api, operation, status) => {
    const { call } = await selling([{ ...READ, ...operation }], api)
    expect((await call('/apis/v1/weather/v1/forecast?city=x')).status).toBe(status)
  })
})
