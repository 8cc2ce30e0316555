import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { openIdentity } from '../../../server/adapters/identity/identity'
import { KeyRing } from '../../../server/adapters/sealing/key-ring'
import { readConfig } from '../../../server/config'
import { resealSessions } from '../../../server/jobs/social'
import { auditRows, closeReconciled } from '../../http/owner-bench'
import { oauthApp, type Tokens } from '../../support/agents/oauth'
import { type Harness, openHarness } from '../../support/harness'
import { linkKey } from '../../support/social/linked-key'
import { CHECKLIST } from './checklist'

const PASSWORD = 'correct horse battery'
const SECRET = 'a secret that only tests know, 32 bytes and more'

let gateway: Harness
let owner: Awaited<ReturnType<Harness['owner']>>
let tokens: Tokens
let key: { id: string; secret: string }
/** Everything that somebody was given, or sent, in the walk through all of it. */
const given: Record<string, string> = {}
beforeAll(async () => {
  gateway = await openHarness()
  owner = await gateway.owner()
  const app = oauthApp(gateway, owner)
  const got = await app.code()
  tokens = (await app.redeem(got, { resource: `${app.origin}/mcp` })).body as unknown as Tokens
  const confidential = await app.register({
    token_endpoint_auth_method: 'client_secret_basic',
    redirect_uris: ['https://a.example/cb'],
  })
  const made = (await (await owner.api('/api/keys', { name: 'a key' })).json()) as {
    key: { id: string }
    secret: string
  }
  key = { id: made.key.id, secret: made.secret }
  await linkKey(gateway, key.secret)
  const { link } = (await (
    await gateway.control(`/accounts/${(await (await owner.api('/api/account')).json()).id}/reset-link`, {})
  ).json()) as { link: string }
  await owner.api(`/api/keys/${key.id}/disable`, {})
  await owner.api('/api/apps/gateway-cli/limit', { spending_limit: 1 })
  await gateway.as(tokens.access_token, '/mcp', {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
  })
  await gateway.as(tokens.access_token.slice(0, -1), '/mcp', { method: 'POST' })
  Object.assign(given, {
    password: PASSWORD,
    'access token': tokens.access_token.slice('gwat_'.length),
    'refresh token': tokens.refresh_token.slice('gwrt_'.length),
    'authorization code': got.code,
    'code verifier': got.verifier,
    'client secret': String(confidential.body['client_secret']).slice('gwcs_'.length),
    'API key': key.secret,
    'reset token': /#token=([\w.-]+)/.exec(link)?.[1] ?? '',
    'session cookie': owner.cookie.slice(owner.cookie.indexOf('=') + 1),
  })
  for (const [what, secret] of Object.entries(given)) expect(secret.length, what).toBeGreaterThan(15)
})
afterAll(() => closeReconciled(gateway))

/** Every row of every table, as text. */
async function everythingStored(): Promise<string> {
  const { db } = gateway.core.stores
  const tables = await db.all<{ name: string }>(sql`SELECT name FROM sqlite_master WHERE type = 'table'`)
  const rows = await Promise.all(tables.map(({ name }) => db.all(sql.raw(`SELECT * FROM "${name}"`))))
  return JSON.stringify(rows)
}

describe(CHECKLIST.tokensAtRest, () => {
  test('no issued secret is in the database', async () => {
    const stored = await everythingStored()
    expect(stored).toContain(owner.email)
    for (const [what, secret] of Object.entries(given)) expect([what, stored.includes(secret)]).toEqual([what, false])
  })

  test('the session in the database is no use without SECRET_KEY: the cookie is signed', async () => {
    const [row] = await gateway.core.stores.db.all<{ token: string }>(sql`SELECT token FROM identity_session LIMIT 1`)
    const name = owner.cookie.slice(0, owner.cookie.indexOf('='))
    for (const cookie of [`${name}=${row?.token}`, `${name}=${row?.token}.${'A'.repeat(43)}%3D`])
      expect((await gateway.call('/api/account', { headers: { cookie } })).status).toBe(401)
    expect((await gateway.as(row?.token ?? '', '/v1/whoami')).status).toBe(401)
  })

  test('a device code lives ten minutes', async () => {
    const app = oauthApp(gateway, owner)
    const { body } = await app.form('/device/code', {
      client_id: 'gateway-cli',
      scope: 'data:read',
      resource: `${app.origin}/v1`,
    })
    expect(body['expires_in']).toBe(600)
  })
})

describe(CHECKLIST.linkedTokens, () => {
  const ring = () => ({ id: 'k1', bytes: new Uint8Array(randomBytes(32)) })

  test('a stored secret shows its version and key, and opens in no other row', async () => {
    const [session] = await gateway.core.stores.social.everySession()
    expect(session?.tokens.access).toMatch(/^v1\.[\w-]+\.[\w-]{16}\.[\w-]+$/)
    const sealing = new KeyRing(gateway.config.sealingKeys)
    const place = { table: 'social_sessions', row: session?.id ?? '', column: 'access_token' }
    expect(sealing.open(session?.tokens.access ?? '', place).text.length).toBeGreaterThan(10)
    for (const other of [
      { ...place, row: 'soc_other' },
      { ...place, column: 'refresh_token' },
    ])
      expect(() => sealing.open(session?.tokens.access ?? '', other)).toThrow()
    expect(() => new KeyRing([ring()]).open(session?.tokens.access ?? '', place)).toThrow()
  })

  test('after a key rotation everything is sealed with the new key, and the old one may be removed', async () => {
    const store = gateway.core.stores.social
    const before = await store.everySession()
    const newest = { ...ring(), id: 'k9' }
    const trouble: string[] = []
    const both = {
      store,
      sealing: new KeyRing([newest, ...gateway.config.sealingKeys]),
      onTrouble: (why: string) => trouble.push(why),
    }
    expect(await resealSessions(both)).toBe(before.length)
    expect(await resealSessions(both)).toBe(0)
    const [session] = await store.everySession()
    const place = { table: 'social_sessions', row: session?.id ?? '', column: 'refresh_token' }
    expect(new KeyRing([newest]).open(session?.tokens.refresh ?? '', place).stale).toBe(false)
    // A ring that lacks the key leaves the row as it is, and says so without a word of the token.
    expect(await resealSessions({ ...both, sealing: new KeyRing([{ ...ring(), id: 'k8' }, ring()]) })).toBe(0)
    expect(trouble).toHaveLength(before.length)
    expect(await store.everySession()).toEqual([session!])
  })
})

describe(CHECKLIST.secretsFromEnvironment, () => {
  const sealed = { SEALING_KEYS: `k1:${'A'.repeat(43)}=` }

  test('a short or missing secret stops the start, and is not echoed', () => {
    for (const SECRET_KEY of ['short', 'x'.repeat(31)]) {
      const refused = () => readConfig({ SECRET_KEY, DATA_DIR: '/nonexistent' }, {})
      expect(refused).toThrow('SECRET_KEY')
      expect(refused).not.toThrow(SECRET_KEY)
    }
  })

  test('production needs https except on this machine, and sealing keys of its own', async () => {
    expect(() => readConfig({ SECRET_KEY: SECRET, NODE_ENV: 'production' }, {})).toThrow('SEALING_KEYS')
    const { db } = gateway.core.stores
    const identity = (baseUrl: string) => () =>
      openIdentity({
        db,
        secret: SECRET,
        baseUrl,
        trustedOrigins: [],
        signUpPerMinute: 1,
        production: true,
        onSignUp: async () => undefined,
      })
    expect(identity('http://gateway.example')).toThrow('https')
    for (const url of ['https://gateway.example', 'http://127.0.0.1:3000']) expect(identity(url)).not.toThrow()
    expect(readConfig({ SECRET_KEY: SECRET, NODE_ENV: 'production', ...sealed }, {}).production).toBe(true)
  })

  test('behind https the cookie is sent only over https', async () => {
    const behind = await openHarness({ env: { BASE_URL: 'https://gateway.example' } })
    const answer = await behind.call('/api/auth/sign-up/email', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'Ada', email: 'ada@example.com', password: PASSWORD }),
    })
    expect(answer.headers.getSetCookie()[0]).toMatch(/^__Secure-.*; HttpOnly; Secure; SameSite=Lax/)
    await closeReconciled(behind)
  })
})

describe(CHECKLIST.logs, () => {
  test('no issued secret is in the log, nor how a request was authorized', () => {
    const log = gateway.logged.join('\n')
    for (const [what, secret] of Object.entries(given)) expect([what, log.includes(secret)]).toEqual([what, false])
    expect(log).not.toMatch(/authorization|set-cookie|oauth_query|Bearer /i)
  })

  test('the audit log has who created and stopped a key, approved an app, linked an account, and no secret', async () => {
    await owner.api('/api/apps/gateway-cli/disconnect', {})
    const rows = await auditRows(gateway)
    const actions = new Set(rows.map(({ action }) => action))
    for (const action of ['key.create', 'key.disable', 'connection.open', 'connection.end', 'social.linked'])
      expect([...actions]).toContain(action)
    for (const [what, secret] of Object.entries(given))
      expect([what, JSON.stringify(rows).includes(secret)]).toEqual([what, false])
  })
})

describe(CHECKLIST.leftovers, () => {
  test('there is no outbox, no switch that turns sign-in off, and no default secret', async () => {
    for (const path of ['/api/_test/outbox', '/api/auth/ok', '/api/auth/reference', '/_test/outbox'])
      expect([path, (await gateway.call(path)).status]).toEqual([path, 404])
    const root = join(import.meta.dir, '..', '..', '..', 'server')
    const sources = (await readdir(root, { recursive: true })).filter((name) => name.endsWith('.ts'))
    for (const name of sources) {
      const text = await readFile(join(root, name), 'utf8')
      expect([name, /_test\/|NO_AUTH\b|better-auth-secret|BETTER_AUTH_SECRET\W*\?\?/.test(text)]).toEqual([name, false])
    }
  })
})
