import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { safeRedirect } from '../../../dashboard/src/safe-redirect'
import { closeReconciled } from '../../http/owner-bench'
import { oauthApp } from '../../support/agents/oauth'
import { type Harness, openHarness } from '../../support/harness'
import { CHECKLIST } from './checklist'

const PASSWORD = 'correct horse battery'
const JSON_TYPE = { 'content-type': 'application/json' }

let gateway: Harness
beforeAll(async () => {
  gateway = await openHarness({ env: { TRUSTED_PROXIES: '127.0.0.1' } })
})
afterAll(() => closeReconciled(gateway))

const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  gateway.call(path, { method: 'POST', headers: { ...JSON_TYPE, ...headers }, body: JSON.stringify(body) })
const cookieOf = (answer: Response) => (answer.headers.getSetCookie()[0] ?? '').split(';')[0] ?? ''
const codeOf = async (answer: Response) => ((await answer.json()) as { error: { code: string } }).error.code

describe(CHECKLIST.fixation, () => {
  test('a planted cookie is not adopted', async () => {
    const [attacker, owner] = [await gateway.owner(), await gateway.owner()]
    const answer = await post(
      '/api/auth/sign-in/email',
      { email: owner.email, password: PASSWORD },
      { cookie: attacker.cookie },
    )
    expect(answer.status).toBe(200)
    const made = cookieOf(answer)
    expect([attacker.cookie, owner.cookie]).not.toContain(made)
    const whose = async (cookie: string) =>
      ((await (await gateway.call('/api/account', { headers: { cookie } })).json()) as { email?: string }).email
    expect(await whose(made)).toBe(owner.email)
    expect(await whose(attacker.cookie)).not.toBe(owner.email)
  })

  test('a password change ends every other session', async () => {
    const owner = await gateway.owner()
    const other = cookieOf(await post('/api/auth/sign-in/email', { email: owner.email, password: PASSWORD }))
    const change = { currentPassword: PASSWORD, newPassword: 'another horse battery' }
    expect((await owner.api('/api/auth/change-password', change)).status).toBe(200)
    for (const cookie of [owner.cookie, other])
      expect((await gateway.call('/api/account', { headers: { cookie } })).status).toBe(401)
  })

  test('ten minutes after a sign-in, password, address and account deletion need another; a day after it, keys do', async () => {
    const owner = await gateway.owner()
    const refused = async (path: string, body: unknown) => {
      const answer = await owner.api(path, body)
      return [path, answer.status, await codeOf(answer)]
    }
    gateway.clock.advance(600_001)
    for (const [path, body] of [
      ['/api/auth/change-password', { currentPassword: PASSWORD, newPassword: 'another horse battery' }],
      ['/api/settings/email', { email: 'moved@example.com' }],
      ['/api/settings/close', { email: owner.email }],
    ] as const)
      expect(await refused(path, body)).toEqual([path, 401, 'recent_sign_in_required'])
    gateway.clock.advance(86_400_000)
    expect(await refused('/api/keys', { name: 'late' })).toEqual(['/api/keys', 401, 'recent_sign_in_required'])
  })
})

describe(CHECKLIST.openRedirects, () => {
  test.each([
    ['another host', 'https://evil.example/'],
    ['a host without a scheme', '//evil.example'],
    ['a backslash for a slash', '/\\evil.example'],
    ['a backslash further on', '/a\\..\\\\evil.example'],
    ['a tab that browsers drop', '/\t/evil.example'],
    ['a line break that browsers drop', '/\n/evil.example'],
    ['a script', 'javascript:alert(1)'],
    ['no path', 'evil.example'],
    ['no text', ['/keys']],
  ])('after a sign-in %s is not redirected to', (_, to) => {
    expect(safeRedirect(to)).toBeUndefined()
  })

  test('after a sign-in our own page is', () => {
    for (const to of ['/', '/keys?status=revoked', '/usage#log', '/device?user_code=ABCD1234'])
      expect(safeRedirect(to)).toBe(to)
  })

  test('the library accepts no foreign return address, in any of its fields', async () => {
    const owner = await gateway.owner()
    for (const field of ['callbackURL', 'redirectTo', 'errorCallbackURL', 'newUserCallbackURL']) {
      const body = { email: owner.email, password: PASSWORD, [field]: 'https://evil.example/' }
      expect([field, (await post('/api/auth/sign-in/email', body)).status]).toEqual([field, 403])
    }
  })

  test('an app’s invalid request ends on our page, never at the address it named', async () => {
    const app = oauthApp(gateway, await gateway.owner())
    for (const more of [{ client_id: 'nobody' }, { redirect_uri: 'https://evil.example/cb' }]) {
      const { location } = await app.visit(app.authorizeUrl(more).url)
      expect([location?.origin, location?.pathname]).toEqual([app.origin, '/consent'])
    }
  })
})

describe(CHECKLIST.csrf, () => {
  const foreign = [
    ['another origin', { origin: 'https://evil.example' }],
    ['no origin at all (null)', { origin: 'null' }],
    ['our name at another port', { origin: 'http://127.0.0.1:9' }],
    ['another site, as the browser says', { 'sec-fetch-site': 'cross-site' }],
  ] as const

  test.each(foreign)('from %s no app can be approved or ended, and no key or limit changed', async (_, headers) => {
    const owner = await gateway.owner()
    const app = oauthApp(gateway, owner)
    const { location } = await app.visit(app.authorizeUrl().url)
    const device = await app.form('/device/code', {
      client_id: 'gateway-cli',
      scope: 'data:read',
      resource: `${app.origin}/v1`,
    })
    const userCode = String(device.body['user_code'])
    await owner.api(`/api/auth/device?user_code=${userCode}`)
    const writes: readonly (readonly [string, unknown])[] = [
      ['/api/auth/oauth2/consent', { accept: true, oauth_query: location?.search.slice(1) }],
      ['/api/auth/device/approve', { userCode }],
      ['/api/auth/device/deny', { userCode }],
      ['/api/auth/revoke-sessions', {}],
      ['/api/auth/sign-out', {}],
      ['/api/apps/gateway-cli/limit', { spending_limit: null }],
      ['/api/apps/gateway-cli/disconnect', {}],
      ['/api/apps/disconnect', {}],
      ['/api/settings/sessions/end-others', {}],
      ['/api/keys', { name: 'stolen' }],
    ]
    for (const [path, body] of writes)
      expect([path, (await owner.api(path, body, 'POST', headers)).status]).toEqual([path, 403])
    expect((await owner.api('/api/account')).status).toBe(200)
    const pending = await app.form('/oauth2/token', {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      client_id: 'gateway-cli',
      device_code: String(device.body['device_code']),
    })
    expect(pending.body.error).toBe('authorization_pending')
  })

  test('a form of another page cannot send JSON, and the cookie is not sent with it', async () => {
    const owner = await gateway.owner()
    for (const path of ['/api/auth/oauth2/consent', '/api/auth/device/approve', '/api/keys'])
      for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=x']) {
        const answer = await gateway.call(path, {
          method: 'POST',
          headers: { cookie: owner.cookie, 'content-type': type, origin: gateway.config.baseUrl },
          body: 'a=b',
        })
        expect([path, type, answer.status]).toEqual([path, type, 415])
      }
    const again = await post('/api/auth/sign-in/email', { email: owner.email, password: PASSWORD })
    expect(again.headers.getSetCookie()[0]).toContain('SameSite=Lax')
    expect(again.headers.getSetCookie()[0]).toContain('HttpOnly')
  })
})

type Sent = (call: number) => RequestInit & { readonly headers: Record<string, string> }

describe(CHECKLIST.rateLimits, () => {
  let address = 0
  /** Calls until it is refused, at most 70 times: how many were not, and what the refusal said. */
  async function flood(path: string, sent: Sent, headers: (call: number) => Record<string, string>) {
    for (let call = 0; call < 70; call++) {
      const init = sent(call)
      const answer = await gateway.call(path, {
        method: 'POST',
        ...init,
        headers: { ...init.headers, ...headers(call) },
      })
      if (answer.status === 429) return { taken: call, wait: Number(answer.headers.get('retry-after')) }
    }
    return { taken: 70, wait: Number.NaN }
  }
  const form = (fields: Record<string, string>) => ({
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  })
  const json = (body: unknown) => ({ headers: JSON_TYPE, body: JSON.stringify(body) })
  const DOORS: readonly (readonly [string, Sent, number])[] = [
    // Each for an account of its own: one account's failures have a wait of their own.
    [
      '/api/auth/sign-in/email',
      (call) => json({ email: `nobody-${call}@example.com`, password: 'wrong wrong wrong' }),
      10,
    ],
    ['/api/auth/reset-password', () => json({ token: 'x', newPassword: 'another horse battery' }), 10],
    [
      '/api/auth/oauth2/register',
      () => json({ client_name: 'x', redirect_uris: ['http://127.0.0.1/cb'], token_endpoint_auth_method: 'none' }),
      5,
    ],
    [
      '/api/auth/oauth2/token',
      () => form({ grant_type: 'refresh_token', client_id: 'gateway-cli', refresh_token: 'gwrt_x' }),
      60,
    ],
    ['/api/auth/device/code', () => form({ client_id: 'gateway-cli', scope: 'data:read' }), 10],
  ]

  test.each(DOORS)(
    '%s: what callers write about their address changes nothing, and the wait is reported',
    async (path, sent, most) => {
      const own = `203.0.113.${++address}`
      // The right-most hop is what the trusted proxy saw; everything before it is the caller's word.
      const { taken, wait } = await flood(path, sent, (call) => ({ 'x-forwarded-for': `198.51.100.${call}, ${own}` }))
      expect(taken).toBe(most)
      expect(wait).toBeGreaterThan(0)
      expect(wait).toBeLessThanOrEqual(60)
      const init = sent(71)
      const other = { ...init.headers, 'x-forwarded-for': `203.0.113.${200 + address}` } as Record<string, string>
      expect((await gateway.call(path, { method: 'POST', ...init, headers: other })).status).not.toBe(429)
    },
  )

  test('an IPv6 caller counts as its /64, whichever of its addresses it uses', async () => {
    const [path, sent, most] = DOORS[0]!
    const { taken } = await flood(path, sent, (call) => ({ 'x-forwarded-for': `2001:db8:0:1::${call.toString(16)}` }))
    expect(taken).toBe(most)
  })

  test('sign-ups have their own limit per minute', async () => {
    const few = await openHarness({ env: { SIGNUP_RPM: '2' } })
    const statuses: number[] = []
    for (let i = 0; i < 3; i++) {
      const body = JSON.stringify({ name: 'A', email: `a${i}@example.com`, password: 'short' })
      statuses.push((await few.call('/api/auth/sign-up/email', { method: 'POST', headers: JSON_TYPE, body })).status)
    }
    expect(statuses).toEqual([400, 400, 429])
    await closeReconciled(few)
  })
})
