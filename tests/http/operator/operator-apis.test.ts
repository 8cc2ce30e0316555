import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { CatalogPage } from '../../../server/http/apis/catalog-record'
import type { ApiList, ImportPlan, OneApi } from '../../../server/http/apis/record'
import { type Harness, openHarness } from '../../support/harness'
import { auditRows, closeReconciled, type Owner, read, refusalOf } from '../owner-bench'

let gateway: Harness
let operator: Owner
beforeAll(async () => {
  gateway = await openHarness({ env: { UPSTREAM_WEATHER_KEY: 'vendor-secret-1' } })
  operator = await gateway.owner()
})
afterAll(() => closeReconciled(gateway))

const APIS = '/api/operator/apis'
const FIXED = { mode: 'fixed', usd: '0.01' }
const LIMIT = { name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 50 }, default: 10 }
const FORECAST = { id: 'forecast', method: 'GET', path: '/v1/forecast', price: FIXED }

let made = 0
/** A new API, with these members instead of the usual ones. */
const newApi = (part: object = {}) => ({
  name: `weather-${++made}`,
  base_url: 'https://api.weather.example',
  auth: 'header:x-api-key=env:UPSTREAM_WEATHER_KEY',
  operations: [FORECAST],
  ...part,
})
const create = (part?: object) => read<OneApi>(operator.api(APIS, newApi(part)), 201)
const change = (name: string, body: object) => operator.api(`${APIS}/${name}`, body, 'PATCH')
const refused = (part: object) => refusalOf(operator.api(APIS, newApi(part)))
const catalog = (query: string) => read<CatalogPage>(gateway.call(`/v1/catalog?${query}`))
const sold = async (api: string) => (await catalog(`api=${api}`)).operations.map(({ name }) => name)

describe('creating an API', () => {
  test('puts its operations on sale at once, and is audited', async () => {
    const before = (await auditRows(gateway)).length
    const { api, notices } = await create()
    expect(api).toMatchObject({ auth: 'header:x-api-key=env:UPSTREAM_WEATHER_KEY', enabled: true, timeout_ms: 30_000 })
    expect(api.operations).toMatchObject([
      { name: `${api.name}.forecast`, price: FIXED, effect: 'read', success: { min_status: 200, max_status: 299 } },
    ])
    expect(notices).toEqual([])
    expect((await auditRows(gateway)).slice(before)).toMatchObject([{ action: 'api.create', actor_kind: 'operator' }])
    expect(await sold(api.name)).toEqual([`${api.name}.forecast`])
    expect((await gateway.call(`/apis/v1/${api.name}/v1/forecast`)).status).not.toBe(404)
  })

  test.each<[string, object, string]>([
    ['a name of built-in operations', { name: 'social' }, 'name'],
    ['a name that is no slug', { name: 'My API' }, 'name'],
    ['a base URL with a query', { base_url: 'https://a.example/?x=1' }, 'base_url'],
    ['a base URL with credentials', { base_url: 'https://me:pw@a.example' }, 'base_url'],
    ['a base URL that is not written as it is read', { base_url: 'https://a.example/x/../y' }, 'base_url'],
    ['this gateway as its own upstream', { base_url: 'http://localhost:3000' }, 'base_url'],
    ['a variable that is not UPSTREAM_*', { auth: 'bearer:env:SECRET_KEY' }, 'auth'],
    ['a secret that is not stored', { auth: 'bearer:sealed' }, 'auth'],
    ['an upstream that is paid per request', { auth: '402' }, 'auth'],
    ['an authentication nobody knows', { auth: 'digest:env:UPSTREAM_X' }, 'auth'],
    ['the Host header', { headers: { Host: 'b.example' } }, 'headers'],
    ['the header of its own key', { headers: { 'X-API-Key': 'mine' } }, 'headers'],
    ['a member that is not known', { base: 'x' }, 'base'],
  ])('refuses %s', async (_, part, param) => {
    expect(await refused(part)).toMatchObject({ status: 400, code: 'invalid_parameter', param })
  })

  test('refuses two operations for one request, with both names', async () => {
    const operations = [
      { ...FORECAST, path: '/v1/{city}', parameters: [{ name: 'city', in: 'path', schema: true }] },
      { ...FORECAST, id: 'other', path: '/v1/{town}', parameters: [{ name: 'town', in: 'path', schema: true }] },
    ]
    const { message } = await refused({ operations })
    expect(message).toContain('.forecast and ')
    expect(message).toContain('GET /v1/{}')
  })

  test.each<[string, object, string]>([
    ['without a bound', { price: { mode: 'units', usd: '0.001', count: '/data' } }, 'maximum'],
    ['bounded by a parameter that is not declared', unitsFrom('query.limit', []), 'query parameter'],
    ['bounded by text', unitsFrom('query.limit', [{ ...LIMIT, schema: { type: 'string' } }]), 'integer'],
    [
      'bounded from 0',
      unitsFrom('query.limit', [{ ...LIMIT, schema: { type: 'integer', minimum: 0, maximum: 5 } }]),
      'minimum',
    ],
    ['bounded without a default', unitsFrom('query.limit', [{ ...LIMIT, default: undefined }]), 'default'],
    [
      'of a write without on_missing',
      { method: 'POST', price: { mode: 'units', usd: '0.1', count: '/n', maximum: 5 } },
      'on_missing',
    ],
    [
      'of a read with on_missing, which is free without its figure',
      { price: { mode: 'units', usd: '0.1', count: '/n', maximum: 5, on_missing: 1 } },
      'writes only',
    ],
    [
      'of a million units at a million',
      { price: { mode: 'units', usd: '1000000', count: '/n', maximum: 1_000_000 } },
      '1000000 USD',
    ],
    ['reported without a maximum', { price: { mode: 'reported', pointer: '/cost', unit: 'usd' } }, 'maximum_usd'],
    ['below zero', { price: { mode: 'fixed', usd: '-1' } }, 'US dollars'],
  ])('refuses a price %s', async (_, part, reason) => {
    const refusal = await refused({ operations: [{ ...FORECAST, ...part }] })
    expect(refusal).toMatchObject({ status: 400 })
    expect(refusal.message).toContain(reason)
  })

  test('accepts every form of price, and shows it as entered', async () => {
    const prices = [
      { mode: 'units', usd: '0.001', count: '/data', block: 10, minimum: 2, maximum: 100 },
      { mode: 'units', usd: '0.001', count: 'header:x-units', block: 1, minimum: 0, maximum_from: 'query.limit' },
      { mode: 'reported', pointer: '/cost', unit: 'cents', multiplier: '1.2', minimum_usd: '0', maximum_usd: '0.5' },
    ]
    const operations = prices.map((price, i) => ({
      id: `p${i}`,
      method: 'GET',
      path: `/p${i}`,
      parameters: [LIMIT],
      price,
    }))
    const { api } = await create({ operations })
    expect(api.operations.map(({ price }) => price)).toEqual(prices as (typeof api.operations)[number]['price'][])
  })

  test('reports that the variable of a secret is not set', async () => {
    expect((await create({ auth: 'bearer:env:UPSTREAM_LATER' })).notices.join()).toContain('UPSTREAM_LATER is not set')
  })
})

function unitsFrom(maximum_from: string, parameters: readonly object[]) {
  return { parameters, price: { mode: 'units', usd: '0.001', count: '/data', maximum_from } }
}

describe('a secret in the database', () => {
  const auth = 'bearer:secret:vendor-secret-2'

  test('is never shown in any answer, audit row or table', async () => {
    const { api } = await create({ auth })
    expect(api.auth).toBe('bearer:sealed')
    const all = [await operator.api(`${APIS}/${api.name}`).then((answer) => answer.text()), await auditRows(gateway)]
    const stored = await gateway.core.stores.apis.all()
    expect(JSON.stringify([all, stored])).not.toContain('vendor-secret-2')
  })

  test('stays when it is sent back as sealed, and is dropped if the host, scheme or port changes', async () => {
    const { api } = await create({ auth })
    const sealed = async () => JSON.stringify((await stored(api.name))?.auth)
    const before = await sealed()
    expect(await read<OneApi>(change(api.name, { auth: 'bearer:sealed', title: 'New' }))).toMatchObject({
      api: { title: 'New', auth: 'bearer:sealed' },
    })
    expect(await sealed()).toBe(before)
    for (const base_url of ['https://b.example', 'http://api.weather.example', 'https://api.weather.example:8443'])
      expect(await refusalOf(change(api.name, { base_url, auth: 'bearer:sealed' }))).toMatchObject({ param: 'auth' })
    const moved = await read<OneApi>(change(api.name, { base_url: 'https://b.example' }))
    expect(moved.api.auth).toBe('none')
    expect(moved.notices.join()).toContain('secret was dropped')
  })
})

const stored = async (name: string) => (await gateway.core.stores.apis.all()).find((api) => api.name === name)

describe('changing an API', () => {
  test('changes the named operations and leaves the others; a new price is a new version, the old one stays readable', async () => {
    const { api } = await create({ operations: [FORECAST, { ...FORECAST, id: 'alerts', path: '/v1/alerts' }] })
    const [first, second] = api.operations
    const body = { operations: [{ id: 'forecast', price: { mode: 'fixed', usd: '0.02' } }], cache_seconds: 60 }
    const changed = (await read<OneApi>(change(api.name, body))).api
    expect(changed.operations[1]).toEqual(second as never)
    expect(changed.operations[0]).toMatchObject({ price: { mode: 'fixed', usd: '0.02' }, tool_name: first?.tool_name })
    expect(changed.operations[0]?.price_version).not.toBe(first?.price_version as string)
    expect(await gateway.core.stores.apis.price(first?.price_version ?? '')).toMatchObject({
      price: { amount: 10_000 },
    })
    const same = (await read<OneApi>(change(api.name, body))).api
    expect(same).toEqual(changed)
  })

  test('takes operations and whole APIs off sale and puts them back', async () => {
    const { api } = await create({ operations: [FORECAST, { ...FORECAST, id: 'alerts', path: '/v1/alerts' }] })
    await read(change(api.name, { operations: [{ id: 'alerts', enabled: false }] }))
    expect(await sold(api.name)).toEqual([`${api.name}.forecast`])
    await read(change(api.name, { enabled: false }))
    expect(await sold(api.name)).toEqual([])
    await read(change(api.name, { enabled: true, remove_operations: ['alerts'] }))
    expect(await sold(api.name)).toEqual([`${api.name}.forecast`])
    expect(await refusalOf(change(api.name, { operations: [{ id: 'new' }] }))).toMatchObject({ status: 400 })
    expect(await refusalOf(change('nothing', { enabled: false }))).toMatchObject({ status: 404 })
  })
})

/** A document with these paths. */
const document = (paths: object, info: object = {}) =>
  JSON.stringify({ openapi: '3.1.0', info: { title: 'Weather', version: '1', ...info }, paths })
const get = (operationId: string, parameters: readonly object[] = []) => ({
  get: { operationId, summary: operationId, parameters, responses: { 200: { description: 'ok' } } },
})
const importing = (body: object, query = '') => operator.api(`${APIS}/import${query}`, body)

describe('importing a document', () => {
  const cookie = { name: 'sid', in: 'cookie', required: true, schema: { type: 'string' } }
  const paths = { '/v1/forecast': get('forecast'), '/v1/alerts': get('alerts'), '/v1/me': get('me', [cookie]) }
  const form = (name: string, more: object = {}) => ({
    name,
    base_url: 'https://api.weather.example',
    document: document(paths),
    price: FIXED,
    ...more,
  })

  test('shows in a dry run what would be sold, at what price, and what cannot be, without any change', async () => {
    const before = await auditRows(gateway)
    const prices = { 'GET /v1/alerts': { mode: 'fixed', usd: '0.5' } }
    const plan = await read<ImportPlan>(importing(form('dry', { prices }), '?dry_run=true'))
    expect(plan).toMatchObject({
      applied: false,
      is_new: true,
      added: ['forecast', 'alerts'],
      changed: [],
      removed: [],
    })
    expect(plan.api.operations.map(({ price }) => price)).toEqual([FIXED as never, prices['GET /v1/alerts'] as never])
    expect(plan.refused.map(({ name }) => name)).toEqual(['GET /v1/me'])
    expect(plan.refused[0]?.reason).toMatch(/cookie/i)
    expect(await auditRows(gateway)).toEqual(before)
    expect(await sold('dry')).toEqual([])
  })

  test('notes a base path that is left out, a private upstream, and what is sold without an account', async () => {
    const served = JSON.stringify({
      ...JSON.parse(document(paths)),
      servers: [{ url: 'https://api.weather.example/v2' }],
    })
    const noted = async (base_url: string, more: object = {}) =>
      (
        await read<ImportPlan>(importing(form('noted', { base_url, document: served, ...more }), '?dry_run=true'))
      ).notices.join('\n')
    const open = await noted('http://10.1.2.3', { auth: 'none' })
    expect(open).toContain('the base path /v2')
    expect(open).toContain('10.1.2.3 is not a public address. Calls fail until ALLOW_PRIVATE_UPSTREAMS allows it.')
    expect(open).toContain('Also sold without an account, where payments per request are configured: forecast')
    const closed = await noted('https://proxy.example/weather/v2', { auth: 'bearer:env:UPSTREAM_WEATHER_KEY' })
    expect(closed).not.toMatch(/base path|public address/)
    expect(closed).toContain('Sold to accounts only')
    const { base_url: _, ...without } = form('noted')
    expect((await refusalOf(importing(without))).message).toContain('--base URL')
  })

  test('sells what can be sold; a repeat changes nothing', async () => {
    expect(await read<ImportPlan>(importing(form('first')))).toMatchObject({ applied: true })
    expect(await sold('first')).toEqual(['first.alerts', 'first.forecast'])
    const before = await auditRows(gateway)
    expect(await read<ImportPlan>(importing({ name: 'first', document: document(paths) }))).toMatchObject({
      is_new: false,
      added: [],
      changed: [],
      removed: [],
    })
    expect(await auditRows(gateway)).toEqual(before)
  })

  test('again with changes shows them and asks: only the confirmation of that exact plan applies it', async () => {
    await read(importing(form('again')))
    await read(
      change('again', {
        operations: [{ id: 'forecast', upstream_cost_usd: '0.004', success: { min_status: 200, max_status: 200 } }],
      }),
    )
    const city = { name: 'city', in: 'query', schema: { type: 'string' } }
    const next = {
      name: 'again',
      price: FIXED,
      document: document({ '/v1/forecast': get('forecast', [city]), '/v1/new': get('brandNew') }),
    }
    const refusal = await refusalOf(importing(next))
    expect(refusal).toMatchObject({ status: 409, code: 'invalid_state' })
    const plan = await read<ImportPlan>(importing(next, '?dry_run=true'))
    expect(plan).toMatchObject({
      added: ['brandNew'],
      removed: ['alerts'],
      changed: [{ id: 'forecast', changed: ['text', 'schema'] }],
    })
    await read(change('again', { title: 'Changed in between' }))
    expect(await refusalOf(importing({ ...next, confirm: plan.confirm }))).toMatchObject({ status: 409 })
    const { confirm } = await read<ImportPlan>(importing(next, '?dry_run=true'))
    const done = await read<ImportPlan>(importing({ ...next, confirm }))
    expect(done.applied).toBe(true)
    expect(done.api.operations).toMatchObject([
      { id: 'forecast', upstream_cost_usd: '0.004', success: { max_status: 200 }, parameters: [{ name: 'city' }] },
      { id: 'brandNew' },
    ])
  })

  test('again keeps what the operator set, but what was a read is a write once its method changes', async () => {
    const write = { operationId: 'forecast', responses: { 200: { description: 'Done.' } } }
    await read(importing(form('moved', { document: document({ '/v1/forecast': get('forecast') }) })))
    await read(change('moved', { operations: [{ id: 'forecast', answer: 'stream', effect: 'read' }] }))
    const next = { name: 'moved', document: document({ '/v1/forecast': { ...get('forecast') } }) }
    expect((await read<ImportPlan>(importing(next, '?dry_run=true'))).api.operations).toMatchObject([
      { answer: 'stream', effect: 'read' },
    ])
    const moved = { name: 'moved', document: document({ '/v1/forecast': { post: write } }) }
    const plan = await read<ImportPlan>(importing(moved, '?dry_run=true'))
    expect(plan.api.operations).toMatchObject([{ method: 'POST', effect: 'write', answer: 'stream' }])
    const changed = await read<OneApi>(change('moved', { operations: [{ id: 'forecast', method: 'DELETE' }] }))
    expect(changed.api.operations).toMatchObject([{ method: 'DELETE', effect: 'write' }])
  })

  test('takes one price for reads and writes: what it says of missing figures is for the writes', async () => {
    const price = { mode: 'units', usd: '0.1', count: '/n', block: 1, minimum: 0, maximum: 5 }
    const post = { operationId: 'order', responses: { 200: { description: 'Done.' } } }
    const mixed = document({ '/v1/forecast': get('forecast'), '/v1/orders': { post } })
    const plan = await read<ImportPlan>(
      importing(form('mixed', { document: mixed, price: { ...price, on_missing: 2 } }), '?dry_run=true'),
    )
    expect(plan.refused).toEqual([])
    expect(plan.api.operations.map((one) => one.price)).toEqual([price as never, { ...price, on_missing: 2 } as never])
  })

  test('refuses operations without a price, by name, and a document without anything to sell', async () => {
    const { price: _, ...free } = form('unpriced', { prices: { alerts: FIXED } })
    const plan = await read<ImportPlan>(importing(free, '?dry_run=true'))
    expect(plan.added).toEqual(['alerts'])
    expect(plan.refused.map(({ name }) => name)).toContain('GET /v1/forecast')
    expect(await refusalOf(importing({ ...free, prices: {} }))).toMatchObject({ status: 400, param: 'document' })
    expect(await refusalOf(importing(form('bad', { document: 'not: [an' })))).toMatchObject({ param: 'document' })
    expect(await refusalOf(importing(form('bad', { prices: { nothing: FIXED } })))).toMatchObject({ param: 'prices' })
  })

  test('equals creating with openapi', async () => {
    const { api } = await create({ operations: undefined, openapi: document(paths), price: FIXED })
    expect(api.operations.map(({ id }) => id)).toEqual(['forecast', 'alerts'])
  })
})

describe('removing an API', () => {
  test('ends its sale at once; its name stays reserved for 30 days, its prices stay', async () => {
    const { api } = await create()
    const version = api.operations[0]?.price_version ?? ''
    expect(await read<unknown>(operator.api(`${APIS}/${api.name}`, undefined, 'DELETE'))).toEqual({ name: api.name })
    expect(await sold(api.name)).toEqual([])
    expect(await refusalOf(operator.api(`${APIS}/${api.name}`))).toMatchObject({ status: 404 })
    expect(await gateway.core.stores.apis.price(version)).not.toBeNull()
    expect(await refused({ name: api.name })).toMatchObject({ status: 400, param: 'name' })
    const names = (await read<ApiList>(operator.api(APIS))).apis.map(({ name }) => name)
    expect(names).not.toContain(api.name)
    expect(names).toEqual([...names].sort())
  })
})

describe('a price that the operator sets for everyone', () => {
  const setting = (operation: string, usd: string | null) => operator.api('/api/operator/prices', { operation, usd })

  test('is what the catalog shows, and cannot be set where the upstream says what a call cost', async () => {
    const reported = { mode: 'reported', pointer: '/cost', unit: 'usd', maximum_usd: '1' }
    const bill = { ...FORECAST, id: 'bill', path: '/v1/bill', price: reported }
    const { api } = await create({ operations: [FORECAST, bill] })
    const shown = async () => (await catalog(`api=${api.name}`)).operations.map(({ price }) => Object(price).usd)
    await read(setting(`${api.name}.forecast`, '0.03'))
    expect(await shown()).toEqual([undefined, '0.03'])
    await read(setting(`${api.name}.forecast`, null))
    expect(await shown()).toEqual([undefined, '0.01'])
    expect(await refusalOf(setting(`${api.name}.bill`, '0.03'))).toMatchObject({ status: 409, code: 'invalid_state' })
    expect(await refusalOf(setting(`${api.name}.forecast`, '1000001'))).toMatchObject({ status: 409 })
    expect(await shown()).toEqual([undefined, '0.01'])
  })

  test('ends with its API: another one that gets the name 30 days later costs what it was imported with', async () => {
    const { api } = await create()
    await read(setting(`${api.name}.forecast`, '0.03'))
    await read(operator.api(`${APIS}/${api.name}`, undefined, 'DELETE'))
    gateway.clock.advance(31 * 86_400_000)
    operator = await gateway.signIn(operator.email)
    const { api: next } = await create({ name: api.name })
    const shown = async () => (await catalog(`api=${next.name}`)).operations.map(({ price }) => Object(price).usd)
    expect(await shown()).toEqual(['0.01'])
    await read(setting(`${next.name}.forecast`, '0.04'))
    expect(await shown()).toEqual(['0.04'])
  })
})

describe('the public catalog', () => {
  test('needs no key, has built-in and imported operations, and finds them by words', async () => {
    const { api } = await create({
      operations: [
        {
          ...FORECAST,
          title: 'Tidal waves',
          parameters: [LIMIT, { name: 'q', in: 'query', required: true, schema: { type: 'string' } }],
        },
      ],
    })
    const { operations } = await catalog(`q=WAVES%20tidal&api=${api.name}`)
    expect(operations).toEqual([
      {
        name: `${api.name}.forecast`,
        api: api.name,
        method: 'GET',
        path: `/apis/v1/${api.name}/v1/forecast`,
        title: 'Tidal waves',
        description: '',
        price: FIXED,
        effect: 'read',
        pay_per_request: false,
        input_schema: {
          type: 'object',
          properties: { limit: LIMIT.schema, q: { type: 'string' } },
          required: ['q'],
          additionalProperties: false,
        },
        parameters: [
          { input: 'limit', name: 'limit', in: 'query' },
          { input: 'q', name: 'q', in: 'query' },
        ],
        examples: [],
        api_title: api.title,
        body_type: null,
      },
    ])
    const images = (await catalog('q=image')).operations.find(({ name }) => name === 'image-search')
    expect(images).toMatchObject({ api: 'websearch', price: { mode: 'fixed', usd: '0.005' } })
  })

  test('has pages without gaps or repeats', async () => {
    const all = (await catalog('limit=100')).operations.map(({ name }) => name)
    const paged: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: CatalogPage = await catalog(`limit=3${cursor && `&cursor=${cursor}`}`)
      paged.push(...page.operations.map(({ name }) => name))
      cursor = page.next_cursor
    }
    expect(paged).toEqual(all)
    expect((await gateway.call('/v1/catalog?limit=101')).status).toBe(400)
  })
})

describe('an old session', () => {
  test('asks for a sign-in of the last ten minutes if a secret would be sent elsewhere, and only then', async () => {
    const { api } = await create()
    gateway.clock.advance(10 * 60_000 + 1)
    const code = 'recent_sign_in_required'
    expect(await refusalOf(change(api.name, { base_url: 'https://b.example' }))).toMatchObject({ code })
    expect(await refusalOf(change(api.name, { auth: 'none' }))).toMatchObject({ code })
    expect(await refusalOf(operator.api(APIS, newApi()))).toMatchObject({ code })
    await read(change(api.name, { title: 'Only words', base_url: 'https://api.weather.example/v2' }))
    expect(await stored(api.name)).toMatchObject({ title: 'Only words', baseUrl: 'https://api.weather.example/v2' })
  })
})
