import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ImportPlan } from '../../../server/http/apis/record'
import type { ApiReport } from '../../../server/http/apis/report-record'
import type { Revenue } from '../../../server/http/operator/money/revenue-record'
import type { UsageReport } from '../../../server/http/usage/record'
import { openApiUpstream } from '../../support/api-upstream'
import { type Harness, openHarness } from '../../support/harness'
import { closeReconciled, type Owner, read, refusalOf } from '../owner-bench'

let gateway: Harness
let upstream: ReturnType<typeof openApiUpstream>
let operator: Owner
let secret: string
beforeAll(async () => {
  gateway = await openHarness({ env: { ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1', CREDIT_BUYS_PAID_PROVIDERS: 'true' } })
  upstream = openApiUpstream()
  operator = await gateway.owner()
  secret = (await read<{ secret: string }>(operator.api('/api/keys', { name: 'caller' }), 201)).secret
})
afterAll(async () => {
  await upstream.close()
  await closeReconciled(gateway)
})

const operation = (id: string, price: object, more: object = {}) => ({
  id,
  method: 'GET',
  path: `/${id}`,
  price,
  ...more,
})
const sell = (name: string, operations: object[]) =>
  read(operator.api('/api/operator/apis', { name, base_url: upstream.url, auth: 'none', operations }), 201)
const call = async (path: string) => (await gateway.as(secret, `/apis/v1${path}`)).status
const reportOf = async (name: string) => {
  const { apis } = await read<ApiReport>(operator.api('/api/operator/api-report'))
  return apis.find((api) => api.name === name)
}

test('a document of a private network refers to its neighbours at its own origin, where that network is allowed', async () => {
  const parts = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: ({ url }) => Response.json(url.endsWith('/parts.json') ? { Place: { type: 'string', maxLength: 3 } } : {}),
  })
  try {
    const place = { name: 'place', in: 'query', required: true, schema: { $ref: 'parts.json#/Place' } }
    const other = { ...place, schema: { $ref: 'http://127.0.0.2/parts.json#/Place' } }
    const get = (parameter: object) => ({ get: { parameters: [parameter], responses: {} } })
    const form = {
      name: 'neighbours',
      base_url: 'https://api.weather.example',
      price: { mode: 'fixed', usd: '0.01' },
      origin: `http://127.0.0.1:${parts.port}/openapi.json`,
      document: JSON.stringify({ openapi: '3.1.0', paths: { '/a': get(place), '/b': get(other) } }),
    }
    const plan = await read<ImportPlan>(operator.api('/api/operator/apis/import?dry_run=true', form))
    expect(plan.api.operations).toMatchObject([{ path: '/a', parameters: [{ schema: { maxLength: 3 } }] }])
    expect(plan.refused).toMatchObject([{ name: 'GET /b' }])
  } finally {
    await parts.stop(true)
  }
})

describe('the report on APIs', () => {
  test('sums calls, failures and revenue by operation, and derives the upstream cost', async () => {
    const bill = { mode: 'reported', pointer: '/cost', unit: 'usd', multiplier: '1.5', maximum_usd: '1' }
    await sell('sums', [
      operation('known', { mode: 'fixed', usd: '0.01' }, { upstream_cost_usd: '0.004' }),
      operation('billed', bill),
    ])
    upstream.answers(({ target }) =>
      target === '/known' ? Response.json({}) : Response.json({ cost: 0.02 }, { status: 200 }),
    )
    expect([await call('/sums/known'), await call('/sums/known'), await call('/sums/billed')]).toEqual([200, 200, 200])
    // The same cost is kept with each call, for the report on revenue.
    const revenue = await read<Revenue>(operator.api('/api/operator/revenue?group_by=operation'))
    expect(revenue.rows).toMatchObject([
      { name: 'sums.billed', calls: 1, upstream_cost_micros_usd: 20_000, margin_micros_usd: 10_000 },
      { name: 'sums.known', calls: 2, upstream_cost_micros_usd: 8_000, margin_micros_usd: 12_000 },
    ])
    upstream.answers(() => new Response('broken', { status: 500 }))
    expect(await call('/sums/known')).toBe(502)
    expect(await reportOf('sums')).toMatchObject({
      calls: 4,
      served: 3,
      failed: 1,
      revenue_micros_usd: 50_000,
      upstream_cost_micros_usd: 28_000,
      recent_calls: 4,
      recent_failed: 1,
      operations: [
        { name: 'sums.billed', revenue_micros_usd: 30_000, upstream_cost_micros_usd: 20_000 },
        { name: 'sums.known', calls: 3, failed: 1, upstream_cost_micros_usd: 8_000 },
      ],
    })
  })

  test('gives revenue less what was refunded of it, and a quote counts as no call', async () => {
    upstream.answers(() => Response.json({}))
    await sell('back', [operation('one', { mode: 'fixed', usd: '0.02' }, { upstream_cost_usd: '0.005' })])
    const served = await gateway.as(secret, '/apis/v1/back/one')
    expect([served.status, await call('/back/one')]).toEqual([200, 200])
    const quote = await gateway.as(secret, '/apis/v1/back/one', { headers: { 'x-cost-mode': 'quote' } })
    expect(await quote.json()).toMatchObject({ quote: { cost_micros_usd: 20_000 } })
    const { id } = await read<{ id: string }>(operator.api('/api/account'))
    const payment = served.headers.get('x-gateway-request-id')
    await read(operator.api(`/api/operator/accounts/${id}/refunds`, { payment, usd: '0.015', note: 'Sorry' }))
    expect(await reportOf('back')).toMatchObject({
      calls: 2,
      revenue_micros_usd: 25_000,
      upstream_cost_micros_usd: 10_000,
    })
    const { rows } = await read<Revenue>(operator.api('/api/operator/revenue?group_by=operation'))
    expect(rows.find(({ name }) => name === 'back.one')).toMatchObject({
      calls: 2,
      revenue_micros_usd: 25_000,
      unknown_cost_calls: 0,
    })
    const { totals } = await read<UsageReport>(operator.api('/api/usage?operation=back.one'))
    expect(totals).toMatchObject({ requests: 2, charged_micros_usd: 40_000 })
  })

  test('keeps the revenue of a removed operation, whose cost is then unknown, and counts no API with a longer name', async () => {
    upstream.answers(() => Response.json({}))
    const price = { mode: 'fixed', usd: '0.02' }
    await sell('old', [operation('gone', price, { upstream_cost_usd: '0.01' }), operation('stays', price)])
    await sell('old-er', [operation('other', price)])
    expect([await call('/old/gone'), await call('/old-er/other')]).toEqual([200, 200])
    await read(operator.api('/api/operator/apis/old', { remove_operations: ['gone'] }, 'PATCH'))
    const report = await reportOf('old')
    expect(report).toMatchObject({ calls: 1, revenue_micros_usd: 20_000, upstream_cost_micros_usd: null })
    expect(report?.operations.map(({ name }) => name)).toEqual(['old.gone'])
  })

  test('is only for operators', async () => {
    const other = await gateway.owner('not.operator@example.com')
    expect((await other.api('/api/operator/api-report')).status).toBe(403)
    expect((await other.api('/api/operator/api-documents', { url: upstream.url })).status).toBe(403)
    expect((await gateway.call('/api/operator/api-report')).status).toBe(401)
  })
})

describe('fetching a document for an import', () => {
  const fetchFrom = (url: string) => operator.api('/api/operator/api-documents', { url })

  test('returns its text', async () => {
    upstream.answers(() => new Response('openapi: 3.1.0'))
    expect(await read(fetchFrom(`${upstream.url}/openapi.yaml`))).toEqual({ document: 'openapi: 3.1.0' })
  })

  test.each([
    ['an address of metadata', 'http://169.254.169.254/latest/meta-data'],
    ['a private address that is not allowed', 'http://10.0.0.1/openapi.json'],
    ['a file', 'file:///etc/passwd'],
    ['what is no URL', 'openapi.json'],
  ])('refuses %s', async (_, url) => {
    expect(await refusalOf(fetchFrom(url))).toMatchObject({ status: 400, code: 'invalid_parameter', param: 'url' })
  })

  test('follows no redirect to an address that is not allowed', async () => {
    upstream.answers(() => Response.redirect('http://169.254.169.254/latest/meta-data', 302))
    const { message } = await refusalOf(fetchFrom(`${upstream.url}/openapi.json`))
    expect(message).toContain('its host has no public address')
  })
})

test('the report drops errors older than a day, and calls before its range', async () => {
  const price = { mode: 'fixed', usd: '0.02' }
  upstream.answers(() => Response.json({}))
  await sell('aged', [operation('one', price)])
  expect(await call('/aged/one')).toBe(200)
  const day = gateway.clock.now()
  gateway.clock.advance(2 * 86_400_000)
  expect(await reportOf('aged')).toMatchObject({ calls: 1, recent_calls: 0 })
  const names = async (from: number) => (await gateway.core.operationUsage(from, from)).map((one) => one.operation)
  expect(await names(day)).toContain('aged.one')
  expect(await names(day + 86_400_000)).toEqual([])
})
