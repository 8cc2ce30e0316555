import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { AuditRecord } from '../../../server/http/audit/record'
import { declaredAccess } from '../../../server/http/routing/api-access'
import { openFile } from '../../support/databases/database-file'
import { type Harness, openHarness } from '../../support/harness'
import { codeOfWebhook } from '../../support/webhooks'
import {
  type AccountBody,
  type AuditRow,
  auditRows,
  callWith,
  closeReconciled,
  keyBench,
  type Owner,
  read,
  refusalOf,
} from '../owner-bench'

let gateway: Harness
let owner: Owner
let accountId: string
let userId: string

beforeAll(async () => {
  gateway = await openHarness({ env: { TRUSTED_PROXIES: '127.0.0.1' } })
  owner = await gateway.owner()
  accountId = (await read<AccountBody>(owner.api('/api/account'))).id
  userId = (await gateway.core.accounts.byId(accountId as `acct_${string}`))?.userId ?? ''
})
afterAll(() => closeReconciled(gateway))

const ofKey = async (id: string) => (await auditRows(gateway)).filter((row) => row.key_id === id)
const from = (address: string) => ({ 'x-forwarded-for': address })

describe('the audit log (spec D3, D4)', () => {
  test('records who opened the account, when and with what action', async () => {
    const rows = (await auditRows(gateway)).filter((row) => row.account_id === accountId && row.key_id === null)
    expect(rows).toMatchObject([{ actor_id: userId, at: gateway.clock.now(), key_id: null }])
    expect(rows[0]?.action).toMatch(/^account\./)
  })

  test('records who changed a key, when, from which address, and what changed', async () => {
    const headers = from('203.0.113.7')
    const made = await read<{ key: { id: string } }>(
      owner.api('/api/keys', { name: 'audited', spending_limit: 5, allowed_ips: ['10.0.0.1'] }, 'POST', headers),
      201,
    )
    const path = `/api/keys/${made.key.id}`
    const steps: [string, string, unknown][] = [
      ['PATCH', path, { spending_limit: null, name: 'renamed' }],
      ['POST', `${path}/disable`, undefined],
      ['POST', `${path}/enable`, undefined],
      ['POST', `${path}/rotate`, { grace_period_seconds: 60 }],
      ['PATCH', path, { stops_at: '2099-01-01T00:00:00Z' }],
      ['POST', `${path}/revoke`, undefined],
    ]
    const times = [gateway.clock.now()]
    for (const [method, where, body] of steps) {
      gateway.clock.advance(1_000)
      times.push(gateway.clock.now())
      const answer = await owner.api(where, body, method, headers)
      expect([200, 201]).toContain(answer.status)
    }
    const rows = await ofKey(made.key.id)
    expect(rows.map((row) => row.action)).toEqual([
      'key.create',
      'key.change',
      'key.disable',
      'key.enable',
      'key.rotate',
      'key.change',
      'key.revoke',
    ])
    expect(rows.map((row) => row.at)).toEqual(times)
    for (const row of rows)
      expect(row).toMatchObject({
        actor_kind: 'owner',
        actor_id: userId,
        address: '203.0.113.7',
        account_id: accountId,
      })
    const detail = (row: AuditRow | undefined): unknown => JSON.parse(row?.detail ?? 'null')
    expect(detail(rows[0])).toEqual({ name: 'audited', spendingLimit: 5_000_000, allowedIps: ['10.0.0.1'] })
    expect(detail(rows[1])).toEqual({ spendingLimit: null, name: 'renamed' })
    const before = rows.map((row) => JSON.parse(row.before ?? 'null'))
    expect(before).toEqual([
      null,
      { spendingLimit: 5_000_000, name: 'audited' },
      { state: 'active' },
      { state: 'disabled' },
      null,
      { stopsAt: expect.any(Number) },
      { state: 'active' },
    ])
    expect(detail(rows[4])).toMatchObject({ successor: expect.stringMatching(/^key_/), grace_period_seconds: 60 })
  })

  test('has no row for refused changes or reads', async () => {
    const { key } = await keyBench(owner).create()
    const before = await auditRows(gateway)
    await owner.api(`/api/keys/${key.id}`, { name: '' }, 'PATCH')
    await owner.api(`/api/keys/${key.id}/rotate`, { grace_period_seconds: -1 })
    await owner.api(`/api/keys/${key.id}`, { name: 'x' }, 'PATCH', { origin: 'https://evil.example' })
    await owner.api('/api/keys', {})
    for (const path of ['/api/keys', '/api/account', '/api/limits', '/api/requests']) await owner.api(path)
    expect(await auditRows(gateway)).toEqual(before)
  })

  test('is on disk before a change is confirmed, so that a crash loses none', async () => {
    const { key } = await keyBench(owner).create()
    const client = openFile(gateway.databaseFile)
    try {
      const { rows } = await client.execute({ sql: 'SELECT action FROM audit_log WHERE key_id = ?', args: [key.id] })
      expect(rows.map((row) => row['action'])).toEqual(['key.create'])
    } finally {
      client.close()
    }
  })

  test('contains no secret, no hash of one, no session and no password', async () => {
    const keys = keyBench(owner)
    const { key, secret } = await keys.create()
    const next = await keys.rotate(key.id)
    expect(await callWith(gateway, next.secret)).toBe('200')
    const text = JSON.stringify(await auditRows(gateway))
    for (const one of [secret, next.secret]) {
      expect(text).not.toContain(one.slice(4))
      expect(text).not.toContain(new Bun.CryptoHasher('sha256').update(one).digest('hex'))
    }
    expect(text).not.toContain('correct horse')
    expect(text).not.toContain(decodeURIComponent(owner.cookie).split(/[=.]/).at(-2) ?? '?')
  })
})

interface Page {
  readonly entries: readonly AuditRecord[]
  readonly next_cursor: string | null
}

/** Writes that change nothing for the audit log, or is recorded in the ledger, the request log or the outbox. */
const NOT_AUDITED = [
  'POST /api/models/estimate',
  'POST /api/workspaces/:id/show',
  'POST /api/invitations/read',
  'POST /api/social', // the link is, once its user approved (tests/http/social/owner-social.test.ts)
  'POST /api/settings/email', // the change is, once it is confirmed
  'POST /api/webhooks/:id/code',
  'POST /api/webhooks/:id/test',
  'POST /api/webhooks/:id/deliveries/:delivery/resend',
  'POST /api/notices/read',
  'POST /api/topups',
  'POST /api/webhooks/stripe',
  'POST /api/operator/api-documents',
  'POST /api/try',
  'POST /api/operator/model-vendors/:name/test',
]
/** Audited, as the tests of their areas show. */
const ELSEWHERE = [
  'PUT /api/account/budgets', // budgets.test.ts
  'POST /api/operator/model-prices', // model-access.test.ts
  'POST /api/identities/:id/unlink', // identity-providers.test.ts
  // member-budgets.test.ts
  'PUT /api/members/default-budgets',
  'PUT /api/members/:id/budgets',
  'POST /api/keys/:id/give',
  // workspaces.test.ts
  'PATCH /api/workspaces/shown',
  'PATCH /api/members/:id',
  'POST /api/members/:id/remove',
  'POST /api/members/:id/hand-over',
  'POST /api/invitations',
  'DELETE /api/invitations/:id',
  'POST /api/invitations/accept',
  'POST /api/account/operator', // operator-claim.test.ts
  'POST /api/settings/email/confirm', // settings.test.ts
  'POST /api/settings/close', // settings.test.ts
  'DELETE /api/social/:id', // owner-social.test.ts
  'POST /api/operator/accounts/:id/refunds', // operator-money.test.ts
  'POST /api/operator/after-restore', // after-restore.test.ts
  'POST /api/operator/stuck/:id/retry', // stuck-records.test.ts
  'POST /api/operator/stuck/:id/discard', // stuck-records.test.ts
  'POST /api/operator/accounts/:id/second-factor-reset', // second-factor.test.ts
  'POST /api/operator/accounts/:id/erase', // operator-customers.test.ts; keys and sessions have entries of their own
  'POST /api/operator/apis/import', // operator-apis.test.ts
  'POST /api/operator/apis/:name/test', // of a write: tests/http/apis/closings.test.ts
  'POST /api/operator/apis/:name/lift', // tests/http/apis/closings.test.ts; opening what is open changes nothing
  'POST /api/operator/models/prices', // price-reviews.test.ts
  'PATCH /api/operator/models/:id', // tests/http/models/operator-models.test.ts
  'DELETE /api/operator/models/:id', // tests/http/models/operator-models.test.ts
  'POST /api/operator/model-vendors', // model-vendors.test.ts
  'POST /api/operator/model-vendors/:name/key', // model-vendors.test.ts
  'POST /api/operator/model-vendors/:name/models', // model-vendors.test.ts
  'DELETE /api/operator/model-vendors/:name', // model-vendors.test.ts
]

describe('every route of management that changes something writes one entry', () => {
  let gateway: Harness
  let operator: Owner
  let owner: Owner
  const done: string[] = []
  beforeAll(async () => {
    gateway = await openHarness()
    operator = await gateway.owner('root@example.com')
    owner = await gateway.owner('ada@example.com')
  })
  afterAll(() => closeReconciled(gateway))

  /** Sends it, and returns the action of the one entry that it wrote. */
  const changed = async (who: Owner, route: string, body?: unknown, ids: readonly string[] = []) => {
    const [method = '', path = ''] = route.split(' ')
    const left = [...ids]
    const before = (await auditRows(gateway)).length
    const answer = await who.api(
      path.replace(/:\w+/g, () => left.shift() ?? ''),
      body,
      method,
    )
    expect(`${route} ${answer.status} ${await answer.clone().text()}`).toMatch(/ 20[01] /)
    done.push(route)
    const rows = (await auditRows(gateway)).slice(before)
    expect(rows).toHaveLength(1)
    return { action: rows[0]?.action, row: rows[0], answer: JSON.parse((await answer.text()) || '{}') }
  }
  const actionOf = async (...args: Parameters<typeof changed>) => (await changed(...args)).action

  test('by owners', async () => {
    const key = (await changed(owner, 'POST /api/keys', { name: 'walked' })).answer.key.id
    expect(await actionOf(owner, 'PATCH /api/keys/:id', { note: 'n' }, [key])).toBe('key.change')
    expect(await actionOf(owner, 'POST /api/keys/:id/disable', undefined, [key])).toBe('key.disable')
    expect(await actionOf(owner, 'POST /api/keys/:id/enable', undefined, [key])).toBe('key.enable')
    expect(await actionOf(owner, 'POST /api/keys/disable', { ids: [key] })).toBe('key.disable')
    expect(await actionOf(owner, 'POST /api/keys/:id/rotate', {}, [key])).toBe('key.rotate')
    expect(await actionOf(owner, 'POST /api/keys/:id/revoke', undefined, [key])).toBe('key.revoke')
    const settings = await changed(owner, 'PATCH /api/settings', { timezone: 'Europe/Berlin' })
    expect(settings.row).toMatchObject({ action: 'account.settings', before: '{"timezone":null}' })
    const hook = (await changed(owner, 'POST /api/webhooks', { url: 'https://a.example/secret-path' })).answer.webhook
      .id
    const entered = { code: await codeOfWebhook(gateway, hook) }
    expect(await actionOf(owner, 'POST /api/webhooks/:id/confirm', entered, [hook])).toBe('webhook.confirm')
    const moved = await changed(owner, 'PATCH /api/webhooks/:id', { url: 'https://b.example/x' }, [hook])
    expect(JSON.parse(moved.row?.before ?? '')).toMatchObject({ host: 'a.example' })
    expect(await actionOf(owner, 'POST /api/webhooks/:id/rotate', undefined, [hook])).toBe('webhook.rotate')
    expect(await actionOf(owner, 'DELETE /api/webhooks/:id', undefined, [hook])).toBe('webhook.delete')
    const mailed = { kinds: ['budget.threshold'] }
    expect(await actionOf(owner, 'PATCH /api/notices/mail', mailed)).toBe('notices.mail')
    const account = await gateway.core.accounts.byId((await read<AccountBody>(owner.api('/api/account'))).id as never)
    if (!account) throw new Error('no account')
    for (const app of ['app-1', 'app-2']) await gateway.core.appGrants.of({ ...account, clientId: app }, '127.0.0.1')
    expect(await actionOf(owner, 'POST /api/apps/:id/disconnect', undefined, ['app-1'])).toBe('connection.end')
    expect(await actionOf(owner, 'POST /api/apps/disconnect')).toBe('connection.end')
    const wish = { peak_rpm: 999, peak_tpm: 1, endpoints: ['image-search'], use_case: 'More of the same, please.' }
    const request = (await changed(owner, 'POST /api/limit-requests', wish)).answer.request.id
    const decline = { reason: 'Not now.' }
    expect(await actionOf(operator, 'POST /api/operator/limit-requests/:id/decline', decline, [request])).toBe(
      'limits.declined',
    )
    const again = (await changed(owner, 'POST /api/limit-requests', wish)).answer.request.id
    expect(await actionOf(operator, 'POST /api/operator/limit-requests/:id/approve', {}, [again])).toBe(
      'limits.approved',
    )
  })

  test('by operators, with the values before and after', async () => {
    const { id } = await read<AccountBody>(owner.api('/api/account'))
    for (const [usd, before] of [
      ['0.01', null],
      ['0.02', 10_000],
    ] as const) {
      const { row } = await changed(operator, 'POST /api/operator/prices', { operation: 'image-search', usd })
      expect([row?.actor_kind, JSON.parse(row?.before ?? '')]).toEqual([
        'operator',
        { operation: 'image-search', amount: before },
      ])
    }
    const limits = { rpm: 1000, tpm: 1000, concurrency: 10 }
    const limited = await changed(operator, 'POST /api/operator/accounts/:id/limits', { limits }, [id])
    expect(limited.row).toMatchObject({ action: 'account.limits', before: '{"customLimits":null}' })
    expect(await actionOf(operator, 'POST /api/operator/accounts/:id/grants', { usd: '5' }, [id])).toBe('account.grant')
    const forecast = { id: 'forecast', method: 'GET', path: '/forecast', price: { mode: 'fixed', usd: '0.01' } }
    const sent = { name: 'weather', base_url: 'https://api.example', auth: 'none', operations: [forecast] }
    expect(await actionOf(operator, 'POST /api/operator/apis', sent)).toBe('api.create')
    const off = await changed(operator, 'PATCH /api/operator/apis/:name', { enabled: false }, ['weather'])
    expect(JSON.parse(off.row?.before ?? '')).toMatchObject({ name: 'weather', enabled: true })
    expect(await actionOf(operator, 'DELETE /api/operator/apis/:name', undefined, ['weather'])).toBe('api.remove')
  })

  test('by operators, about one customer', async () => {
    const customer = await gateway.owner('grace@example.com')
    const { id } = await read<AccountBody>(customer.api('/api/account'))
    const key = (await keyBench(customer).create()).key.id
    const of = (action: string, body: unknown = {}, ...more: string[]) =>
      actionOf(operator, `POST /api/operator/accounts/:id/${action}`, body, [id, ...more])
    const reason = { reason: 'A stolen card.' }
    const actions = [
      await of('notes', { text: 'Called twice.' }),
      await of('keys/:key', { action: 'disable' }, key),
      await of('debits', { usd: '0.5', note: 'A wrong grant' }),
      await of('max-keys', { keys: 5 }),
      await of('password-reset'),
      await of('end-sessions'),
      await of('suspend', reason),
      await of('lift', reason),
      await of('role', { role: 'support' }),
      await of('role', { role: null }),
    ]
    expect(actions).toEqual([
      'account.note',
      'key.disable',
      'account.debit',
      'account.keys',
      'account.reset_link',
      'account.sessions_end',
      'account.suspend',
      'account.lift',
      'account.role',
      'account.role',
    ])
    expect(await actionOf(operator, 'POST /api/operator/reconcile', { apply: true })).toBe('books.reconcile')
  })

  test('and of sessions, even that which ended itself', async () => {
    const other = await gateway.owner('bob@example.com')
    const { sessions } = await read<{ sessions: { id: string }[] }>(other.api('/api/settings/sessions'))
    expect(await actionOf(other, 'POST /api/settings/sessions/end-others')).toBe('session.end')
    expect(await actionOf(other, 'POST /api/settings/sessions/:id/end', undefined, [sessions[0]?.id ?? ''])).toBe(
      'session.end',
    )
    const third = await gateway.owner('eve@example.com')
    expect(await actionOf(third, 'POST /api/settings/sessions/end-all')).toBe('session.end')
    const fourth = await gateway.owner('max@example.com')
    const before = (await auditRows(gateway)).length
    expect((await fourth.api('/api/auth/revoke-sessions', {})).status).toBe(200)
    expect((await auditRows(gateway)).slice(before)).toMatchObject([{ action: 'session.end' }])
  })

  test('and this list names every one of them', () => {
    // Those of the sign-in library have their list in audit-outside-api.test.ts.
    const isListed = (path: string) => path.startsWith('/api/') && !path.startsWith('/api/auth/')
    // Those of the console have theirs in the tests of its commands.
    const routes = gateway.gateway.app.routes.filter(
      ({ path, method, hooks }) => isListed(path) && method !== 'GET' && declaredAccess(hooks)?.who !== 'console',
    )
    const known = new Set([...done, ...NOT_AUDITED, ...ELSEWHERE, 'POST /api/apps/:id/limit'])
    expect(routes.map(({ method, path }) => `${method} ${path}`).filter((route) => !known.has(route))).toEqual([])
  })

  test('GET /api/audit shows an owner their own entries, newest first, filtered and in pages', async () => {
    const list = (query = '') => read<Page>(owner.api(`/api/audit${query}`))
    const { entries } = await list('?limit=200')
    expect(entries.map(({ action }) => action)).toContain('account.limits')
    const change = entries.find(({ action }) => action === 'account.limits')
    expect(change).toMatchObject({ actor: 'operator', actor_id: null, ip: null, before: { custom_limits: null } })
    const only = async (query: string) => new Set((await list(query)).entries.map(({ action }) => action))
    expect(await only('?action=key.revoke')).toEqual(new Set(['key.revoke']))
    expect([...(await only('?action=webhook'))].every((action) => action.startsWith('webhook.'))).toBeTrue()
    for (const pattern of ['k%', 'key_', 'ke', "key' OR 1=1 --", '*'])
      expect(await only(`?action=${encodeURIComponent(pattern)}`)).toEqual(new Set())
    expect(await only('?actor=operator')).toContain('limits.declined')
    expect(await only('?actor=operator')).not.toContain('key.create')
    expect((await list('?from=2030-01-01T00:00:00Z')).entries).toEqual([])
    const paged: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: Page = await list(`?limit=3${cursor && `&cursor=${cursor}`}`)
      paged.push(...page.entries.map(({ id }) => id))
      cursor = page.next_cursor
    }
    expect(paged).toEqual(entries.map(({ id }) => id))
    for (const query of ['cursor=x', 'limit=0', 'limit=201', 'actor=god', 'from=yesterday', 'action='])
      expect((await refusalOf(owner.api(`/api/audit?${query}`))).status).toBe(400)
    const stranger = await gateway.owner('stranger@example.com')
    const theirs = await read<Page>(
      stranger.api(`/api/audit?cursor=${entries[0]?.id}&account=${entries[0]?.account_id}`),
    )
    expect(theirs.entries.filter(({ account_id: id }) => id === entries[0]?.account_id)).toEqual([])
  })

  test('the files have the same entries: CSV whose cells are no formulas, and JSON lines', async () => {
    await owner.api('/api/keys', { name: '=HYPERLINK("https://evil.example")', note: '@x' })
    const entries = (await read<Page>(owner.api('/api/audit?limit=200'))).entries
    const csv = await owner.api('/api/audit.csv')
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    const lines = (await csv.text()).trimEnd().split('\r\n')
    expect(lines).toHaveLength(entries.length + 1)
    expect(lines.filter((line) => /(^|,)"?[=+@-]/.test(line))).toEqual([])
    const json = (await (await owner.api('/api/audit.jsonl')).text()).trimEnd().split('\n')
    expect(json.map((line) => JSON.parse(line))).toEqual(entries as never)
    expect((await gateway.call('/api/audit.csv')).status).toBe(401)
  })

  test('an operator reads the whole gateway or one account, with who and from where', async () => {
    const list = (query: string) => read<Page>(operator.api(`/api/operator/audit${query}`))
    const { entries } = await list('?limit=200')
    expect(new Set(entries.map(({ account_id: id }) => id)).size).toBeGreaterThan(3)
    expect(entries.find(({ action }) => action === 'price.set')).toMatchObject({
      actor: 'operator',
      actor_email: 'root@example.com',
      ip: '127.0.0.1',
      account_id: null,
      before: { operation: 'image-search', amount_micros_usd: 10_000 },
      after: { operation: 'image-search', amount_micros_usd: 20_000 },
    })
    const { id } = await read<AccountBody>(owner.api('/api/account'))
    const one = await list(`?account=${id}&limit=200`)
    expect(new Set(one.entries.map((entry) => entry.account_id))).toEqual(new Set([id]))
    expect(
      (await (await operator.api(`/api/operator/audit.csv?account=${id}`)).text()).trimEnd().split('\r\n').length,
    ).toBe(one.entries.length + 1)
    expect((await operator.api('/api/operator/audit.jsonl?action=price')).status).toBe(200)
  })

  test('before and after hold no secret: no path of a webhook, no secret of a key, no password', async () => {
    const text = JSON.stringify(await auditRows(gateway))
    for (const secret of [
      'secret-path',
      'whsec_',
      'correct horse',
      decodeURIComponent(owner.cookie).split(/[=.]/).at(-2) ?? '?',
    ])
      expect(text).not.toContain(secret)
  })
})
