import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { AccountId } from '../../../server/core/ids'
import { micros } from '../../../server/core/money'
import { type Harness, openHarness } from '../../support/harness'
import {
  type AccountBody,
  callWith,
  closeReconciled,
  keyBench,
  type MadeKey,
  type Owner,
  read,
  refusalOf,
} from '../owner-bench'

interface Transaction {
  readonly id: string
  readonly kind: string
  readonly amount_micros_usd: number
  readonly balance_after_micros_usd: number
  readonly request_id: string | null
}
interface TransactionPage {
  readonly transactions: readonly Transaction[]
  readonly next_cursor: string | null
}

let gateway: Harness
let owner: Owner
let made: MadeKey

beforeAll(async () => {
  gateway = await openHarness()
  owner = await gateway.owner()
  made = await keyBench(owner).create()
})
afterAll(() => closeReconciled(gateway))

const list = (query = '') => read<TransactionPage>(owner.api(`/api/transactions${query}`))

/** An operator's command that must succeed. */
const command = (path: string, body: unknown) => read(gateway.control(path, body))

describe('GET /api/transactions', () => {
  test('lists kind, amount and the balance after every movement, newest first (spec D3, D4)', async () => {
    const { id } = await read<AccountBody>(owner.api('/api/account'))
    await command(`/accounts/${id}/grants`, { usd: '1', note: 'Welcome', reference: 'welcome' })
    await gateway.core.ledger.credit({
      account: id as AccountId,
      part: 'paid',
      kind: 'top_up',
      amount: micros(4_000_000),
      description: 'Top-up',
      reference: 'top-up-1',
    })
    expect(await callWith(gateway, made.secret)).toBe('200')
    const { transactions, next_cursor } = await list()
    expect(next_cursor).toBeNull()
    const at = new Date(gateway.clock.now()).toISOString()
    const row = (kind: string, description: string, amount: number, after: number, request: unknown = null) => ({
      id: expect.stringMatching(/^txn_[0-9a-f]{32}$/),
      at,
      kind,
      description,
      request_id: request,
      amount_micros_usd: amount,
      balance_after_micros_usd: after,
      charges: null,
    })
    expect<unknown>(transactions).toEqual([
      row('charge', 'image-search', -5_000, 6_995_000, expect.stringMatching(/^req_/)),
      row('top_up', 'Top-up', 4_000_000, 7_000_000),
      row('grant', 'Welcome', 1_000_000, 3_000_000),
      row('signup_credit', 'Signup credit', 2_000_000, 2_000_000),
    ])
  })

  test('shows a charge from both parts as one, credit spent first', async () => {
    const { id } = await read<AccountBody>(owner.api('/api/account'))
    await command('/prices', { operation: 'image-search', account: id, usd: '3.5' })
    expect(await callWith(gateway, made.secret)).toBe('200')
    await command('/prices', { operation: 'image-search', account: id, usd: null })
    expect(await read<AccountBody>(owner.api('/api/account'))).toMatchObject({
      credit_micros_usd: 0,
      balance_micros_usd: 3_495_000,
    })
    const { transactions } = await list('?limit=1')
    expect(transactions).toMatchObject([{ amount_micros_usd: -3_500_000, balance_after_micros_usd: 3_495_000 }])
  })

  test.each([1, 2, 3, 5])('is one chain of balances when paged by %d, also during new charges', async (limit) => {
    const all: Transaction[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: TransactionPage = await list(`?limit=${limit}${cursor && `&cursor=${cursor}`}`)
      all.push(...page.transactions)
      cursor = page.next_cursor
      expect(await callWith(gateway, made.secret)).toBe('200')
    }
    expect(new Set(all.map((row) => row.id)).size).toBe(all.length)
    for (const [i, row] of all.entries())
      expect(row.balance_after_micros_usd - row.amount_micros_usd).toBe(all[i + 1]?.balance_after_micros_usd ?? 0)
    expect(all.at(-1)?.kind).toBe('signup_credit')
  })

  test.each([
    ['cursor=nonsense', 'cursor'],
    ['cursor=', 'cursor'],
    ['limit=0', 'limit'],
    ['limit=201', 'limit'],
  ])('refuses %s', async (query, param) => {
    expect(await refusalOf(owner.api(`/api/transactions?${query}`))).toMatchObject({ status: 400, param })
  })

  test('refuses a cursor of another list', async () => {
    const answer = await owner.api('/api/requests?limit=1')
    const { next_cursor } = (await answer.json()) as { next_cursor: string }
    expect(await refusalOf(owner.api(`/api/transactions?cursor=${next_cursor}`))).toMatchObject({
      status: 400,
      param: 'cursor',
    })
  })

  test('shows another account only its own', async () => {
    const stranger = await gateway.owner()
    const { transactions } = await read<TransactionPage>(stranger.api('/api/transactions'))
    expect(transactions).toMatchObject([{ kind: 'signup_credit', balance_after_micros_usd: 2_000_000 }])
  })
})

describe('an empty account', () => {
  test('gets insufficient_balance, after the limit of its key', async () => {
    const poor = await gateway.owner()
    const keys = keyBench(poor)
    const { secret } = await keys.create()
    const limited = await keys.create({ spending_limit: 0.001 })
    const { id } = await read<AccountBody>(poor.api('/api/account'))
    await command('/prices', { operation: 'image-search', account: id, usd: '2' })
    expect(await callWith(gateway, secret)).toBe('200')
    expect(await callWith(gateway, secret)).toBe('402 insufficient_balance')
    expect(await callWith(gateway, limited.secret)).toBe('402 insufficient_api_key_balance')
    expect(await read<AccountBody>(poor.api('/api/account'))).toMatchObject({ balance_micros_usd: 0 })
  })

  test('with group_by=day has one row for the charges of a day, in a time zone', async () => {
    const before = (await list()).transactions
    for (let i = 0; i < 3; i++) expect(await callWith(gateway, made.secret)).toBe('200')
    const { transactions } = await list('?group_by=day&timezone=Europe/Berlin')
    const charges = before.findIndex(({ kind }) => kind !== 'charge') + 3
    expect(transactions[0]).toMatchObject({ kind: 'charge', charges, request_id: null, description: '' })
    expect(transactions[0]?.balance_after_micros_usd).toBe((before[0]?.balance_after_micros_usd ?? 0) - 15_000)
    expect(transactions[1]).toMatchObject({ ...before.find(({ kind }) => kind !== 'charge'), charges: null })
    for (const query of ['group_by=week', 'group_by=day&timezone=Mars'])
      expect((await refusalOf(owner.api(`/api/transactions?${query}`))).status).toBe(400)
  })
})
