import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { KEY_DEFAULTS } from '../../../server/core/credentials/api-key'
import type { SessionList, SettingsRecord } from '../../../server/http/account/settings-record'
import { eventSource } from '../../support/agents/event-source'
import { type Harness, openHarness } from '../../support/harness'
import { linkKey } from '../../support/social/linked-key'
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

const PASSWORD = 'correct horse battery'
const NONE = { app: false, recovery_codes: 0, passkeys: 0, passkeys_offered: false, required: false }

let gateway: Harness
let operator: Owner
beforeAll(async () => {
  gateway = await openHarness()
  operator = await gateway.owner()
})
afterAll(() => closeReconciled(gateway))

const settings = (who: Owner) => read<SettingsRecord>(who.api('/api/settings'))
const change = (who: Owner, body: unknown) => who.api('/api/settings', body, 'PATCH')
const sessions = async (who: Owner) => (await read<SessionList>(who.api('/api/settings/sessions'))).sessions
const accountOf = (who: Owner) => read<AccountBody>(who.api('/api/account'))
/** A second session of the same person. */
async function again(who: Owner): Promise<Owner> {
  const answer = await gateway.call('/api/auth/sign-in/email', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': 'Second/1.0' },
    body: JSON.stringify({ email: who.email, password: PASSWORD }),
  })
  const cookie = (answer.headers.getSetCookie()[0] ?? '').split(';')[0] ?? ''
  const api: Owner['api'] = (path, body, method = body === undefined ? 'GET' : 'POST') =>
    gateway.call(path, {
      method,
      headers: { cookie, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  return { ...who, cookie, api }
}

describe('settings', () => {
  test('are the name, the address, the workspace and the time zone; a change is stored and audited', async () => {
    const owner = await gateway.owner()
    const { id } = await accountOf(owner)
    const first = {
      name: 'Ada',
      email: owner.email,
      workspace_id: id,
      timezone: null,
      saved_views: [],
      alerts: [],
      second_factor: NONE,
      has_password: true,
      sends_mail: false,
    }
    expect(await settings(owner)).toEqual(first)
    const changed = { ...first, name: 'Ada Lovelace', timezone: 'Asia/Kathmandu' }
    expect(await read<unknown>(change(owner, { name: '  Ada Lovelace ', timezone: 'Asia/Kathmandu' }))).toEqual(changed)
    expect(await read<unknown>(change(owner, { name: 'Countess' }))).toEqual({ ...changed, name: 'Countess' })
    expect(await settings(owner)).toMatchObject({ name: 'Countess', timezone: 'Asia/Kathmandu' })
    expect(await read<unknown>(change(owner, { timezone: null }))).toMatchObject({ name: 'Countess', timezone: null })
    // The form sends both: only what differs is a change.
    await read(change(owner, { name: 'Countess', timezone: 'UTC', saved_views: [] }))
    await read(change(owner, { name: ' Countess ', timezone: 'UTC' }))
    const rows = (await auditRows(gateway)).filter((row) => row.action === 'account.settings')
    expect(rows.map((row) => JSON.parse(row.detail) as unknown)).toEqual([
      { changed: ['name', 'timezone'], timezone: 'Asia/Kathmandu' },
      { changed: ['name'] },
      { changed: ['timezone'], timezone: null },
      { changed: ['timezone'], timezone: 'UTC' },
    ])
    expect(rows.map((row) => row.before)).toEqual([
      '{"timezone":null}',
      null,
      '{"timezone":"Asia/Kathmandu"}',
      '{"timezone":null}',
    ])
  })

  test('keep the views that an owner saved, in the order sent; other changes leave them', async () => {
    const owner = await gateway.owner()
    const view = { name: 'Failures of production', page: 'usage', query: 'tag=production&status=502' }
    const views = [view, { ...view, name: 'Search keys', page: 'keys', query: 'q=search' }]
    expect(await read<unknown>(change(owner, { saved_views: views }))).toMatchObject({ saved_views: views })
    await read(change(owner, { timezone: 'UTC' }))
    expect(await settings(owner)).toMatchObject({ saved_views: views, timezone: 'UTC' })
    expect(await settings(await gateway.owner())).toMatchObject({ saved_views: [] })
    for (const wrong of [
      { ...view, page: 'operator' },
      { ...view, name: '' },
      { ...view, more: 1 },
    ])
      expect(await refusalOf(change(owner, { saved_views: [wrong] }))).toMatchObject({
        status: 400,
        param: 'saved_views',
      })
    expect((await change(owner, { saved_views: Array.from({ length: 31 }, () => view) })).status).toBe(400)
    expect(await settings(owner)).toMatchObject({ saved_views: views })
  })

  test('changed at the same moment by two browsers are both changed', async () => {
    const owner = await gateway.owner()
    const view = { name: ' Failures ', page: 'usage', query: 'status=502' }
    const answers = await Promise.all([change(owner, { timezone: 'UTC' }), change(owner, { saved_views: [view] })])
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(await settings(owner)).toMatchObject({ timezone: 'UTC', saved_views: [{ ...view, name: 'Failures' }] })
  })

  test.each([
    [{ name: ' ' }, ['name']],
    [{ name: 'x'.repeat(201) }, ['name']],
    [{ name: 'a\nb' }, ['name']],
    [{ name: 'Ada\x1b[2J' }, ['name']],
    [{ name: 'Ada\u202E\u200b' }, ['name']],
    [{ timezone: 'Mars/Phobos' }, ['timezone']],
    [{ email: 'x@example.com', name: 7, timezone: 7 }, ['name', 'timezone', 'email']],
  ])('%j is refused by name', async (body, params) => {
    const refusal = await refusalOf(change(operator, body))
    expect(refusal).toMatchObject({ status: 400, code: 'invalid_parameter' })
    expect(refusal.details?.map(({ param }) => param)).toEqual(params)
  })
})

describe('sessions', () => {
  test('are listed, the current one marked, without a token; one is ended, and then all others', async () => {
    const owner = await gateway.owner()
    const [second, third] = [await again(owner), await again(owner)]
    const listed = await sessions(owner)
    expect(listed).toHaveLength(3)
    expect(listed.filter(({ current }) => current)).toHaveLength(1)
    expect(listed.find(({ user_agent }) => user_agent === 'Second/1.0')).toMatchObject({ ip: '127.0.0.1' })
    const token = decodeURIComponent(second.cookie).split(/[=.]/).at(-2) ?? '?'
    expect(JSON.stringify(listed)).not.toContain(token)
    const other = (await sessions(second)).find(({ current }) => current)
    const stream = eventSource(await gateway.call('/api/events', { headers: { cookie: second.cookie } }))
    await stream.nextOf('ping')
    await read(owner.api(`/api/settings/sessions/${other?.id}/end`, {}))
    expect(await stream.rest()).toEqual([])
    expect((await second.api('/api/account')).status).toBe(401)
    expect((await third.api('/api/account')).status).toBe(200)
    expect(await read<unknown>(owner.api('/api/settings/sessions/end-others', {}))).toEqual({
      ended: 1,
      apps_disconnected: 0,
    })
    expect((await third.api('/api/account')).status).toBe(401)
    expect(await sessions(owner)).toHaveLength(1)
  })

  test("of another account are not found, and are not ended with one's own others", async () => {
    const [owner, other] = [await gateway.owner(), await gateway.owner()]
    const [theirs] = await sessions(other)
    expect(await refusalOf(owner.api(`/api/settings/sessions/${theirs?.id}/end`, {}))).toMatchObject({ status: 404 })
    expect(await read<unknown>(owner.api('/api/settings/sessions/end-others', {}))).toEqual({
      ended: 0,
      apps_disconnected: 0,
    })
    expect((await other.api('/api/account')).status).toBe(200)
  })
})

describe('the export', () => {
  test('contains everything of the owner and nothing of others, no secret, as one JSON object', async () => {
    const [owner, other] = [await gateway.owner(), await gateway.owner()]
    const { key, secret } = await keyBench(owner).create({ spending_limit: 1 })
    const strange = await keyBench(other).create()
    const { webhook, secret: signing } = await read<{ webhook: { id: string }; secret: string }>(
      owner.api('/api/webhooks', { url: 'https://203.0.113.7/hook' }),
      201,
    )
    for (let i = 0; i < 3; i++) await callWith(gateway, secret)
    await callWith(gateway, strange.secret)
    await gateway.core.stores.journal.drained()
    const answer = await owner.api('/api/settings/export')
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="gateway-account.json"')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const text = await answer.text()
    const body = JSON.parse(text) as Record<string, { id: string }[]>
    expect(Object.keys(body)).toEqual([
      ...['exported_at', 'account', 'keys', 'sessions', 'apps', 'webhooks', 'notice_mails', 'social_accounts'],
      ...['limit_requests', 'archives', 'changes', 'transactions', 'requests'],
    ])
    expect(body['sessions']).toMatchObject([{ ip: '127.0.0.1', second_factor: false }])
    expect(body['webhooks']).toMatchObject([{ id: webhook.id, url: 'https://203.0.113.7/hook' }])
    expect(body['notice_mails']).toMatchObject({ weekly_summary: expect.any(Boolean) as unknown })
    expect(text).not.toContain(signing.slice(6))
    await read(owner.api(`/api/webhooks/${webhook.id}`, undefined, 'DELETE'))
    expect(body['account']).toMatchObject({ email: owner.email, timezone: null })
    expect(body['keys']?.map(({ id }) => id)).toEqual([key.id])
    expect(body['requests']).toHaveLength(3)
    expect(body['transactions']).toHaveLength(4)
    expect(text).not.toContain(secret.slice(4))
    expect(text).not.toContain(strange.key.id)
    expect(text).not.toContain(other.email)
  })

  test('is read page by page, even if it is long', async () => {
    const owner = await gateway.owner()
    const { key } = await keyBench(owner).create()
    for (let i = 0; i < 205; i++) {
      await keyBench(owner).change(key.id, { name: `name ${i}` })
      gateway.clock.advance(60_000)
    }
    const body = await read<{ changes: { id: string }[] }>(owner.api('/api/settings/export'))
    expect(new Set(body.changes.map(({ id }) => id)).size).toBe(207)
  })
})

describe('closing the account', () => {
  const close = (who: Owner, email: unknown = who.email) => who.api('/api/settings/close', { email })

  test('revokes the keys, ends the sessions, deletes the identity, keeps the ledger, and names what is forfeited', async () => {
    const owner = await gateway.owner()
    const { id } = await accountOf(owner)
    await read(owner.api('/api/webhooks', { url: 'https://203.0.113.7/hook' }), 201)
    const { secret } = await keyBench(owner).create()
    await callWith(gateway, secret)
    const stream = eventSource(await gateway.call('/api/events', { headers: { cookie: owner.cookie } }))
    await stream.nextOf('ping')
    expect(await read<unknown>(close(owner, ` ${owner.email.toUpperCase()} `))).toEqual({
      forfeited_micros_usd: 1_995_000,
    })
    expect((await stream.rest()).every(({ event }) => event === 'key')).toBe(true)
    expect(await callWith(gateway, secret)).toBe('401 invalid_api_key')
    expect((await owner.api('/api/account')).status).toBe(401)
    const signIn = await gateway.call('/api/auth/sign-in/email', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: owner.email, password: PASSWORD }),
    })
    expect(signIn.status).toBe(401)
    const { db } = gateway.core.stores
    expect(await db.all(`SELECT address FROM requests WHERE account_id = '${id}' AND address <> ''`)).toEqual([])
    expect(await db.all(`SELECT count(*) AS n FROM requests WHERE account_id = '${id}'`)).toEqual([{ n: 1 }])
    expect(await db.all(`SELECT count(*) AS n FROM entries WHERE account_id = '${id}'`)).toEqual([{ n: 2 }])
    // Dispatched while the account was closed.
    await db.run(`INSERT INTO webhook_deliveries (id, webhook_id, event_id, type, body, state, created_at, next_at, expires_at)
      VALUES ('dlv_1', 'hook_gone', 'evt_1', 'key.revoked', '{}', 'pending', 1, 1, 9e12)`)
    gateway.clock.advance(60_000)
    await gateway.gateway.delivering.run()
    for (const table of ['events', 'webhooks', 'notice_mails'])
      expect(await db.all(`SELECT * FROM ${table} WHERE account_id = '${id}'`)).toEqual([])
    expect(await db.all('SELECT * FROM webhook_deliveries')).toEqual([])
    const mine = (await auditRows(gateway)).filter((row) => row.account_id === id)
    expect(mine.every((row) => row.address === null)).toBe(true)
    const marks = mine.filter(({ action }) => action === 'account.close')
    expect(marks.map(({ detail }) => detail)).toEqual(['{"forfeited_micros_usd":1995000}'])
    const everything = JSON.stringify([
      ...(await db.all('SELECT * FROM identity_user')),
      ...(await db.all('SELECT * FROM identity_account')),
    ])
    expect(everything).not.toContain(owner.email)
    const line = await read<{ account: { email: string } }>(operator.api(`/api/operator/accounts/${id}`))
    expect(line.account.email).toBe(`${id}@deleted.invalid`)
  })

  test('ends the access of apps, and unlinks the social accounts of its keys', async () => {
    const owner = await gateway.owner()
    const { key, secret } = await keyBench(owner).create()
    await linkKey(gateway, secret)
    const { core } = gateway
    const pool = (await core.credentials.byId(key.id as `key_${string}`))?.poolId ?? 'pool_'
    const account = await core.accounts.byId((await accountOf(owner)).id as `acct_${string}`)
    if (!account) throw new Error('no account')
    await core.appGrants.of({ ...account, clientId: 'an-app' }, '127.0.0.1')
    expect(await core.stores.social.session(pool)).not.toBeNull()
    await read(close(owner))
    expect(await core.stores.social.session(pool)).toBeNull()
    expect(await core.apps.live(account.id, 'an-app')).toBeNull()
    const actions = (await auditRows(gateway)).filter((row) => row.account_id === account.id).map((row) => row.action)
    expect(actions.slice(-5)).toEqual(['account.close', 'connection.end', 'social.unlink', 'key.revoke', 'key.erase'])
  })

  test('erases every setting of its keys, also of one that is named by its own id', async () => {
    const owner = await gateway.owner()
    const settings = { note: 'Ada, +44 20', tags: ['ada'], allowed_ips: ['192.0.2.7'], rpm_limit: 7 }
    const { key } = await keyBench(owner).create(settings)
    await read(owner.api(`/api/keys/${key.id}`, { name: key.id }, 'PATCH'))
    await read(close(owner))
    const { core } = gateway
    expect(await core.credentials.byId(key.id as `key_${string}`)).toMatchObject({ ...KEY_DEFAULTS, name: key.id })
    expect(JSON.stringify(await core.stores.db.all(`SELECT * FROM keys WHERE id = '${key.id}'`))).not.toMatch(
      // The ids and hashes of the row have random hexadecimal digits.
      /Ada|"ada|192\.0/,
    )
  })

  test('lets the same address sign up again, as a new account', async () => {
    const owner = await gateway.owner()
    const { id } = await accountOf(owner)
    await read(close(owner))
    const fresh = await gateway.owner(owner.email)
    expect((await accountOf(fresh)).id).not.toBe(id)
    expect((await keyBench(fresh).list()).keys).toEqual([])
  })

  test('requires the address repeated and a sign-in of the last ten minutes', async () => {
    const owner = await gateway.owner()
    for (const email of ['', 'yes', null, operator.email])
      expect(await refusalOf(close(owner, email))).toMatchObject({ status: 400, code: 'invalid_parameter' })
    gateway.clock.advance(600_001)
    expect(await refusalOf(close(owner))).toMatchObject({ status: 401, code: 'recent_sign_in_required' })
    expect((await owner.api('/api/account')).status).toBe(200)
  })

  test('and changing the address accept one member, and name any other', async () => {
    const owner = await gateway.owner()
    const extra = { email: owner.email, sure: true }
    for (const path of ['/api/settings/close', '/api/settings/email'])
      expect(await refusalOf(owner.api(path, extra))).toMatchObject({ code: 'invalid_parameter', param: 'sure' })
    expect(await refusalOf(owner.api('/api/settings/email', {}))).toMatchObject({ code: 'missing_parameter' })
    expect((await owner.api('/api/account')).status).toBe(200)
  })

  test('is refused for the only operator', async () => {
    const fresh = await again(operator)
    expect(await refusalOf(close(fresh))).toMatchObject({ status: 409, code: 'invalid_state' })
    expect((await fresh.api('/api/account')).status).toBe(200)
  })
})
