import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { OneOperatorAccount, OperatorAccountPage } from '../../../server/http/operator/record'
import { type Harness, openHarness } from '../../support/harness'
import { type AccountBody, auditRows, closeReconciled, keyBench, type Owner, read, refusalOf } from '../owner-bench'

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

  test('sets how many live keys an account may have, and restores the default', async () => {
    await keyBench(owner).create()
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
