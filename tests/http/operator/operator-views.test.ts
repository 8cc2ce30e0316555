import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { CardRefund } from '../../../server/core/accounts/cards/card-refund'
import type { LimitRequest } from '../../../server/core/accounts/staff/limit-request'
import { makeId } from '../../../server/core/ids'
import type { RefundList } from '../../../server/http/operator/customers/customer-record'
import type {
  CustomerAdjustments,
  CustomerAudit,
  CustomerLimits,
  CustomerRequests,
} from '../../../server/http/operator/customers/customer-view-record'
import type { OperatorAccountPage, OperatorLimitRequestPage } from '../../../server/http/operator/record'
import { oauthApp } from '../../support/agents/oauth'
import { type Harness, openHarness } from '../../support/harness'
import { openOperatorConsole } from '../../support/operator-console'
import { type AccountBody, callWith, closeReconciled, keyBench, type Owner, read } from '../owner-bench'

/** The views of one customer for operators and support: the same by the routes of its page and by `gateway operator customer`. */
let gateway: Harness
let operatorConsole: ReturnType<typeof openOperatorConsole>
let operator: Owner
let support: Owner
let customer: Owner
let id: string
let key: string

const at = (path: string) => `/api/operator/accounts/${id}${path}`
const shown = <T>(path: string) => read<T>(support.api(at(path)))
const asJson = async <T>(...words: string[]): Promise<T> => JSON.parse(await operatorConsole.run(...words, '--json'))

beforeAll(async () => {
  gateway = await openHarness()
  operatorConsole = openOperatorConsole(gateway)
  operator = await gateway.owner('root@example.com')
  support = await gateway.owner('support@example.com')
  customer = await gateway.owner('grace@example.com')
  const supportId = (await read<AccountBody>(support.api('/api/account'))).id
  await read(operator.api(`/api/operator/accounts/${supportId}/role`, { role: 'support' }))
  id = (await read<AccountBody>(customer.api('/api/account'))).id
  const made = await keyBench(customer).create({ name: 'laptop', spending_limit: 0.005 })
  key = made.key.id
  expect(await callWith(gateway, made.secret)).toBe('200')
  expect(await callWith(gateway, made.secret)).toBe('402 insufficient_api_key_balance')
  await gateway.core.stores.applied()
})
afterAll(async () => {
  await operatorConsole.close()
  await closeReconciled(gateway)
})

describe('the requests of a customer', () => {
  test('say in words how each ended and why it got a 402, newest first, and can be narrowed and paged', async () => {
    const { requests, next_cursor: next } = await shown<CustomerRequests>('/requests')
    expect(requests).toMatchObject([
      { status: 402, outcome: 'refused', code: 'insufficient_api_key_balance', key_id: key, cost_micros_usd: 0 },
      { status: 200, outcome: 'served', reason: null, cost_micros_usd: 5000 },
    ])
    expect(requests[0]?.reason).toContain('limit')
    expect(next).toBeNull()
    const first = await shown<CustomerRequests>('/requests?limit=1')
    const second = await shown<CustomerRequests>(`/requests?limit=1&cursor=${first.next_cursor}`)
    expect([...first.requests, ...second.requests]).toEqual([...requests])
    expect((await shown<CustomerRequests>('/requests?status=402')).requests).toEqual([requests[0] as never])
  })

  test('are the same by command, as JSON and as a table with the command of the next page', async () => {
    expect(await asJson<CustomerRequests>('customer', 'requests', id)).toEqual(await shown('/requests'))
    const table = await operatorConsole.run('customer', 'requests', id, '--limit', '1')
    expect(table).toMatch(/refused +insufficient_api_key_balance /)
    const [, cursor = ''] = /--cursor (\S+)\n$/.exec(table) ?? []
    expect(await operatorConsole.run('customer', 'requests', id, '--limit', '1', '--cursor', cursor)).toMatch(
      /image-search +- +200 +0\.005 +served/,
    )
    const [refused] = (await shown<CustomerRequests>('/requests?status=402')).requests
    expect(await operatorConsole.run('customer', 'requests', id, '--status', '402')).not.toContain('served')
    const one: unknown = JSON.parse(await operatorConsole.run('customer', 'request', id, refused?.id ?? ''))
    expect(one).toEqual(await shown(`/requests/${refused?.id}`))
  })
})

test('changes say which operator made them', async () => {
  await read(operator.api(at('/notes'), { text: 'Called us.' }), 200)
  await operatorConsole.run('note', id, 'Called again.')
  const { changes } = await shown<CustomerAudit>('/audit?limit=2')
  expect(changes).toMatchObject([
    { by: 'operator', actor: 'console', actor_email: null },
    { by: 'operator', actor_email: 'root@example.com' },
  ])
  expect(await operatorConsole.run('customer', 'audit', id)).toMatch(/account\.note +operator +root@example\.com/)
})

describe('limits, grants and debits of a customer', () => {
  test('show what applies and what was asked for, paged', async () => {
    const wish = { peak_rpm: 900, peak_tpm: 900_000, endpoints: ['image-search'], use_case: 'Many images, each hour.' }
    const { request } = await read<{ request: { id: string } }>(customer.api('/api/limit-requests', wish), 201)
    const pending = await asJson<OperatorLimitRequestPage>('requests')
    expect(pending).toMatchObject({ requests: [{ id: request.id, email: 'grace@example.com' }], next_cursor: null })
    await read(operator.api(`/api/operator/limit-requests/${request.id}/decline`, { reason: 'Too early.' }))
    await read(operator.api(at('/limits'), { limits: { rpm: 70, tpm: 70_000, concurrency: 7 } }))
    const limits = await shown<CustomerLimits>('/limits')
    expect(limits).toMatchObject({
      tier: 'enterprise',
      custom: true,
      limits: { rpm: 70, tpm: 70_000, concurrency: 7 },
      live_keys: 1,
      requests: [{ id: request.id, status: 'declined', reason: 'Too early.' }],
      next_cursor: null,
    })
    expect(await asJson<CustomerLimits>('customer', 'limits', id)).toEqual(limits)
    expect(await operatorConsole.run('customer', 'limits', id)).toMatch(/^rpm +70\ntpm +70000$/m)
    expect(await operatorConsole.run('customer', 'limits', id)).toContain('Too early.')
    expect(await asJson<OperatorLimitRequestPage>('requests')).toEqual({ requests: [], next_cursor: null })
  })

  test('show each grant, debit and refund of a call with its reason, its reference and who made it', async () => {
    const [served] = (await shown<CustomerRequests>('/requests?status=200')).requests
    await read(operator.api(at('/grants'), { usd: '5', note: 'For the trouble', reference: 'ticket:7' }))
    await operatorConsole.run('debit', id, '6', '--note', 'A wrong grant', '--reference', 'ticket-8')
    await read(operator.api(at('/refunds'), { payment: served?.id, note: 'It was our fault' }))
    const page = await shown<CustomerAdjustments>('/adjustments')
    expect(page).toMatchObject({
      adjustments: [
        { kind: 'charge_refund', amount_micros_usd: 5000, reason: 'It was our fault', request_id: served?.id },
        { kind: 'debit', amount_micros_usd: -6_000_000, reference: 'ticket-8', by: 'console' },
        { kind: 'grant', amount_micros_usd: 5_000_000, reason: 'For the trouble', reference: 'ticket:7' },
        { kind: 'signup_credit', amount_micros_usd: 2_000_000, reference: null, by: null },
      ],
      next_cursor: null,
    })
    expect(page.adjustments.map(({ by }) => by)).toEqual(['root@example.com', 'console', 'root@example.com', null])
    const paged: unknown[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const next: CustomerAdjustments = await shown(`/adjustments?limit=1${cursor && `&cursor=${cursor}`}`)
      paged.push(...next.adjustments)
      cursor = next.next_cursor
    }
    expect(paged).toEqual([...page.adjustments])
    expect(await asJson<CustomerAdjustments>('customer', 'adjustments', id)).toEqual(page)
    expect(await operatorConsole.run('customer', 'adjustments', id)).toMatch(
      /debit +-6\.00 +A wrong grant +ticket-8 +- +console/,
    )
  })
})

describe('gateway operator customer', () => {
  test('has each view that the page has, with the same record', async () => {
    for (const view of ['transactions', 'payments', 'refunds', 'keys', 'audit'] as const)
      expect(await asJson<unknown>('customer', view, id), view).toEqual(await shown(`/${view}`))
    expect(await asJson<unknown>('customer', 'show', id)).toEqual(await shown(''))
    expect(await asJson<unknown>('customer', 'usage', id, '--by', 'key')).toEqual(await shown('/usage?group_by=key'))
    expect(await operatorConsole.run('customer', 'usage', id)).toMatch(/operation +image-search +2 +1 +0 +0 +0\.005\n/)
    const words = { transactions: /grant +5\.00/, payments: /No payments/, refunds: /No refunds/ }
    for (const [view, expected] of Object.entries({ ...words, keys: /exhausted.*laptop/, audit: /account\.debit/ }))
      expect(await operatorConsole.run('customer', view, id), view).toMatch(expected)
  })

  test('explains itself, and refuses what it does not know instead of ignoring it', async () => {
    expect(await operatorConsole.run('customer', '--help')).toContain('adjustments ACCOUNT')
    expect(await operatorConsole.run('--help')).toContain('customer audit ACCOUNT')
    for (const [words, message] of [
      [['customer', 'money', id], 'unknown operator command "customer money"'],
      [['customer', 'requests'], 'takes ACCOUNT; see'],
      [['customer', 'request', id], 'takes ACCOUNT REQUEST; see'],
      [['customer', 'payments', id, '--status', '402'], "Unknown option '--status'"],
      [['customer', 'show', id, '--limit', '1'], "Unknown option '--limit'"],
      [['customer', 'usage', id, '--from', 'yesterday'], 'is not a time'],
      [['customer', 'requests', id, '--limit', '0'], 'must be an integer from 1 to 200'],
      [['customer', 'audit', id, '--cursor', 'x'], 'next_cursor of the previous page'],
      [['customer', 'keys', 'acct_none'], 'does not exist'],
      [['customer', 'keys', 'grace@example.com'], id],
    ] as const)
      expect(await operatorConsole.run(...words).catch((error: Error) => error.message)).toContain(message)
  })
})

describe('lists of the whole gateway', () => {
  test('are paged in full, accounts and pending requests alike: nothing is left out silently', async () => {
    const all = (await read<OperatorAccountPage>(operator.api('/api/operator/accounts'))).accounts
    const seen: unknown[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: OperatorAccountPage = await asJson('list', '--limit', '2', ...(cursor ? ['--cursor', cursor] : []))
      seen.push(...page.accounts)
      cursor = page.next_cursor
    }
    expect(seen).toEqual([...all])
    expect(await operatorConsole.run('list', '--limit', '1')).toContain(`--cursor ${all[0]?.id}`)
    const { limitRequests } = gateway.core.stores
    const now = gateway.clock.now()
    const actor = { kind: 'owner', id: 'user', address: null } as const
    const asked: string[] = []
    for (const { id: account } of all) {
      const request: LimitRequest = {
        id: makeId('lim', now + asked.length),
        accountId: account as `acct_${string}`,
        at: now,
        peakRpm: 900,
        peakTpm: 1,
        endpoints: ['image-search'],
        useCase: 'Many of them.',
        status: 'pending',
        reason: null,
        decidedAt: null,
      }
      const audit = {
        id: makeId('audit', now),
        at: now,
        actor,
        accountId: request.accountId,
        keyId: null,
        before: null,
      }
      expect(await limitRequests.open(request, { ...audit, action: 'limits.request', detail: {} })).toBeTrue()
      asked.unshift(request.id)
    }
    const first = await operatorConsole.run('requests', '--limit', '2')
    const [, cursor = ''] = /--cursor (\S+)\n$/.exec(first) ?? []
    const rest = await asJson<OperatorLimitRequestPage>('requests', '--limit', '2', '--cursor', cursor)
    expect([...first.matchAll(/^lim_\w+/gm)].map(([one]) => one)).toEqual(asked.slice(0, 2))
    expect(rest.requests.map((one) => one.id)).toEqual(asked.slice(2))
  })

  test('card refunds of an account too, above 200 of them', async () => {
    const { cardRefunds } = gateway.core.stores
    const now = gateway.clock.now()
    const actor = { kind: 'operator', id: 'console', address: null } as const
    const account = id as `acct_${string}`
    const made: string[] = []
    for (let i = 0; i < 205; i++) {
      const refund: CardRefund = {
        id: makeId('rfd', now + i),
        payment: makeId('pay', now),
        accountId: account,
        amount: 10_000 as never,
        reason: 'Test',
        reference: `r${i}`,
        state: 'pending',
        processorId: null,
        lastError: null,
        createdAt: now,
        updatedAt: now,
      }
      const audit = { id: makeId('audit', now), at: now, actor, accountId: account, keyId: null, before: null }
      await cardRefunds.open(refund, { ...audit, action: 'account.card_refund', detail: {} })
      made.unshift(refund.id)
    }
    const first = await shown<RefundList>('/refunds?limit=200')
    const rest = await shown<RefundList>(`/refunds?limit=200&cursor=${first.next_cursor}`)
    expect([...first.refunds, ...rest.refunds].map((refund) => refund.id)).toEqual(made)
    expect(rest.next_cursor).toBeNull()
    const open = await cardRefunds.unfinished(200, null)
    expect(await cardRefunds.unfinished(200, open.at(-1)?.id ?? null)).toHaveLength(5)
    expect(await operatorConsole.run('refunds', id)).toContain('--cursor')
  })
})

test('a call of an app has the name of the app', async () => {
  const made = await gateway.owner('apps@example.com')
  const accountId = (await read<AccountBody>(made.api('/api/account'))).id
  const { access_token: token } = await oauthApp(gateway, made).connect('data:read', ['/apis/v1'])
  expect(await callWith(gateway, token)).toBe('200')
  await gateway.core.stores.applied()
  const { requests } = await read<CustomerRequests>(support.api(`/api/operator/accounts/${accountId}/requests`))
  expect(requests).toMatchObject([{ key_id: expect.stringMatching(/^conn_/), key_name: 'Gateway command line' }])
  expect(await operatorConsole.run('customer', 'requests', accountId)).toMatch(
    /conn_\w+ +Gateway command line +image-search/,
  )
})

test('a key that was replaced says until when it works', async () => {
  const made = await gateway.owner('rotating@example.com')
  const accountId = (await read<AccountBody>(made.api('/api/account'))).id
  const old = await keyBench(made).create({ name: 'old' })
  await read(made.api(`/api/keys/${old.key.id}/rotate`, { grace_period_seconds: 60 }), 201)
  expect(await operatorConsole.run('customer', 'keys', accountId)).toMatch(
    new RegExp(`${old.key.id} .* active +20\\S+Z `),
  )
})
