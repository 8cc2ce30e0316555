import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { AccountId } from '../../server/core/ids'
import type { OwnerSessions } from '../../server/http/middleware/caller/owner-session'
import { routeGroup } from '../../server/http/middleware/request-context'
import { UNDOCUMENTED } from '../../server/http/openapi/documented'
import { type ApiAccess, allowed, declaredAccess, type Id, signedIn } from '../../server/http/routing/api-access'
import { EndpointTable } from '../../server/http/routing/endpoint-table'
import { type Harness, openHarness } from '../support/harness'
import { type Owner, read } from './owner-bench'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

interface Declared {
  readonly method: string
  readonly path: string
  readonly access: ApiAccess
}

let gateway: Harness
let operator: Owner
let support: Owner
let owner: Owner
let routes: readonly Declared[]

beforeAll(async () => {
  // An address that browsers allow passkeys at.
  gateway = await openHarness({ env: { BASE_URL: 'https://gateway.example' } })
  operator = await gateway.owner('operator@example.com')
  support = await gateway.owner('support@example.com')
  owner = await gateway.owner('owner@example.com')
  const idOf = async (person: Owner) => (await read<{ id: AccountId }>(person.api('/api/account'))).id
  await gateway.core.operator.appoint({ kind: 'operator', id: 'test', address: null }, await idOf(operator))
  await read(operator.api(`/api/operator/accounts/${await idOf(support)}/role`, { role: 'support' }))
  routes = gateway.gateway.app.routes
    .filter(({ path }) => path.startsWith('/api/'))
    .map(({ method, path, hooks }) => {
      const access = declaredAccess(hooks)
      if (!access) throw new Error(`${method} ${path} declares no access`)
      return { method, path, access }
    })
})
afterAll(() => gateway.close())

/** The code of a refusal; null of any other answer. */
async function codeOf(
  { method: declared, path }: Declared,
  caller?: Owner,
  where = gateway,
  send: (request: Request) => Promise<Response> = (request) => where.gateway.app.handle(request),
): Promise<string | null> {
  const method = declared === 'ALL' ? 'GET' : declared
  const body = method === 'GET' ? {} : { headers: { 'content-type': 'application/json' }, body: '{}' }
  const target = path.replace(/:\w+/g, 'nothing')
  const headers = { ...body.headers, ...(caller && { cookie: caller.cookie }) }
  const answer = await send(new Request(`http://localhost:${where.config.port}${target}`, { ...body, method, headers }))
  if (answer.ok) {
    await answer.body?.cancel()
    return null
  }
  expect(answer.headers.get('www-authenticate'), `${method} ${path}`).toBeNull()
  return Object(Object(await answer.json()).error).code
}

const named = ({ method, path }: Declared) => `${method} ${path}`
const who = (...names: readonly ApiAccess['who'][]) => routes.filter(({ access }) => names.includes(access.who))
const asksForRecent = ({ method, access }: Declared) => access.asksForRecent(method)

/** The routes whose refusal of this caller has another code. */
async function notRefused(
  tried: readonly Declared[],
  code: string,
  caller?: Owner,
  where = gateway,
): Promise<string[]> {
  expect(tried).not.toBeEmpty()
  const others: string[] = []
  for (const route of tried) if ((await codeOf(route, caller, where)) !== code) others.push(named(route))
  return others
}

describe('a route below /api', () => {
  test.each(['/api/silent', '/api/*', '/api'])('that does not say who may call it fails the start: %s', (path) => {
    const { routes: mounted } = routeGroup({ name: 'silent' }).post(path, () => 'anybody', UNDOCUMENTED)
    expect(() => new EndpointTable().mount(mounted)).toThrow(`POST ${path} does not say who may call it`)
  })

  test('refuses before its handler runs, and before the body is read', async () => {
    let ran = 0
    const owners = { owner: () => Promise.reject(new Error('refused')) } as unknown as OwnerSessions
    const group = routeGroup({ name: 'refusing' })
      .onError(({ error }) => String(error))
      .post(
        '/api/some',
        ...allowed(signedIn(owners, 'member'), UNDOCUMENTED, () => {
          ran++
        }),
      )
    const request = new Request('http://localhost/api/some', { method: 'POST', body: '{}' })
    expect(await (await group.handle(request)).text()).toContain('refused')
    expect([ran, request.bodyUsed]).toEqual([0, false])
  })

  test('without the parameter that its handler takes does not compile', () => {
    const handler = allowed(signedIn({} as OwnerSessions, 'member'), UNDOCUMENTED, (_call, { id }: Id) => id)
    expect(routeGroup({ name: 'right' }).get('/api/some/:id', ...handler).routes).toHaveLength(1)
    // @ts-expect-error its path has no :id
    expect(routeGroup({ name: 'wrong' }).get('/api/some', ...handler).routes).toHaveLength(1)
  })
})

describe('the declared access is what happens', () => {
  test('without a session: missing_session, except on public routes', async () => {
    expect(await notRefused(who('owner', 'operator', 'staff'), 'missing_session')).toEqual([])
    expect(who('anybody').map(named).toSorted()).toEqual([
      'ALL /api/auth/*',
      'GET /api/identities/providers',
      'POST /api/auth/oauth2/revoke',
      'POST /api/invitations/read',
      'POST /api/settings/email/confirm',
      'POST /api/webhooks/stripe',
    ])
  })

  test('routes of operators refuse owners, and those for operators alone also support', async () => {
    expect(await notRefused(who('operator', 'staff'), 'insufficient_permissions', owner)).toEqual([])
    expect(await notRefused(who('operator'), 'insufficient_permissions', support)).toEqual([])
    expect(routes.filter(({ path }) => path.startsWith('/api/operator/'))).toEqual(who('operator', 'staff', 'console'))
    const views = ['adjustments', 'audit', 'keys', 'limits', 'payments', 'refunds', 'requests', 'requests/:request']
    const account = '/api/operator/accounts/:id'
    expect(who('staff').map(named).toSorted()).toEqual(
      [
        'GET /api/operator/accounts',
        ...['', ...[...views, 'transactions', 'usage'].map((view) => `/${view}`)].map(
          (view) => `GET ${account}${view}`,
        ),
        ...['end-sessions', 'keys/:key', 'lift', 'notes', 'suspend'].map((act) => `POST ${account}/${act}`),
      ].toSorted(),
    )
  })

  test('the control socket is an operator, signed in or not, and no owner; only it has routes of its own', async () => {
    const atConsole = (route: Declared) => codeOf(route, undefined, gateway, gateway.gateway.control)
    const refusals = ['missing_session', 'insufficient_permissions', 'unknown_endpoint', 'recent_sign_in_required']
    for (const route of who('operator', 'staff', 'console'))
      expect(refusals, named(route)).not.toContain((await atConsole(route)) ?? 'admitted')
    for (const route of who('owner')) expect(await atConsole(route), named(route)).toBe('missing_session')
    for (const caller of [undefined, owner, operator])
      expect(await notRefused(who('console'), 'unknown_endpoint', caller)).toEqual([])
    const subjects = new Set(who('console').map(({ path }) => path.replace('/api/operator/', '').split('/')[0]))
    expect([...subjects].toSorted()).toEqual([
      ...['accounts', 'archives', 'backups', 'catalog', 'models', 'payments', 'publication', 'webhooks'],
      'worker-credentials',
    ])
  })

  test('a suspended account: account_suspended', async () => {
    const suspended = await gateway.owner('suspended@example.com')
    const { id } = await read<{ id: string }>(suspended.api('/api/account'))
    await read(operator.api(`/api/operator/accounts/${id}/suspend`, { reason: 'a test' }))
    const refused = who('owner', 'operator', 'staff')
    expect(await notRefused(refused, 'account_suspended', suspended)).toEqual([])
  })

  test('without the second factor that everybody must have: second_factor_required, but to set up the first', async () => {
    const strict = await openHarness({
      env: { BASE_URL: 'https://gateway.example', REQUIRE_SECOND_FACTOR: 'all' },
    })
    // Operators read personal data of others.
    const asks = routes.filter(({ access }) => access.asksForSecondFactor)
    expect(who('operator', 'staff').filter((route) => !asks.includes(route))).toEqual([])
    expect(await notRefused(asks, 'second_factor_required', await strict.owner(), strict)).toEqual([
      'POST /api/auth/two-factor/enable',
      'POST /api/auth/passkey/verify-registration',
      'ALL /api/auth/passkey/generate-register-options',
    ])
    const atAnyAge = who('owner').filter((route) => asks.includes(route) && !asksForRecent(route))
    expect(atAnyAge.map(named).toSorted()).toEqual(['GET /api/settings/export', 'POST /api/auth/device/approve'])
    await strict.close()
  })

  test('after ten minutes: recent_sign_in_required for what cannot be undone and changes of the sign-in', async () => {
    const justNow = routes.filter(({ access }) => access.withinMs === 10 * MINUTE)
    gateway.clock.advance(10 * MINUTE + 1)
    expect(await notRefused(justNow.filter(asksForRecent), 'recent_sign_in_required', operator)).toEqual([])
    const account = '/api/operator/accounts/:id'
    expect(justNow.map(named).toSorted()).toEqual([
      'ALL /api/auth/passkey/generate-register-options',
      'POST /api/auth/change-password',
      'POST /api/auth/link-social',
      ...['delete-passkey', 'verify-registration'].map((act) => `POST /api/auth/passkey/${act}`),
      ...['disable', 'enable', 'generate-backup-codes'].map((act) => `POST /api/auth/two-factor/${act}`),
      'POST /api/identities/:id/unlink',
      'POST /api/members/:id/hand-over',
      ...['erase', 'password-reset', 'role', 'second-factor-reset'].map((act) => `POST ${account}/${act}`),
      'POST /api/operator/after-restore',
      ...['', '/:name/key'].map((path) => `POST /api/operator/model-vendors${path}`),
      ...['discard', 'retry'].map((act) => `POST /api/operator/stuck/:id/${act}`),
      ...['close', 'email'].map((act) => `POST /api/settings/${act}`),
    ])
  })

  test('after twelve hours: the same for new secrets and every write of operators and support', async () => {
    gateway.clock.advance(12 * HOUR)
    expect(await notRefused(routes.filter(asksForRecent), 'recent_sign_in_required', operator)).toEqual([])
    const writes = who('operator', 'staff').filter(({ method }) => method !== 'GET')
    expect(writes.filter((route) => !asksForRecent(route))).toEqual([])
    const today = who('owner').filter(({ access }) => access.withinMs === 12 * HOUR)
    expect(today.map(named).toSorted()).toEqual([
      'PATCH /api/members/:id',
      'POST /api/account/operator',
      'POST /api/invitations',
      'POST /api/keys',
      ...['revoke', 'rotate'].map((change) => `POST /api/keys/:id/${change}`),
      'POST /api/members/:id/remove',
      'POST /api/webhooks',
      'POST /api/webhooks/:id/rotate',
    ])
  })

  test('an old sign-in may still read everything, and write the rest', async () => {
    const rest = routes.filter((route) => route.access.who !== 'anybody' && !asksForRecent(route))
    // These end the session itself.
    const kept = rest.filter(({ path }) => !/\/(end(-others|-all)?|revoke(-other)?-sessions)$/.test(path))
    for (const route of kept) {
      const code = await codeOf(route, operator)
      for (const refusal of ['missing_session', 'recent_sign_in_required', 'insufficient_permissions'])
        expect(code, named(route)).not.toBe(refusal)
    }
  })
})
