import { afterAll, beforeAll, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import type { CatalogFile, CatalogPlan } from '../../../server/http/apis/record'
import { type Harness, openHarness } from '../../support/harness'
import { auditRows, closeReconciled, read, refusalOf } from '../owner-bench'

let gateway: Harness
beforeAll(async () => {
  gateway = await openHarness({ env: { UPSTREAM_KEY: 'vendor-secret' } })
})
afterAll(() => closeReconciled(gateway))

const apply = (apis: readonly object[], more: object = {}) =>
  gateway.control('/catalog', { catalog: { apis }, ...more })
const names = () => gateway.core.apis.routes.apis.map(({ name }) => name)

const OPERATION = { id: 'one', method: 'GET', path: '/v1/one', price: { mode: 'fixed', usd: '0.01' } }
const api = (name: string, part: object = {}) => ({
  name,
  base_url: `https://${name}.example`,
  auth: 'bearer:env:UPSTREAM_KEY',
  operations: [OPERATION],
  ...part,
})

test('a catalog file is applied as a whole; a dry run shows the plan, and applying it twice changes nothing', async () => {
  const file = [api('alpha', { auth: 'bearer:secret:sealed-text-1' }), api('beta')]
  const plan = await read<CatalogPlan>(apply(file, { dry_run: true }))
  expect(plan).toMatchObject({
    applied: false,
    apis: [{ name: 'alpha', action: 'create', added: ['one'] }, { name: 'beta' }],
  })
  expect(names()).toEqual([])
  expect(await read<CatalogPlan>(apply(file))).toMatchObject({ applied: true })
  expect(names()).toEqual(['alpha', 'beta'])
  const exported = await read<CatalogFile>(gateway.control('/catalog'))
  expect(JSON.stringify(exported)).not.toContain('sealed-text-1')
  const before = await auditRows(gateway)
  expect((await read<CatalogPlan>(apply(exported.apis))).apis).toMatchObject([
    { action: 'unchanged' },
    { action: 'unchanged' },
  ])
  expect(await auditRows(gateway)).toEqual(before)
})

test('removals happen only with the confirmation of that exact plan', async () => {
  const file = [api('beta', { operations: [{ ...OPERATION, id: 'two', path: '/v1/two' }], title: 'Beta' })]
  expect(await refusalOf(apply(file))).toMatchObject({ status: 409, code: 'invalid_state' })
  const plan = await read<CatalogPlan>(apply(file, { dry_run: true }))
  expect(plan.apis).toMatchObject([
    { name: 'beta', action: 'change', added: ['two'], removed: ['one'], settings: ['title'] },
    { name: 'alpha', action: 'remove', removed: ['one'] },
  ])
  expect(await refusalOf(apply([api('beta')], { confirm: plan.confirm }))).toMatchObject({ status: 409 })
  expect(names()).toEqual(['alpha', 'beta'])
  expect(await read<CatalogPlan>(apply(file, { confirm: plan.confirm }))).toMatchObject({ applied: true })
  expect(names()).toEqual(['beta'])
})

test('a failure in the middle leaves the catalog as it was, in the tables, in force and in the audit log', async () => {
  const { db } = gateway.core.stores
  await db.run(
    sql`CREATE TRIGGER no_zeta BEFORE INSERT ON apis WHEN new.name = 'zeta' BEGIN SELECT RAISE(ABORT, 'no'); END`,
  )
  const file = [api('beta', { title: 'Changed', operations: [] }), api('gamma'), api('zeta')]
  const { confirm } = await read<CatalogPlan>(apply(file, { dry_run: true }))
  const [stored, audited] = [await gateway.core.stores.apis.all(), await auditRows(gateway)]
  const outcome = await apply(file, { confirm }).then(
    ({ status }) => (status >= 500 ? 'failed' : status),
    () => 'failed',
  )
  expect(outcome).toBe('failed')
  expect(await gateway.core.stores.apis.all()).toEqual(stored)
  expect(names()).toEqual(['beta'])
  expect(await auditRows(gateway)).toEqual(audited)
  await db.run(sql`DROP TRIGGER no_zeta`)
  expect(await read<CatalogPlan>(apply(file, { confirm }))).toMatchObject({ applied: true })
  expect(names()).toEqual(['beta', 'gamma', 'zeta'])
  expect((await read<CatalogPlan>(apply(file))).apis.map(({ action }) => action)).toEqual(Array(3).fill('unchanged'))
  const back = [api('beta', { title: 'Beta', operations: [{ ...OPERATION, id: 'two', path: '/v1/two' }] })]
  const plan = await read<CatalogPlan>(apply(back, { dry_run: true }))
  await read(apply(back, { confirm: plan.confirm }))
})

test('two new APIs of one file get different tool names, however alike their operations are named', async () => {
  const alike = [
    api('a-b', { operations: [{ ...OPERATION, id: 'c' }] }),
    api('a', { operations: [{ ...OPERATION, id: 'b_c' }] }),
  ]
  const kept = (await read<CatalogFile>(gateway.control('/catalog'))).apis
  expect(await read<CatalogPlan>(apply([...kept, ...alike]))).toMatchObject({ applied: true })
  const tools = gateway.core.apis.routes.apis.flatMap(({ operations }) => operations.map(({ toolName }) => toolName))
  expect(new Set(tools).size).toBe(tools.length)
  const plan = await read<CatalogPlan>(apply(kept, { dry_run: true }))
  await read(apply(kept, { confirm: plan.confirm }))
})

test('a file with one invalid API changes nothing, and says which and why', async () => {
  const wrong = [
    [api('gamma'), api('delta', { auth: 'bearer:env:PATH' })],
    [api('gamma'), api('gamma')],
    [api('gamma'), api('social')],
    [api('gamma'), api('alpha')],
  ]
  for (const file of wrong) {
    const refusal = await refusalOf(apply([...file, api('beta')]))
    expect(refusal).toMatchObject({ status: 400, code: 'invalid_parameter' })
    expect(refusal.message).toMatch(/delta|gamma|social|alpha/)
  }
  expect(names()).toEqual(['beta'])
})

test('an operation named like a property of every object has its own price', async () => {
  const get = (operationId: string) => ({ get: { operationId, responses: { 200: { description: 'ok' } } } })
  const document = JSON.stringify({
    openapi: '3.1.0',
    info: { title: 'Odd', version: '1' },
    paths: { '/a': get('constructor'), '/b': get('toString'), '/c': get('hasOwnProperty') },
  })
  const form = { name: 'odd', base_url: 'https://odd.example', document }
  const price = { mode: 'fixed', usd: '0.5' }
  const plan = await read<{ added: string[]; refused: { reason: string }[] }>(
    gateway.control('/apis/import?dry_run=true', { ...form, prices: { toString: price } }),
  )
  expect(plan.added).toEqual(['toString'])
  expect(plan.refused.map(({ reason }) => reason.includes('no price'))).toEqual([true, true])
})

test('an export with every setting, applied to an empty catalog, is that catalog again', async () => {
  const query = { in: 'query', required: false, description: 'Which.', style: 'form', explode: true }
  const operations = [
    {
      id: 'list',
      method: 'GET',
      path: '/v1/{place}/things',
      title: 'List',
      description: 'Lists things.',
      parameters: [
        { name: 'place', in: 'path', required: true, description: '', style: 'simple', explode: false, schema: true },
        { ...query, name: 'limit', schema: { type: 'integer', minimum: 1, maximum: 50 }, default: 5 },
        {
          ...query,
          name: 'filter',
          style: 'deepObject',
          schema: { type: 'object', properties: { a: { type: 'string' } } },
        },
      ],
      price: { mode: 'units', usd: '0.001', count: '/data', block: 10, minimum: 1, maximum_from: 'query.limit' },
      success: { min_status: 200, max_status: 201, conditions: [{ pointer: '/ok', equals: null }] },
      examples: [{ title: 'Two', input: { place: 'x', limit: 2 } }],
      upstream_cost_usd: '0.0005',
      headers_up: ['x-trace-of-ours'],
      headers_down: ['x-page'],
      enabled: false,
    },
    {
      id: 'order',
      method: 'POST',
      path: '/v1/orders',
      effect: 'write',
      idempotency_header: 'X-Once',
      body: { content_type: 'multipart/form-data', required: false, schema: { type: 'object', properties: {} } },
      price: {
        mode: 'reported',
        header: 'x-cost',
        unit: 'cents',
        multiplier: '1.25',
        minimum_usd: '0.01',
        maximum_usd: '0.5',
        on_missing: '0.1',
      },
      refused_statuses: [409, 422],
    },
    {
      id: 'tail',
      method: 'GET',
      path: '/v1/tail',
      answer: 'stream',
      price: { mode: 'units', usd: '0.00001', count: 'events', maximum: 1000 },
    },
  ]
  const rich = api('rich', {
    title: 'Rich',
    description: 'Has everything.',
    timeout_ms: 5000,
    concurrency: 7,
    cache_seconds: 30,
    auth: 'oauth2:https://login.example/token;client=a;scope=b c;secret=env:UPSTREAM_KEY',
    enabled: false,
    headers: { 'X-Version': '3' },
    operations,
  })
  const confirmed = async (apis: readonly object[]) =>
    apply(apis, { confirm: (await read<CatalogPlan>(apply(apis, { dry_run: true }))).confirm })
  await read(confirmed([rich]))
  const { apis } = await read<CatalogFile>(gateway.control('/catalog'))
  expect((await read<CatalogPlan>(apply(apis))).apis).toMatchObject([{ name: 'rich', action: 'unchanged' }])

  const fresh = await openHarness({ env: { UPSTREAM_KEY: 'vendor-secret' } })
  await read(fresh.control('/catalog', { catalog: { apis } }))
  expect(await read<CatalogFile>(fresh.control('/catalog'))).toMatchObject({ apis: [...apis] })
  await closeReconciled(fresh)
})
