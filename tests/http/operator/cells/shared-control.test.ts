import { afterAll, beforeAll, expect, test } from 'bun:test'
import { hashSecret } from '../../../../server/core/credentials/secret'
import type { Reconciled } from '../../../../server/http/operator/money/reconcile-record'
import type { OperatorAccountPage } from '../../../../server/http/operator/record'
import { C2, type Cells, openCells } from '../../../support/cluster/cells'
import {
  openStripeDouble,
  STRIPE_KEY,
  type StripeDouble,
  WEBHOOK_SECRET,
} from '../../../support/payments/stripe-double'
import { type AccountBody, auditRows, read, refusalOf } from '../../owner-bench'

type Person = Awaited<ReturnType<Cells['owner']>>

/** Two cells over one control database, as nodes open them. */
let stripe: StripeDouble
let cells: Cells
let root: Person
let there: Person
let thereId: string
beforeAll(async () => {
  stripe = openStripeDouble()
  cells = await openCells({
    running: true,
    env: { STRIPE_SECRET_KEY: STRIPE_KEY, STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET, STRIPE_API_URL: stripe.url },
  })
  root = await cells.owner('root@example.com')
  there = await cells.owner('there@example.com')
  thereId = (await read<AccountBody>(there.api('/api/account'))).id
})
afterAll(async () => {
  await cells.close()
  await stripe.close()
})

const accounts = (of: Person) => of.atMain('/api/operator/accounts')

test('everybody signs in at main, and the second account is in the second cell', () => {
  expect([root.cell, there.cell]).toEqual(['main', C2])
})

test('an account of another cell becomes operator, and acts at main until that cell has suspended it', async () => {
  expect((await accounts(there)).status).toBe(403)
  await read(root.atMain(`/api/operator/accounts/${thereId}/role`, { role: 'operator' }))
  const { accounts: all } = await read<OperatorAccountPage>(accounts(there))
  expect(all.map(({ email, role }) => [email, role])).toEqual([
    ['there@example.com', 'operator'],
    ['root@example.com', 'operator'],
  ])
  const rootId = (await read<AccountBody>(root.api('/api/account'))).id
  await read(there.atMain(`/api/operator/accounts/${rootId}/grants`, { usd: '1', note: 'test', reference: 'g' }))
  const grant = (await auditRows(cells.main)).find(({ action }) => action === 'account.grant')
  expect(grant).toMatchObject({ actor_kind: 'operator', actor_id: there.userId, account_id: rootId })
  await read(root.atMain(`/api/operator/accounts/${thereId}/role`, { role: null }))
  expect((await accounts(there)).status).toBe(403)
  await read(root.atMain(`/api/operator/accounts/${thereId}/suspend`, { reason: 'left us' }))
  expect(await refusalOf(accounts(there))).toMatchObject({ status: 403, code: 'account_suspended' })
  await read(root.atMain(`/api/operator/accounts/${thereId}/lift`, { reason: 'came back' }))
})

test('a reference books one grant and one debit, whatever the cells of the accounts', async () => {
  const rootId = (await read<AccountBody>(root.api('/api/account'))).id
  const book = async (kind: 'grants' | 'debits', account: string) => {
    const form = { usd: '1', note: 'test', reference: 'bank 7' }
    const answer = await root.atMain(`/api/operator/accounts/${account}/${kind}`, form)
    return ((await answer.json()) as { error?: { code: string } }).error?.code ?? answer.status
  }
  for (const kind of ['grants', 'debits'] as const) {
    const first = kind === 'grants' ? thereId : rootId
    const second = kind === 'grants' ? rootId : thereId
    expect([await book(kind, first), await book(kind, second), await book(kind, first)]).toEqual([
      200,
      'invalid_state',
      'invalid_state',
    ])
  }
})

test('the audit log has what is in the control database once', async () => {
  const { entries } = await read<{ entries: { id: string; action: string }[] }>(
    root.atMain('/api/operator/audit?limit=200'),
  )
  expect(new Set(entries.map(({ id }) => id)).size).toBe(entries.length)
  expect(entries.filter(({ action }) => action === 'account.role')).toHaveLength(2)
  expect(entries.filter(({ action }) => action === 'account.open')).toHaveLength(2)
  const lines = (await (await root.atMain('/api/operator/audit.jsonl')).text()).trim().split('\n')
  expect(lines.map((line) => JSON.parse(line).id)).toEqual(entries.map(({ id }) => id))
})

test('an export of all books is one entry of the audit log, made by main', async () => {
  const exports = async () => (await auditRows(cells.main)).filter(({ action }) => action === 'books.export').length
  const before = await exports()
  for (const file of ['books.csv', 'statement.csv'])
    expect((await (await root.atMain(`/api/operator/${file}?month=2026-11`)).text()).length).toBeGreaterThan(0)
  const console = await cells.main.control('books', { month: '2026-11' })
  expect(await console.text()).toContain('opening')
  expect((await exports()) - before).toBe(3)
})

test('commands of the control socket find an account of another cell by its email address', async () => {
  await cells.main.core.stores.controlDb.run(`UPDATE identity_user SET email_verified = 1`)
  const grant = await cells.main.control('grant', { account: 'there@example.com', usd: '3', note: 'x', reference: 'x' })
  expect(await grant.json()).toMatchObject({ account: { id: thereId } })
  const price = await cells.main.control('price', {
    operation: 'image-search',
    usd: '0.5',
    account: 'there@example.com',
  })
  expect(await price.json()).toMatchObject({ account: thereId, usd: '0.5' })
})

test('a page that its cell forgot is kept in the control database, found by a comparison at main, and booked there once', async () => {
  expect((await there.api('/api/topups', { amount: '50.00', method: 'card' })).status).toBe(201)
  const page = stripe.newestPage().id
  stripe.pay(page)
  await cells.c2.core.stores.db.run(`DELETE FROM payments`)
  const { body, headers } = stripe.message('checkout.session.completed', { id: page, object: 'checkout.session' })
  expect((await cells.main.call('/api/webhooks/stripe', { method: 'POST', headers, body })).status).toBe(200)
  const before = (await read<AccountBody>(there.api('/api/account'))).topped_up_micros_usd
  const compare = (form: object) => read<Reconciled>(root.atMain('/api/operator/reconcile', form))
  expect((await compare({})).missing).toMatchObject([{ page, account: thereId, bookable: true }])
  expect(await compare({ apply: true })).toMatchObject({ booked: 1 })
  expect(await compare({ apply: true })).toMatchObject({ booked: 0, problems: 0 })
  const after = (await read<AccountBody>(there.api('/api/account'))).topped_up_micros_usd
  expect(after - before).toBe(50_000_000)
})

test('reports add both cells up', async () => {
  const statement = await read<{ owed_to_customers_micros_usd: number }>(
    root.atMain(`/api/operator/statement?from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z`),
  )
  const balances = await Promise.all([root, there].map((one) => read<AccountBody>(one.api('/api/account'))))
  const sum = balances.reduce((total, one) => total + one.balance_micros_usd, 0)
  expect(statement.owed_to_customers_micros_usd).toBe(sum)
  for (const path of ['health', 'upstreams', 'api-report', 'revenue', 'reconciliations', 'after-restore'])
    expect(`${path} ${(await root.atMain(`/api/operator/${path}`)).status}`).toBe(`${path} 200`)
})

test('the keys of an account that is erased in its cell lead nowhere soon', async () => {
  const gone = await cells.owner('gone@example.com')
  const last = gone.cell === C2 ? gone : await cells.owner('last@example.com')
  expect(last.cell).toBe(C2)
  const { secret } = await read<{ secret: string }>(last.api('/api/keys', { name: 'mine' }), 201)
  const { cells: directory } = cells.main.core.stores
  expect(await directory.ofKey(hashSecret(secret))).toBe(C2)
  const { id } = await read<AccountBody>(last.api('/api/account'))
  await read(cells.main.control('erase', { account: id, confirm: id }))
  expect(await directory.ofKey(hashSecret(secret))).toBe(C2)
  await cells.main.gateway.retention.run()
  expect(await directory.ofKey(hashSecret(secret))).toBeNull()
})
