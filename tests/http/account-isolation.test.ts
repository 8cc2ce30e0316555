import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { declaredAccess } from '../../server/http/routing/api-access'
import { type Harness, openHarness } from '../support/harness'
import { auditRows, closeReconciled, IMAGES, keyBench, type MadeKey, type Owner, read } from './owner-bench'

/**
 * Every route of `/api`, taken from the app itself, so that a new one cannot be forgotten: a new path with an id must be given
 * an id of a stranger here.
 */

let gateway: Harness
let victim: Owner
let thief: Owner
let made: MadeKey
let secrets: string[]
/** An app that the victim lets in. Its id is public: a stranger may name it, and reaches only its own access with it. */
const APP = 'an-app'
/** The name of an API that an operator sells: public, like every name in the catalog. */
const API = 'weather'
/** Ids of the victim, by the route that takes them. */
let ids: Record<string, string>
let victimUser: string

/** Card processors and apps call these: without a session, and what they send is judged instead. */
const OF_MACHINES: ReadonlySet<string> = new Set(['/api/webhooks/stripe', '/api/auth/oauth2/revoke'])
const isRoute = (path: string) => path.startsWith('/api/') && !path.includes('*') && !OF_MACHINES.has(path)
/** Those of the console exist for nobody over the network: `api-access.test.ts`. */
const routes = () =>
  gateway.gateway.app.routes.filter(({ path, hooks }) => isRoute(path) && declaredAccess(hooks)?.who !== 'console')

beforeAll(async () => {
  // A provider opens the endpoints of sign-in by one.
  const provider = { SIGN_IN_GITHUB_CLIENT_ID: 'a-client', SIGN_IN_GITHUB_CLIENT_SECRET: 'a-secret' }
  gateway = await openHarness({ env: provider })
  await gateway.owner('operator@example.com')
  victim = await gateway.owner('victim@example.com')
  thief = await gateway.owner('thief@example.com')
  made = await keyBench(victim).create({ name: 'the name of the key' })
  const called = await gateway.as(made.secret, IMAGES)
  expect(called.status).toBe(200)
  const wish = { peak_rpm: 999, peak_tpm: 1, endpoints: ['image-search'], use_case: 'The private plans of the victim.' }
  const { request } = await read<{ request: { id: string } }>(victim.api('/api/limit-requests', wish), 201)
  const { id } = await read<{ id: string }>(victim.api('/api/account'))
  const account = await gateway.core.accounts.byId(id as `acct_${string}`)
  if (!account) throw new Error('no account')
  victimUser = account.userId
  await gateway.core.appGrants.of({ ...account, clientId: APP }, '127.0.0.1')
  const { sessions } = await read<{ sessions: { id: string }[] }>(victim.api('/api/settings/sessions'))
  const { webhook } = await read<{ webhook: { id: string } }>(
    victim.api('/api/webhooks', { url: 'https://victim.example/hook' }),
    201,
  )
  ids = {
    '/api/keys/': made.key.id,
    '/api/requests/': called.headers.get('x-gateway-request-id') ?? '',
    '/api/social/': made.key.id,
    '/api/apps/': APP,
    '/api/webhooks/': webhook.id,
    '/api/workspaces/': id,
    '/api/members/': id,
    '/api/identities/': 'an identity of the victim',
    '/api/invitations/': 'an invitation of the victim',
    '/api/settings/sessions/': sessions[0]?.id ?? '',
    '/api/operator/accounts/': id,
    '/api/operator/limit-requests/': request.id,
    '/api/operator/apis/': API,
    '/api/operator/stuck/': 'stuck_of_the_victim',
    '/api/operator/models/': API,
    '/api/operator/model-vendors/': API,
  }
  secrets = [
    ...Object.values(ids).filter((one) => one !== APP && one !== API),
    'victim@example.com',
    made.key.name,
    made.key.last4,
    wish.use_case,
  ]
})
afterAll(() => closeReconciled(gateway))

/** The path with the victim's id in it; null for a path that takes none. */
function aimed(path: string): string | null {
  if (!path.includes('/:')) return null
  const [, id] = Object.entries(ids).find(([start]) => path.startsWith(start)) ?? []
  if (id === undefined) throw new Error(`${path} takes an id: say which of the victim's it is to be tried with`)
  return path.replace(/:\w+/, id)
}

const BODIES: Readonly<Record<string, object>> = {
  'POST confirm': { code: '7K2M9QXA' },
  'PATCH members': { role: 'viewer' },
  'PUT members': { budgets: [] },
  'POST give': { to: null },
}
const bodyOf = (method: string, path: string) => {
  const named = path.split('/').flatMap((part) => BODIES[`${method} ${part}`] ?? [])
  return method === 'GET' ? {} : { body: JSON.stringify(named[0] ?? {}) }
}
const send = (method: string, path: string, headers: Record<string, string>) =>
  gateway.call(path, { method, headers: { 'content-type': 'application/json', ...headers }, ...bodyOf(method, path) })

describe('one account never sees another (spec D3)', () => {
  test("every route with an id answers 404 to another account's session, or 403 to one that is not an operator, and reveals nothing", async () => {
    const ofVictim = async () =>
      (await auditRows(gateway)).filter((row) => row.account_id === ids['/api/operator/accounts/'])
    const before = await ofVictim()
    let tried = 0
    for (const { method, path } of routes()) {
      const target = aimed(path)
      if (target === null) continue
      const answer = await send(method, target, { cookie: thief.cookie })
      const text = await answer.text()
      const where = `${method} ${path}: ${text}`
      if (!path.startsWith('/api/apps/'))
        expect(answer.status, where).toBe(path.startsWith('/api/operator/') ? 403 : 404)
      for (const secret of secrets)
        if (!target.includes(secret)) expect(text, `${method} ${path}`).not.toContain(secret)
      tried++
    }
    expect(tried).toBeGreaterThanOrEqual(10)
    expect(await ofVictim()).toEqual(before)
    const app = await gateway.core.apps.live(victimUser, APP)
    expect(app?.disconnectedAt).toBeNull()
    expect((await keyBench(victim).get(made.key.id)).status).toBe('active')
    expect((await victim.api('/api/account')).status).toBe(200)
  })

  test('every route without an id shows another account nothing', async () => {
    for (const { method, path } of routes()) {
      if (path.includes('/:') || method !== 'GET' || path === '/api/events') continue
      const text = await (await send('GET', path, { cookie: thief.cookie })).text()
      for (const secret of secrets) expect(text, path).not.toContain(secret)
    }
  })
})

describe('writes from another site', () => {
  test.each([
    ['a foreign Origin', { origin: 'https://evil.example' }],
    ['a null Origin', { origin: 'null' }],
    ['Sec-Fetch-Site: cross-site', { 'sec-fetch-site': 'cross-site' }],
    ['Sec-Fetch-Site: same-site', { 'sec-fetch-site': 'same-site' }],
  ])('with %s are refused on every route, before any other check', async (_what, headers) => {
    const before = await auditRows(gateway)
    let tried = 0
    for (const { method, path } of routes()) {
      if (method === 'GET') continue
      const answer = await send(method, aimed(path) ?? path, { cookie: victim.cookie, ...headers })
      expect(answer.status, `${method} ${path}`).toBe(403)
      expect(await answer.text()).toContain('foreign_origin')
      tried++
    }
    expect(tried).toBeGreaterThanOrEqual(15)
    expect(await auditRows(gateway)).toEqual(before)
  })

  test('that are not JSON are refused on every route that reads a body', async () => {
    for (const { method, path } of routes()) {
      const takesNone =
        /\/(disable|enable|revoke|end|end-others|end-all|disconnect|show|hand-over|unlink)$/.test(path) ||
        (path.startsWith('/api/webhooks/:id/') && !path.endsWith('/confirm'))
      if (method === 'GET' || method === 'DELETE' || path === '/api/try' || takesNone) continue
      const answer = await gateway.call(aimed(path) ?? path, {
        method,
        headers: { cookie: victim.cookie, 'content-type': 'text/plain' },
        body: '{"name":"x"}',
      })
      const text = await answer.text()
      expect([403, 415], `${method} ${path} ${answer.status} ${text}`).toContain(answer.status)
    }
  })
})
