import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { OneOperatorAccount, OperatorAccountPage } from '../../../server/http/operator/record'
import { type Harness, openHarness } from '../../support/harness'
import {
  type AccountBody,
  auditRows,
  callWith,
  closeReconciled,
  keyBench,
  type Owner,
  read,
  refusalOf,
} from '../owner-bench'

let gateway: Harness
let operator: Owner
let owner: Owner
let id: string
beforeAll(async () => {
  gateway = await openHarness()
  operator = await gateway.owner('root@example.com')
  owner = await gateway.owner('Grace.Hopper@example.com')
  id = (await read<AccountBody>(owner.api('/api/account'))).id
})
afterAll(() => closeReconciled(gateway))

const accounts = (query = '') => read<OperatorAccountPage>(operator.api(`/api/operator/accounts${query}`))

const ROUTES: [string, string, unknown][] = [
  ['GET', '/audit', undefined],
  ['GET', '/audit.csv', undefined],
  ['GET', '/audit.jsonl', undefined],
  ['GET', '/accounts', undefined],
  ['GET', '/accounts/:id', undefined],
  ['POST', '/accounts/:id/grants', { usd: '5' }],
  ['GET', '/accounts/:id/usage', undefined],
  ['GET', '/accounts/:id/requests', undefined],
  ['GET', '/accounts/:id/requests/:request', undefined],
  ['GET', '/accounts/:id/transactions', undefined],
  ['GET', '/accounts/:id/adjustments', undefined],
  ['GET', '/accounts/:id/limits', undefined],
  ['GET', '/accounts/:id/payments', undefined],
  ['GET', '/accounts/:id/keys', undefined],
  ['GET', '/accounts/:id/audit', undefined],
  ['GET', '/accounts/:id/export', undefined],
  ['POST', '/accounts/:id/suspend', { reason: 'Spam.' }],
  ['POST', '/accounts/:id/lift', { reason: 'A mistake.' }],
  ['POST', '/accounts/:id/notes', { text: 'Called us.' }],
  ['POST', '/accounts/:id/end-sessions', {}],
  ['POST', '/accounts/:id/keys/:key', { action: 'revoke' }],
  ['POST', '/accounts/:id/role', { role: 'operator' }],
  ['POST', '/accounts/:id/password-reset', {}],
  ['POST', '/accounts/:id/second-factor-reset', {}],
  ['POST', '/accounts/:id/erase', { confirm: 'acct_1' }],
  ['POST', '/accounts/:id/debits', { usd: '1', note: 'Wrong grant' }],
  ['POST', '/accounts/:id/refunds', { payment: 'pay_1', note: 'Asked for' }],
  ['GET', '/accounts/:id/refunds', undefined],
  ['POST', '/accounts/:id/limits', { limits: { rpm: 1000, tpm: 1000, concurrency: 10 } }],
  ['POST', '/accounts/:id/max-keys', { keys: 3 }],
  ['POST', '/reconcile', {}],
  ['GET', '/reconciliations', undefined],
  ['GET', '/stuck', undefined],
  ['GET', '/stuck/:id', undefined],
  ['POST', '/stuck/:id/retry', {}],
  ['POST', '/stuck/:id/discard', { note: 'x' }],
  ['GET', '/after-restore', undefined],
  ['POST', '/after-restore', {}],
  ['GET', '/revenue', undefined],
  ['GET', '/revenue.csv', undefined],
  ['GET', '/books.csv', undefined],
  ['GET', '/statement', undefined],
  ['GET', '/statement.csv', undefined],
  ['GET', '/limit-requests', undefined],
  ['POST', '/limit-requests/lim_1/approve', {}],
  ['POST', '/limit-requests/lim_1/decline', { reason: 'No.' }],
  ['GET', '/prices', undefined],
  ['GET', '/upstreams', undefined],
  ['GET', '/health', undefined],
  ['POST', '/prices', { operation: 'image-search', usd: '0' }],
  ['GET', '/api-report', undefined],
  ['POST', '/api-documents', { url: 'https://api.example/openapi.json' }],
  ['GET', '/apis', undefined],
  ['POST', '/apis', { name: 'weather', base_url: 'https://api.example', auth: 'none', operations: [] }],
  ['POST', '/apis/import', { name: 'weather', base_url: 'https://api.example', document: '{}' }],
  ['GET', '/apis/:name', undefined],
  ['PATCH', '/apis/:name', { enabled: false }],
  ['DELETE', '/apis/:name', undefined],
  ['POST', '/apis/:name/lift', {}],
  ['POST', '/apis/:name/test', { operation: 'forecast', input: {} }],
]

describe('only an operator', () => {
  test.each(ROUTES)('may %s /api/operator%s; an owner gets 403, and nothing changes', async (method, path, body) => {
    const before = await auditRows(gateway)
    const where = `/api/operator${path.replace(':id', id)}`
    expect(await refusalOf(owner.api(where, body, method))).toMatchObject({
      status: 403,
      code: 'insufficient_permissions',
    })
    expect(await refusalOf(gateway.call(where, { method }))).toMatchObject({ status: 401, code: 'missing_session' })
    expect(await auditRows(gateway)).toEqual(before)
  })

  test('is tested for every route of /api/operator', () => {
    const served = gateway.gateway.app.routes.filter(({ path }) => path.startsWith('/api/operator/'))
    const named = ROUTES.map(([method, path]) => `${method} /api/operator${path.replace('lim_1', ':id')}`)
    expect(served.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(named.sort())
  })
})

describe('accounts', () => {
  test('are listed newest first, in pages', async () => {
    const first = await accounts('?limit=1')
    expect(first.accounts).toMatchObject([{ id, email: 'grace.hopper@example.com', tier: 'free', balance_usd: '2' }])
    const second = await accounts(`?limit=1&cursor=${first.next_cursor}`)
    expect(second).toMatchObject({ accounts: [{ email: 'root@example.com' }], next_cursor: null })
    expect(await refusalOf(operator.api('/api/operator/accounts?cursor=nothing'))).toMatchObject({ status: 400 })
  })

  test.each(['hopper', 'GRACE.', 'hopper@EXAMPLE'])('are found by a part of the email address: %s', async (search) => {
    expect((await accounts(`?search=${search}`)).accounts.map((account) => account.id)).toEqual([id])
  })

  test('are found by id; a percent sign matches itself and not everything', async () => {
    expect((await accounts(`?search=${id}`)).accounts).toHaveLength(1)
    for (const search of ['%25', '_', "'", 'nobody']) expect((await accounts(`?search=${search}`)).accounts).toEqual([])
    const { account } = await read<OneOperatorAccount>(operator.api(`/api/operator/accounts/${id}`))
    expect(account.email).toBe('grace.hopper@example.com')
    expect(await refusalOf(operator.api('/api/operator/accounts/acct_none'))).toMatchObject({ status: 404 })
  })
})

describe('an operator', () => {
  test('grants credit, once per reference, with an audit row that names the operator and the address', async () => {
    const grant = (body: unknown) => operator.api(`/api/operator/accounts/${id}/grants`, body)
    const body = { usd: '12.5', note: 'For the trouble', reference: 'ticket-7' }
    expect(await read<unknown>(grant(body))).toMatchObject({ account: { id, balance_usd: '14.5' } })
    expect(await refusalOf(grant(body))).toMatchObject({ status: 409, code: 'invalid_state' })
    for (const wrong of [{ usd: '-1' }, { usd: 5 }, { usd: '1', note: '' }, { usd: '1', note: 'x'.repeat(201) }, []])
      expect(await refusalOf(grant(wrong))).toMatchObject({ status: 400, code: 'invalid_parameter' })
    const row = (await auditRows(gateway)).find(({ action }) => action === 'account.grant')
    expect(row).toMatchObject({ actor_kind: 'operator', address: '127.0.0.1', account_id: id })
    const { userId } = (await gateway.core.accounts.list(2, null))[1] ?? { userId: '' }
    expect(row?.actor_id).toBe(userId)
  })

  test('cannot be made to grant to another account by the body', async () => {
    const grant = (body: unknown) => operator.api(`/api/operator/accounts/${id}/grants`, body)
    const before = (await accounts(`?search=${id}`)).accounts
    expect(await refusalOf(grant({ usd: '1', account: 'root@example.com', reference: 'mine' }))).toMatchObject({
      status: 400,
      code: 'invalid_parameter',
    })
    expect((await accounts(`?search=${id}`)).accounts).toEqual(before)
  })

  test('sets limits that apply to the next call, and resets them', async () => {
    const limits = (body: unknown) => operator.api(`/api/operator/accounts/${id}/limits`, body)
    await read(limits({ limits: { rpm: 1, tpm: 1000, concurrency: 1 } }))
    const { secret } = await keyBench(owner).create()
    expect(await callWith(gateway, secret)).toBe('200')
    expect(await callWith(gateway, secret)).toBe('429 rate_limit_exceeded')
    expect(await read<unknown>(limits({ limits: null }))).toMatchObject({ account: { tier: 'free' } })
    expect(await callWith(gateway, secret)).toBe('200')
    expect(await refusalOf(limits({}))).toMatchObject({ status: 400, code: 'missing_parameter' })
    for (const wrong of [{ limits: { rpm: 0, tpm: 1, concurrency: 1 } }, { limits: 'more' }])
      expect(await refusalOf(limits(wrong))).toMatchObject({ status: 400, code: 'invalid_parameter' })
  })

  test('sets how many live keys an account may have, and restores the default', async () => {
    const maxKeys = (keys: unknown) => operator.api(`/api/operator/accounts/${id}/max-keys`, { keys })
    expect(await read<unknown>(maxKeys(1))).toMatchObject({ account: { most_keys: 1 } })
    expect(await refusalOf(owner.api('/api/keys', { name: 'one too many' }))).toMatchObject({ code: 'limit_reached' })
    expect(await read<unknown>(maxKeys(null))).toMatchObject({ account: { most_keys: 1000 } })
    for (const wrong of [0, 1.5, '3', undefined]) expect((await refusalOf(maxKeys(wrong))).status).toBe(400)
  })

  test('sets prices, for one account or for all, and sees the catalog next to them', async () => {
    await read(operator.api('/api/operator/prices', { operation: 'image-search', usd: '0.004', account: id }))
    const body = await read<{ catalogue: unknown[]; prices: unknown[] }>(operator.api('/api/operator/prices'))
    expect(body.catalogue).toContainEqual({ operation: 'image-search', usd: '0.005' })
    expect(body.prices).toMatchObject([{ operation: 'image-search', account: id, usd: '0.004' }])
    const { secret } = await keyBench(owner).create()
    const answer = await gateway.as(secret, '/apis/v1/websearch/images/search?q=card')
    expect(answer.headers.get('x-cost-micros-usd')).toBe('4000')
    expect(await refusalOf(operator.api('/api/operator/prices', { operation: 'nothing', usd: '1' }))).toMatchObject({
      status: 400,
    })
  })
})

/** The rights of support: no money, limits, prices, exports, resets or roles. */
const FOR_SUPPORT = [
  ...['GET /accounts', 'GET /accounts/:id', 'GET /accounts/:id/usage', 'GET /accounts/:id/requests'],
  ...['GET /accounts/:id/requests/:request', 'GET /accounts/:id/transactions', 'GET /accounts/:id/payments'],
  ...['GET /accounts/:id/adjustments', 'GET /accounts/:id/limits'],
  ...['GET /accounts/:id/keys', 'GET /accounts/:id/audit', 'GET /accounts/:id/refunds', 'POST /accounts/:id/suspend'],
  ...['POST /accounts/:id/lift', 'POST /accounts/:id/notes', 'POST /accounts/:id/end-sessions'],
  'POST /accounts/:id/keys/:key',
]

test('support is refused every route but those of its work', async () => {
  const support = await gateway.owner('support@example.com')
  const supportId = (await read<AccountBody>(support.api('/api/account'))).id
  await read(operator.api(`/api/operator/accounts/${supportId}/role`, { role: 'support' }))
  const before = await auditRows(gateway)
  const allowed: string[] = []
  for (const [method, path, body] of ROUTES) {
    const isAllowed = FOR_SUPPORT.includes(`${method} ${path}`)
    // Of an account that does not exist where support may act: nothing changes.
    const where = `/api/operator${path.replace(':id', isAllowed ? 'acct_none' : id)}`
    const answer = await support.api(where, body, method)
    const text = await answer.text()
    if (answer.status !== 403) allowed.push(`${method} ${path}`)
    else expect(text).toContain('insufficient_permissions')
  }
  expect(allowed.sort()).toEqual([...FOR_SUPPORT].sort())
  expect(await auditRows(gateway)).toEqual(before)
})
