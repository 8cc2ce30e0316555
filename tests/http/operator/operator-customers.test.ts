import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { auditEntry } from '../../../server/core/audit'
import type {
  CustomerDetails,
  EndedSessions,
  ErasedAccount,
  PasswordReset,
} from '../../../server/http/operator/customers/customer-record'
import type { CustomerAudit, CustomerKeys } from '../../../server/http/operator/customers/customer-view-record'
import type { OneOperatorAccount, OperatorAccountPage } from '../../../server/http/operator/record'
import { oauthApp } from '../../support/agents/oauth'
import { type Harness, openHarness } from '../../support/harness'
import {
  type AccountBody,
  auditRows,
  callWith,
  closeReconciled,
  IMAGES,
  keyBench,
  type Owner,
  read,
  refusalOf,
} from '../owner-bench'

let gateway: Harness
let operator: Owner
let support: Owner
let supportId: string
let owner: Owner
let id: string

const accountOf = (who: Owner) => read<AccountBody>(who.api('/api/account'))
const at = (account: string, path: string) => `/api/operator/accounts/${account}${path}`

beforeAll(async () => {
  gateway = await openHarness({ env: { SANDBOX_TOPUPS: 'true' } })
  operator = await gateway.owner('root@example.com')
  support = await gateway.owner('support@example.com')
  supportId = (await accountOf(support)).id
  await read(operator.api(at(supportId, '/role'), { role: 'support' }))
})
beforeEach(async () => {
  owner = await gateway.owner()
  id = (await accountOf(owner)).id
})
afterAll(() => closeReconciled(gateway))

const REASON = 'Cards of others were used.'
const SUSPENDED = { status: 403, code: 'account_suspended' }

describe('a suspended account', () => {
  test('is refused with the reason from the next request on: keys, apps, sessions and payments; its money stays', async () => {
    const { secret } = await keyBench(owner).create()
    const { access_token: token } = await oauthApp(gateway, owner).connect('data:read usage:read', ['/v1'])
    expect([await callWith(gateway, secret), (await gateway.as(token, '/v1/whoami')).status]).toEqual(['200', 200])
    const before = await gateway.core.ledger.balance(id as `acct_${string}`)
    await read(operator.api(at(id, '/suspend'), { reason: REASON }))
    for (const refused of [
      gateway.as(secret, IMAGES),
      gateway.as(secret, '/v1/usage'),
      gateway.as(token, '/v1/whoami'),
      gateway.as(secret, '/v1/wallet/topups', { method: 'POST', body: '{"amount":"10.00"}' }),
      gateway.as(secret, '/mcp', { method: 'POST', body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' }),
      owner.api('/api/account'),
      owner.api('/api/keys', { name: 'one more' }),
      owner.api('/api/topups', { amount: '10.00', method: 'sandbox' }),
      owner.api('/api/settings/close', { email: owner.email }),
    ]) {
      const refusal = await refusalOf(refused)
      expect(refusal).toMatchObject(SUSPENDED)
      expect(refusal.message).toContain(REASON)
    }
    expect(await gateway.core.ledger.balance(id as `acct_${string}`)).toEqual(before)
    await read(operator.api(at(id, '/lift'), { reason: 'It was a mistake.' }))
    expect([await callWith(gateway, secret), (await gateway.as(token, '/v1/whoami')).status]).toEqual(['200', 200])
    expect((await accountOf(owner)).id).toBe(id)
  })

  test('is notified in words: a notice with the reason, and again when it is lifted; the audit log has who and from where', async () => {
    await read(operator.api(at(id, '/suspend'), { reason: REASON }))
    await read(operator.api(at(id, '/lift'), { reason: 'A mistake' }))
    await gateway.gateway.delivering.run()
    const { notices } = await read<{ notices: { type: string; data: unknown }[] }>(owner.api('/api/notices'))
    expect(notices.filter(({ type }) => type.startsWith('account.')).map(({ type, data }) => [type, data])).toEqual([
      ['account.lifted', { reason: 'A mistake' }],
      ['account.suspended', { reason: REASON }],
    ])
    const rows = (await auditRows(gateway)).filter((row) => row.account_id === id)
    expect(rows.slice(-2)).toMatchObject([
      { action: 'account.suspend', actor_kind: 'operator', address: '127.0.0.1' },
      { action: 'account.lift', actor_kind: 'operator', address: '127.0.0.1' },
    ])
  })

  test('has its open live connections ended', async () => {
    const live = await owner.api('/api/events')
    const reader = live.body?.getReader()
    await reader?.read()
    await read(operator.api(at(id, '/suspend'), { reason: REASON }))
    let ended = false
    while (!ended) ended = (await reader?.read())?.done ?? true
    expect(ended).toBe(true)
  })

  test('stays suspended after a restart', async () => {
    await read(operator.api(at(id, '/suspend'), { reason: REASON }))
    const { suspension } = (await gateway.core.stores.accounts.byId(id as `acct_${string}`)) ?? {}
    expect(suspension?.reason).toBe(REASON)
    const { LibsqlAccounts } = await import('../../../server/adapters/stores/libsql/accounts')
    const again = new LibsqlAccounts(gateway.core.stores.db, gateway.core.stores.directory, async () => undefined)
    expect((await again.byId(id as `acct_${string}`))?.suspension?.reason).toBe(REASON)
  })

  test('cannot be one with a role, cannot get one, and is not lifted twice', async () => {
    expect(await refusalOf(operator.api(at(supportId, '/suspend'), { reason: REASON }))).toMatchObject({ status: 409 })
    expect(await refusalOf(operator.api(at(id, '/lift'), { reason: 'No.' }))).toMatchObject({ status: 409 })
    await read(operator.api(at(id, '/suspend'), { reason: REASON }))
    expect(await refusalOf(operator.api(at(id, '/role'), { role: 'operator' }))).toMatchObject({ status: 409 })
  })
})

describe('support', () => {
  test('sees customers, suspends and lifts, disables and revokes keys, ends sessions, leaves notes', async () => {
    const { key, secret } = await keyBench(owner).create()
    expect((await read<CustomerDetails>(support.api(at(id, '')))).account.id).toBe(id)
    for (const path of ['/usage', '/requests', '/transactions', '/payments', '/keys', '/audit'])
      await read(support.api(at(id, path)))
    await read(support.api(at(id, '/suspend'), { reason: REASON }))
    await read(support.api(at(id, '/lift'), { reason: 'Sorry' }))
    await read(support.api(at(id, `/keys/${key.id}`), { action: 'disable' }))
    expect(await callWith(gateway, secret)).toBe('401 api_key_disabled')
    await read(support.api(at(id, `/keys/${key.id}`), { action: 'revoke' }))
    expect(await callWith(gateway, secret)).toBe('401 invalid_api_key')
    const noted = await read<CustomerDetails>(support.api(at(id, '/notes'), { text: 'Called us twice.' }))
    expect(noted.notes).toMatchObject([{ author: 'support@example.com', text: 'Called us twice.' }])
    expect((await read<EndedSessions>(support.api(at(id, '/end-sessions'), {}))).ended).toBe(1)
    expect((await owner.api('/api/account')).status).toBe(401)
  })

  test('moves no money, sets no limits, prices or roles, and sees no secrets or exports', async () => {
    const before = await auditRows(gateway)
    for (const [method, path, body] of [
      ['POST', at(id, '/grants'), { usd: '5' }],
      ['POST', at(id, '/limits'), { limits: null }],
      ['POST', at(id, '/role'), { role: 'operator' }],
      ['POST', at(supportId, '/role'), { role: 'operator' }],
      ['POST', at(id, '/password-reset'), {}],
      ['POST', at(id, '/second-factor-reset'), {}],
      ['POST', at(id, '/erase'), { confirm: id }],
      ['GET', at(id, '/export'), undefined],
      ['POST', '/api/operator/prices', { operation: 'image-search', usd: '0' }],
      ['GET', '/api/operator/apis', undefined],
    ] as const)
      expect(await refusalOf(support.api(path, body, method))).toMatchObject({
        status: 403,
        code: 'insufficient_permissions',
      })
    expect(await auditRows(gateway)).toEqual(before)
  })

  test('acts on its own keys, and on no keys or sessions of an operator', async () => {
    const { key, secret } = await keyBench(operator).create()
    const rootId = (await accountOf(operator)).id
    for (const [path, body] of [
      [`/keys/${key.id}`, { action: 'revoke' }],
      ['/end-sessions', {}],
    ] as const)
      expect(await refusalOf(support.api(at(rootId, path), body))).toMatchObject({
        status: 403,
        code: 'insufficient_permissions',
      })
    expect(await callWith(gateway, secret)).toBe('200')
    const own = await keyBench(support).create()
    await read(support.api(at(supportId, `/keys/${own.key.id}`), { action: 'revoke' }))
  })
})

describe('roles', () => {
  test('the last operator keeps theirs, also when two leave at the same moment', async () => {
    const second = await gateway.owner()
    const secondId = (await accountOf(second)).id
    const rootId = (await accountOf(operator)).id
    await read(operator.api(at(secondId, '/role'), { role: 'operator' }))
    const left = await Promise.all([
      operator.api(at(rootId, '/role'), { role: null }),
      second.api('/api/settings/close', { email: second.email }),
    ])
    const all = await gateway.core.accounts.list(1000, null)
    expect(left.map(({ status }) => status).sort()).toEqual([200, 409])
    expect(all.filter((account) => account.operator)).toHaveLength(1)
    if (left[0]?.status !== 200) return
    await read(second.api(at(rootId, '/role'), { role: 'operator' }))
  })

  test('are audited with the old one', async () => {
    await read(operator.api(at(id, '/role'), { role: 'support' }))
    await read(operator.api(at(id, '/role'), { role: null }))
    const { changes } = await read<CustomerAudit>(operator.api(at(id, '/audit?limit=1')))
    expect(changes).toMatchObject([{ action: 'account.role', by: 'operator', detail: { role: null } }])
    expect((await refusalOf(owner.api('/api/operator/accounts'))).status).toBe(403)
  })
})

describe('a customer', () => {
  const found = async (text: string) =>
    (
      await read<OperatorAccountPage>(operator.api(`/api/operator/accounts?search=${encodeURIComponent(text)}`))
    ).accounts.map((account) => account.id)

  test('is found by name, email address, key, request and payment', async () => {
    const { key, secret } = await keyBench(owner).create()
    const called = await gateway.as(secret, IMAGES)
    const request = called.headers.get('x-gateway-request-id') ?? ''
    const { topup } = await read<{ topup: { id: string } }>(
      owner.api('/api/topups', { amount: '10.00', method: 'sandbox' }),
      201,
    )
    const shown = `${key.prefix}…${key.last4}`
    for (const text of [owner.email, key.id, request, topup.id, secret, shown, id])
      expect(await found(text)).toEqual([id])
    expect(await found(key.prefix)).toContain(id)
    expect(await found('Ada')).toContain(id)
    for (const nothing of ['gwk_', 'gwk_%%%%', 'req_1', `req_${'0'.repeat(32)}`, 'gwk_zz'])
      expect(await found(nothing)).toEqual([])
  })

  test('by a common name is listed in full, page by page', async () => {
    const seen: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const page: OperatorAccountPage = await read(
        operator.api(`/api/operator/accounts?search=ada&limit=3${cursor && `&cursor=${cursor}`}`),
      )
      expect(page.accounts.length).toBeLessThanOrEqual(3)
      seen.push(...page.accounts.map((account) => account.id))
      cursor = page.next_cursor
    }
    const open = (await gateway.core.accounts.list(1000, null)).length
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen.length).toBeGreaterThanOrEqual(open - 3) // closed accounts have no name
    expect(seen).toContain(id)
  })

  test('shows why it gets a 402: an exhausted key, an empty balance, and the calls that were refused', async () => {
    const { key, secret } = await keyBench(owner).create({ spending_limit: 0.005 })
    expect(await callWith(gateway, secret)).toBe('200')
    expect(await callWith(gateway, secret)).toBe('402 insufficient_api_key_balance')
    const details = await read<CustomerDetails>(operator.api(at(id, '')))
    expect(details.why_402.join('\n')).toContain(`Key ${key.name} (${key.id}) reached its spending limit of 0.005 USD.`)
    const most = await keyBench(owner).create({ spending_limit: 0.001 })
    const { access_token: token } = await oauthApp(gateway, owner).connect('data:read usage:read', ['/v1'])
    expect((await gateway.as(token, '/v1/whoami')).status).toBe(200)
    await read(owner.api('/api/apps/gateway-cli/limit', { spending_limit: 0.002 }))
    const why = (await read<CustomerDetails>(operator.api(at(id, '')))).why_402.join('\n')
    expect(why).toContain(`(${most.key.id}) has 0.001 USD left of its spending limit of 0.001 USD.`)
    expect(why).toMatch(/The app .* \(conn_\w+\) has 0\.002 USD left of its spending limit of 0\.002 USD\./)
    expect(why).not.toContain('available')
    await read(operator.api(at(id, '/debits'), { usd: '1.993', note: 'A test' }))
    expect((await read<CustomerDetails>(operator.api(at(id, '')))).why_402[0]).toContain(
      'Only 0.002 USD are available.',
    )
    await gateway.core.stores.applied()
    const again = await read<CustomerDetails>(operator.api(at(id, '')))
    expect(again.last_402).toMatchObject([
      { key: key.id, operation: 'image-search', code: 'insufficient_api_key_balance' },
    ])
    expect(again.last_402[0]?.meaning).not.toBe('')
    const call = await read(operator.api(at(id, `/requests/${again.last_402[0]?.request_id}`)))
    expect(call).toMatchObject({ status: 402, code: 'insufficient_api_key_balance' })
    const { keys } = await read<CustomerKeys>(operator.api(at(id, '/keys')))
    expect(keys).toMatchObject([{ id: most.key.id }, { id: key.id, status: 'exhausted' }])
    expect(JSON.stringify(keys)).not.toContain(secret)
  })

  test('without a second factor stays signed in when somebody tries to remove it', async () => {
    const before = await auditRows(gateway)
    expect(await refusalOf(operator.api(at(id, '/second-factor-reset'), {}))).toMatchObject({ status: 400 })
    expect((await owner.api('/api/account')).status).toBe(200)
    expect(await auditRows(gateway)).toEqual(before)
  })

  test('without mail gets a link to reset the password, shown to the operator once, which works once', async () => {
    const reset = await read<PasswordReset>(operator.api(at(id, '/password-reset'), {}))
    expect(reset.mailed).toBe(false)
    const token = new URL(reset.link ?? '').hash.slice('#token='.length)
    const set = () =>
      gateway.call('/api/auth/reset-password', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ token, newPassword: 'a new horse, still correct' }),
      })
    expect((await set()).status).toBe(200)
    expect((await set()).status).toBe(400)
    expect((await owner.api('/api/account')).status).toBe(401)
    expect(JSON.stringify(await auditRows(gateway))).not.toContain(token)
  })
})

describe('erasing a customer', () => {
  test('needs the id again; exports before; nothing personal is left, and the books still add up', async () => {
    const { key, secret } = await keyBench(owner).create({ name: 'the laptop of Grace', note: 'Room 7' })
    await gateway.as(secret, IMAGES, { headers: { 'x-request-id': 'grace-1' } })
    const { request: asked } = await read<{ request: { id: string } }>(
      owner.api('/api/limit-requests', {
        peak_rpm: 900,
        peak_tpm: 900_000,
        endpoints: ['image-search'],
        use_case: 'Grace plans to read many images.',
      }),
      201,
    )
    await read(support.api(at(id, '/notes'), { text: 'Grace called.' }))
    await read(operator.api(`/api/operator/limit-requests/${asked.id}/decline`, { reason: 'No, Grace.' }))
    await read(support.api(at(id, '/suspend'), { reason: 'Grace sent spam.' }))
    await read(support.api(at(id, '/lift'), { reason: 'Grace said sorry.' }))
    await read(support.api(at(id, '/suspend'), { reason: 'Grace did it again.' }))
    const data = await (await operator.api(at(id, '/export'))).text()
    for (const text of [owner.email, 'the laptop of Grace', 'grace-1']) expect(data).toContain(text)
    expect(await refusalOf(operator.api(at(id, '/erase'), { confirm: 'yes' }))).toMatchObject({ status: 400 })
    const erased = await read<ErasedAccount>(operator.api(at(id, '/erase'), { confirm: id }))
    expect(erased.forfeited_micros_usd).toBe(1_995_000)
    expect(await callWith(gateway, secret)).toBe('401 invalid_api_key')
    expect((await owner.api('/api/account')).status).toBe(401)
    const { db } = gateway.core.stores
    const tables = await db.all<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'")
    expect(tables.length).toBeGreaterThan(30)
    for (const { name: table } of tables) {
      const rows = JSON.stringify(await db.all(`SELECT * FROM "${table}"`))
      for (const personal of [owner.email, 'Grace', 'grace-1', 'Room 7'])
        expect(`${table} ${rows.includes(personal)}`).toBe(`${table} false`)
    }
    const shown = await read<CustomerDetails>(operator.api(at(id, '')))
    expect(shown.account).toMatchObject({ id, role: null })
    const { transactions } = await read<{ transactions: unknown[] }>(operator.api(at(id, '/transactions')))
    expect(transactions).toHaveLength(2)
    expect((await read<CustomerKeys>(operator.api(at(id, '/keys')))).keys).toMatchObject([
      { id: key.id, name: key.id, status: 'revoked' },
    ])
    // A forfeited balance leaves the owed sum by an entry of its own.
    const debit = { usd: '1.995', note: 'Forfeited' }
    expect((await read<OneOperatorAccount>(operator.api(at(id, '/debits'), debit))).account.balance_usd).toBe('0')
    expect(shown.account.email).toEndWith('@deleted.invalid')
    expect((await refusalOf(operator.api(at(id, '/suspend'), { reason: 'Closed.' }))).code).toBe('invalid_state')
  })

  test('is for good: no link to a new password opens the account, and it gets no role, credit or place among operators', async () => {
    const rootId = (await accountOf(operator)).id
    const { secret } = await keyBench(owner).create()
    const request = (await gateway.as(secret, IMAGES)).headers.get('x-gateway-request-id')
    const link = (await read<PasswordReset>(operator.api(at(id, '/password-reset'), {}))).link ?? ''
    await read(operator.api(at(id, '/erase'), { confirm: id }))
    const reset = await gateway.call('/api/auth/reset-password', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        token: new URL(link).hash.slice('#token='.length),
        newPassword: 'a new horse, still correct',
      }),
    })
    expect(reset.status).toBe(400)
    for (const [path, body] of [
      ['/password-reset', {}],
      ['/role', { role: 'operator' }],
      ['/grants', { usd: '5' }],
      ['/refunds', { payment: request, note: 'Our fault' }],
    ] as const)
      expect(await refusalOf(operator.api(at(id, path), body))).toMatchObject({ status: 409, code: 'invalid_state' })
    // As data from before this rule: the role counts for nothing, and can be taken away.
    const closed = await gateway.core.accounts.byId(id as `acct_${string}`)
    if (!closed) throw new Error('erased accounts stay')
    const actor = { kind: 'operator', id: 'console', address: null } as const
    const audit = { at: gateway.clock.now(), actor, accountId: closed.id, action: 'account.role' } as const
    await gateway.core.accounts.setRole(closed, 'operator', auditEntry(audit))
    for (const other of await gateway.core.accounts.list(1000, null))
      if (other.operator && ![rootId, id].includes(other.id))
        await read(operator.api(at(other.id, '/role'), { role: null }))
    expect(await refusalOf(operator.api(at(rootId, '/role'), { role: null }))).toMatchObject({ status: 409 })
    await read(operator.api(at(id, '/role'), { role: null }))
  })
})
