import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { AccountId } from '../../server/core/ids'
import { type Harness, openHarness } from '../support/harness'
import { type Owner, read } from './owner-bench'

const MINUTE = 60_000
const DAY = 86_400
const OWNER_RPM = 2400
const VISITOR_RPM = 600

/** The reads of a page of the dashboard when it opens (`dashboard/src/api`), below `/api/`. */
type Reads = readonly string[]
/** A task of a person: the pages on the way, and what is sent. */
interface Task {
  readonly pages: readonly Reads[]
  readonly writes?: readonly (readonly [method: string, path: string, body?: unknown])[]
  readonly files?: readonly string[]
}

let gateway: Harness
let owner: Owner
let ids: readonly string[] = []
let account: AccountId
let now = 0

beforeAll(async () => {
  gateway = await openHarness({
    env: { OWNER_RPM: String(OWNER_RPM), VISITOR_RPM: String(VISITOR_RPM), BASE_URL: 'https://gateway.example' },
  })
  owner = await gateway.owner('owner@example.com')
  account = (await read<{ id: AccountId }>(owner.api('/api/account'))).id
  const own = await gateway.core.accounts.byId(account)
  if (!own) throw new Error('no account')
  const made = []
  for (let at = 0; at < 500; at++) made.push(await gateway.key(own, { tags: [`team ${at % 20}`] }))
  ids = made.map(({ id }) => id)
  await gateway.core.operator.appoint({ kind: 'operator', id: 'test', address: null }, account)
  now = Math.floor(gateway.clock.now() / 1000)
})
beforeEach(() => gateway.clock.advance(MINUTE))
afterAll(() => gateway.close())

const usage = (days: number, more = '') =>
  `usage?start_time=${now - days * DAY}&end_time=${now}&bucket_width=${days > 7 ? '1d' : '1h'}&timezone=America/St_Johns${more}`
const series = (days: number, by: string) => [
  usage(days, `&group_by=${by}`),
  ...ids.slice(0, 5).map((id) => usage(days, `&key=${id}`)),
]

/** Every page has the frame: the balance, the bell, the banner of used-up keys, and the saved views. */
const FRAME = ['account', 'notices?limit=1', 'keys?limit=100&status=exhausted', 'settings']
const PAGES = {
  overview: () => [
    ...['keys?limit=1', 'keys/names', 'keys?limit=100&sort=last_used', 'requests?limit=10', 'requests?limit=5'],
    ...[usage(1), usage(2, '&group_by=status'), ...series(7, 'key'), 'limits?limit=1', 'apps', 'webhooks'],
  ],
  usage: (days = 1, by = 'key') => [
    ...['keys/names', 'keys?limit=1', usage(days), usage(2 * days), ...series(days, by)],
    ...['operation', 'status', 'model'].map((seen) => usage(days, `&group_by=${seen}`)),
  ],
  log: () => ['keys/names', usage(1), ...Array(4).fill('requests?limit=50'), 'requests?limit=50&search=203.0.113.7'],
  errors: () => ['keys/names', usage(1), 'error-report'],
  /** All 500 loaded. */
  keys: () => [...Array(5).fill('keys?limit=100'), 'keys?limit=1', 'limits?limit=25', 'social?limit=25', 'apps'],
  key: () => [`keys/${ids[0]}`, `keys/${ids[0]}/history?limit=20`, usage(1, `&key=${ids[0]}`), 'requests?limit=10'],
  billing: () => ['billing', 'topups?limit=50', 'payments?limit=50', 'transactions?limit=50&group_by=day', 'prices'],
  limits: () => ['limits?limit=25', 'limit-requests'],
  settings: () => ['settings', 'settings/sessions', 'notices/mail', 'apps'],
  webhooks: () => ['webhooks', ...Array(5).fill('webhooks')],
  playground: () => ['models', 'keys?limit=100', ...Array(5).fill('account')],
  audit: () => Array(4).fill('audit?limit=50'),
  operator: () =>
    [
      ...['health', 'accounts', 'limit-requests', 'stuck?limit=25', 'upstreams', 'prices', 'apis', 'reconciliations'],
      // The figures of a minute, which come every five seconds.
      ...Array(12).fill('health'),
      ...Array(12).fill('upstreams'),
    ].map((path) => `operator/${path}`),
  customer: () =>
    [
      ...[
        '',
        '/usage',
        '/transactions',
        '/requests',
        '/limits',
        '/adjustments',
        '/payments',
        '/refunds',
        '/audit',
        '/keys',
      ],
    ].map((path) => `operator/accounts/${account}${path}`),
  money: () => ['revenue', 'statement?month=2026-11', 'reconciliations'].map((path) => `operator/${path}`),
}

const twice = <T>(one: T): readonly T[] => [one, one]
const key = (change: string) => ['POST', `/api/keys/${ids[1]}/${change}`] as const
const patch = (body: unknown) => ['PATCH', `/api/keys/${ids[2]}`, body] as const
let made = 0
const created = () => ['POST', '/api/keys', { name: `made ${++made}`, spending_limit: 1 }] as const

/** The rows of tables B and C: what an owner, and an operator, does. */
const TASKS: Readonly<Record<string, () => Task>> = {
  'sign up; first call on the welcome page': () => ({
    pages: [PAGES.overview(), PAGES.playground()],
    writes: [created(), ['POST', '/api/try', {}]],
  }),
  'key with limit, budget, endpoints, IP list': () => ({ pages: twice(PAGES.keys()), writes: [created(), created()] }),
  'one model only: new, and existing key': () => ({
    pages: [PAGES.keys(), PAGES.key(), PAGES.keys()],
    writes: [created(), patch({ allowed_models: ['sandbox/echo'] })],
  }),
  'rotate; disable, undo': () => ({
    pages: [PAGES.keys(), PAGES.key(), PAGES.keys()],
    writes: [['POST', `/api/keys/${ids[3]}/rotate`, {}], key('disable'), key('enable')],
  }),
  'disable all 500 keys at once, and enable twenty again': () => ({
    pages: [PAGES.keys(), PAGES.keys()],
    writes: [
      ['POST', '/api/keys/disable', { ids }],
      ...ids.slice(0, 20).map((id) => ['POST', `/api/keys/${id}/enable`] as const),
    ],
  }),
  'who spent most; yesterday': () => ({ pages: [PAGES.overview(), PAGES.usage(1), PAGES.usage(7), PAGES.usage(30)] }),
  'why a call failed': () => ({ pages: [PAGES.overview(), PAGES.errors(), PAGES.log(), PAGES.log()] }),
  'webhook; test; deliveries': () => ({
    pages: twice(PAGES.webhooks()),
    writes: [
      ['POST', '/api/webhooks', { url: 'https://example.com', events: ['key.created'] }],
      ['POST', '/api/webhooks/none/confirm', { code: '7K2M9QXA' }],
      ['POST', '/api/webhooks/none/test'],
    ],
  }),
  'link a social account; connect CLI and MCP client': () => ({
    pages: [PAGES.keys(), PAGES.key(), ...twice(PAGES.settings())],
    writes: [['POST', '/api/social', { key_id: ids[0], scopes: [] }]],
  }),
  'top up; limits': () => ({
    pages: [PAGES.billing(), PAGES.billing(), PAGES.limits()],
    writes: [['POST', '/api/topups', { amount: '5', method: 'sandbox' }]],
  }),
  'export CSV (usage, ledger, keys, audit, account)': () => ({
    pages: [PAGES.usage(), PAGES.billing(), PAGES.keys(), PAGES.audit()],
    files: ['usage.csv', 'transactions.csv', 'keys.csv', 'audit.csv', 'settings/export'],
  }),
  'time zone; authenticator; passkey': () => ({
    pages: [PAGES.settings(), PAGES.settings(), PAGES.usage(90)],
    writes: [['PATCH', '/api/settings', { timezone: 'Asia/Tokyo' }], ...Array(6).fill(key('enable'))],
  }),
  'price for all, for one account, for an imported API': () => ({
    pages: [PAGES.operator(), PAGES.customer(), PAGES.operator()],
    writes: [
      ['POST', '/api/operator/prices', {}],
      ['POST', '/api/operator/prices', {}],
    ],
  }),
  'import by UI, try, publish': () => ({
    pages: [PAGES.operator(), PAGES.operator()],
    writes: [
      ['POST', '/api/operator/api-documents', {}],
      ['POST', '/api/operator/apis/import', {}],
      ...Array(5).fill(['POST', '/api/operator/apis/none/test', {}]),
      ['PATCH', '/api/operator/apis/none', {}],
    ],
  }),
  'revenue and margin; close the month': () => ({
    pages: [PAGES.money(), PAGES.money(), PAGES.operator()],
    files: ['operator/revenue.csv', 'operator/statement.csv?month=2026-11', 'operator/books.csv?month=2026-11'],
  }),
  'refund; suspend; lift; answer a limit request': () => ({
    pages: Array(4).fill(PAGES.customer()),
    writes: Array(6).fill(['POST', `/api/operator/accounts/${account}/refunds`, {}]),
  }),
  'errors of an upstream': () => ({ pages: [PAGES.operator(), PAGES.customer(), PAGES.customer()] }),
}

/** Units left in the window of the owner, seen by a read that takes one. */
const left = async () => Number((await owner.api('/api/prices')).headers.get('x-ratelimit-remaining-requests'))

async function ask(all: Reads): Promise<void> {
  const alone = all.filter((path) => path.startsWith('operator/'))
  const together = all.filter((path) => !path.startsWith('operator/'))
  for (let from = 0; from < together.length; from += 24) {
    const parts = together.slice(from, from + 24).map((path) => ['get', path])
    const answer = await read<{ parts: { status: number }[] }>(owner.api(`/api/batch?${new URLSearchParams(parts)}`))
    expect(answer.parts.map(({ status }) => status)).toEqual(parts.map(() => 200))
  }
  for (const path of alone) await read(owner.api(`/api/${path}`))
}

/** `stale`: what is read again on a page that stays open. */
async function unitsOf({ pages, writes = [], files = [] }: Task, stale: readonly Reads[] = []): Promise<number> {
  const before = await left()
  for (const page of pages) await ask([...FRAME, ...page])
  for (const reads of stale) await ask(reads)
  for (const [method, path, body] of writes) {
    const answer = await owner.api(path, body, method)
    // Whether it succeeds does not matter here, but a path that does not exist would cost nothing.
    const { error } = Object(await answer.json())
    expect(['unknown_endpoint', 'rate_limit_exceeded', 'missing_session'], path).not.toContain(error?.code)
  }
  for (const path of files) await (await owner.api(`/api/${path}`)).text()
  return before - (await left()) - 1
}

describe('an owner with 500 keys, or an operator, meets no limit (half of it in a minute at most)', () => {
  // Their names are known before the keys are.
  test.each(Object.keys(TASKS))('%s', async (name) => {
    const units = await unitsOf(TASKS[name]?.() ?? { pages: [] })
    expect(units).toBeGreaterThan(0)
    expect(units).toBeLessThan(OWNER_RPM / 2)
  })

  test('two windows of a busy account, live for a minute, and another page every six seconds', async () => {
    // After a call: at once, a second later, then every five seconds. What is stale are requests, usage, keys and limits.
    const usagePage = [...PAGES.usage().slice(1), 'account', 'keys?limit=100&status=exhausted']
    const keysPage = [...PAGES.keys().slice(0, 6), 'account', 'keys?limit=100&status=exhausted']
    const stale = Array.from({ length: 13 }, () => [usagePage, keysPage]).flat()
    const visited = Array.from({ length: 10 }, (_, at) => (at % 2 === 0 ? PAGES.key() : PAGES.settings()))
    expect(await unitsOf({ pages: visited }, stale)).toBeLessThan(OWNER_RPM / 2)
  })
})
