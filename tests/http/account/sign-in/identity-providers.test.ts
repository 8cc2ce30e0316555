import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type { OutboundFetch } from '../../../../server/core/outbound/outbound-fetch'
import { ok } from '../../../../server/core/result'
import type { IdentityList } from '../../../../server/http/account/identity-record'
import { totp } from '../../../support/agents/totp'
import { CLIENT, type Claims, GithubDouble, OidcIssuer } from '../../../support/doubles/oidc-issuer'
import { type Harness, openHarness } from '../../../support/harness'
import { openMailbox } from '../../../support/mailbox'
import { auditRows, closeReconciled, type Owner, read, refusalOf } from '../../owner-bench'

const TENANT = '11111111-2222-3333-4444-555555555555'
const ENTRA = `https://login.microsoftonline.com/${TENANT}/v2.0`
const PASSWORD = 'correct horse battery'

/** Answers for hosts that are not here, by the doubles; the rest is real. */
function reaching(hosts: Readonly<Record<string, () => string>>): OutboundFetch {
  return async ({ url, method = 'GET', headers, body }) => {
    const asked = new URL(url)
    const there = hosts[asked.host]?.() ?? asked.origin
    const answer = await fetch(there + asked.pathname + asked.search, {
      method,
      ...(headers && { headers }),
      ...(body && { body }),
      redirect: 'manual',
    })
    const contentType = (answer.headers.get('content-type') ?? '').split(';')[0] ?? ''
    const bytes = new Uint8Array(await answer.arrayBuffer())
    return ok({ url, status: answer.status, headers: answer.headers, contentType, body: bytes })
  }
}

const settings = () => ({
  SIGN_IN_ALLOW_PRIVATE: 'true',
  SIGN_IN_OIDC_ISSUER: issuer.issuer,
  SIGN_IN_OIDC_CLIENT_ID: CLIENT.id,
  SIGN_IN_OIDC_CLIENT_SECRET: CLIENT.secret,
  SIGN_IN_OIDC_NAME: 'Example ID',
  SIGN_IN_MICROSOFT_CLIENT_ID: CLIENT.id,
  SIGN_IN_MICROSOFT_CLIENT_SECRET: CLIENT.secret,
  SIGN_IN_MICROSOFT_TENANTS: TENANT,
  SIGN_IN_GITHUB_CLIENT_ID: CLIENT.id,
  SIGN_IN_GITHUB_CLIENT_SECRET: CLIENT.secret,
  SIGN_IN_GITHUB_URL: github.double.url,
  TRUSTED_PROXIES: '127.0.0.1',
})

let issuer: OidcIssuer
let entra: OidcIssuer
let github: GithubDouble
let gateway: Harness
beforeAll(async () => {
  issuer = new OidcIssuer()
  entra = new OidcIssuer(ENTRA)
  github = new GithubDouble()
  gateway = await openHarness({
    outbound: reaching({ 'login.microsoftonline.com': () => entra.double.url }),
    env: settings(),
  })
})
afterAll(async () => {
  await closeReconciled(gateway)
  await Promise.all([issuer.stop(), entra.stop(), github.double.stop()])
})
afterEach(() => {
  for (const one of [issuer, entra]) Object.assign(one, { forge: {}, signing: 'right', atUserinfo: null })
})

let people = 0
const person = (claims: Claims = {}): Claims => {
  const sub = `person-${++people}`
  return { sub, name: 'Ada', email: `${sub}@corp.example`, email_verified: true, ...claims }
}

/** A browser with cookies, from an address of its own. */
class Browser {
  private readonly jar = new Map<string, string>()
  private readonly address = `10.2.0.${++people}`

  private readonly where: Harness

  constructor(cookie = '', where = gateway) {
    this.where = where
    for (const pair of cookie.split('; ').filter(Boolean)) this.keep(pair)
  }

  get cookie(): string {
    return [...this.jar].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  private keep(line: string): void {
    const [pair = ''] = line.split(';')
    const at = pair.indexOf('=')
    if (/Max-Age=0/i.test(line)) this.jar.delete(pair.slice(0, at))
    else this.jar.set(pair.slice(0, at), pair.slice(at + 1))
  }

  async send(path: string, body?: unknown): Promise<Response> {
    const answer = await this.where.call(path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        cookie: this.cookie,
        'x-forwarded-for': this.address,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    for (const line of answer.headers.getSetCookie()) this.keep(line)
    return answer
  }

  /** To the provider; returns where it sends the browser back to. */
  async begin(provider = 'oidc', path = '/api/auth/sign-in/social'): Promise<string> {
    const sent = {
      provider,
      callbackURL: '/keys',
      newUserCallbackURL: '/welcome',
      errorCallbackURL: '/sign-in?to=%2Fkeys',
    }
    const { url } = await read<{ url: string }>(this.send(path, sent))
    const there = url.replace('https://login.microsoftonline.com', entra.double.url)
    const back = await fetch(there, { redirect: 'manual' })
    const { pathname, search } = new URL(back.headers.get('location') ?? '')
    return pathname + search
  }

  /** Returns where the gateway sends the browser. */
  async back(callback: string): Promise<string> {
    const answer = await this.send(callback)
    expect(answer.status).toBe(302)
    const { pathname, search } = new URL(answer.headers.get('location') ?? '', 'http://gateway.example')
    return pathname + search
  }

  async signIn(provider = 'oidc', path?: string): Promise<string> {
    return this.back(await this.begin(provider, path))
  }

  async email(): Promise<string | null> {
    const answer = await this.send('/api/account')
    return answer.ok ? (await answer.json()).email : null
  }
}

const linked = async (who: Browser | Owner) => {
  const answer = who instanceof Browser ? await who.send('/api/identities') : await who.api('/api/identities')
  return (await read<IdentityList>(answer)).identities
}

describe('an identity of an OpenID Connect issuer', () => {
  test('signs up with the credit of a sign-up, and signs in afterwards, by issuer and subject', async () => {
    issuer.person = person()
    const browser = new Browser()
    expect(await browser.signIn()).toBe('/welcome')
    const account = await read<{ email: string; balance: { available_micros_usd: number } }>(
      browser.send('/api/account'),
    )
    expect(account.email).toBe(String(issuer.person['email']))
    expect(JSON.stringify(account)).toContain('2000000')
    // The address changed at the issuer; the person is the same.
    const before = account.email
    issuer.person = { ...issuer.person, email: `moved-${before}` }
    const again = new Browser()
    expect(await again.signIn()).toBe('/keys')
    expect(await again.email()).toBe(before)
    expect(await linked(again)).toMatchObject([{ provider: { id: 'oidc', name: 'Example ID' } }])
  })

  test('is read from userinfo where the ID token has no address, and only of the same subject', async () => {
    issuer.person = { sub: 'quiet' }
    issuer.atUserinfo = { email: 'quiet@corp.example', email_verified: true }
    const browser = new Browser()
    expect(await browser.signIn()).toBe('/welcome')
    expect(await browser.email()).toBe('quiet@corp.example')
    issuer.person = { sub: 'quiet-2' }
    issuer.atUserinfo = { sub: 'somebody else', email: 'quiet-2@corp.example', email_verified: true }
    expect(await new Browser().signIn()).toContain('error=unable_to_get_user_info')
  })

  test('leaves no token in the database', async () => {
    issuer.person = person()
    await new Browser().signIn()
    const rows = await gateway.core.stores.db.all<Record<string, unknown>>(
      "SELECT * FROM identity_account WHERE provider_id = 'oidc'",
    )
    expect(rows.length).toBeGreaterThan(0)
    for (const row of rows)
      expect([row['access_token'], row['refresh_token'], row['id_token'], row['password']]).toEqual([
        null,
        null,
        null,
        null,
      ])
  })

  test.each([
    ['another nonce', { forge: { nonce: 'another' } }],
    ['another audience', { forge: { aud: 'another client' } }],
    ['another issuer', { forge: { iss: 'https://id.evil.example' } }],
    ['an expiry that is over', { forge: { exp: 1 } }],
    ['another key', { signing: 'other key' }],
    ['no signature', { signing: 'unsigned' }],
  ] as const)('is refused with a token of %s, and creates nobody', async (_what, wrong) => {
    issuer.person = person()
    Object.assign(issuer, wrong)
    const browser = new Browser()
    expect(await browser.signIn()).toBe('/sign-in?to=%2Fkeys&error=unable_to_get_user_info')
    expect(await browser.email()).toBeNull()
    expect(
      await gateway.core.stores.db.all(`SELECT id FROM identity_user WHERE email = '${issuer.person['email']}'`),
    ).toEqual([])
  })

  test('signs in once by each code, and only in the browser that began', async () => {
    issuer.person = person()
    const browser = new Browser()
    const callback = await browser.begin()
    // Login CSRF: the attacker's callback in the browser of another.
    expect(await new Browser().back(callback)).toContain('error=state_mismatch')
    const fresh = await browser.begin()
    expect(await browser.back(fresh)).toBe('/welcome')
    const thief = new Browser(browser.cookie)
    expect(await thief.back(fresh)).toContain('error=state_mismatch')
    expect(await new Browser().back(fresh.replace(/state=[^&]*/, 'state=made-up'))).toContain('error=state_mismatch')
  })

  test('never takes over the address of a user, who links it in Settings instead', async () => {
    const owner = await gateway.owner()
    issuer.person = person({ email: owner.email })
    const stranger = new Browser()
    expect(await stranger.signIn()).toBe('/sign-in?to=%2Fkeys&error=account_not_linked')
    expect(await stranger.email()).toBeNull()
    const browser = new Browser(owner.cookie)
    expect(await browser.signIn('oidc', '/api/auth/link-social')).toBe('/keys')
    const actions = (await auditRows(gateway)).map(({ action }) => action)
    expect(actions.filter((action) => action === 'account.identity_linked')).toHaveLength(1)
    const again = new Browser()
    expect(await again.signIn()).toBe('/keys')
    expect(await again.email()).toBe(owner.email)
    // An identity belongs to one user.
    const other = await gateway.owner()
    expect(await new Browser(other.cookie).signIn('oidc', '/api/auth/link-social')).toContain(
      'error=account_already_linked_to_different_user',
    )
  })

  test('is not linked by a browser that another began in, nor by a session that ended meanwhile', async () => {
    const owner = await gateway.owner()
    const victim = await gateway.owner()
    issuer.person = person()
    const attacker = new Browser(owner.cookie)
    const callback = await attacker.begin('oidc', '/api/auth/link-social')
    expect(await new Browser(victim.cookie).back(callback)).toContain('error=state_mismatch')
    expect(await linked(victim)).toEqual([])
    const pending = await attacker.begin('oidc', '/api/auth/link-social')
    await read(attacker.send('/api/settings/sessions/end-all', {}))
    expect(await attacker.back(pending)).toContain('error=link_without_session')
    const rows = await gateway.core.stores.db.all(
      `SELECT id FROM identity_account WHERE account_id LIKE '%${issuer.person['sub']}'`,
    )
    expect(rows).toEqual([])
  })

  test('is linked only by a recent sign-in, and unlinked unless it is the last way in', async () => {
    issuer.person = person()
    const browser = new Browser()
    await browser.signIn()
    const [only] = await linked(browser)
    expect(await refusalOf(browser.send(`/api/identities/${only?.id}/unlink`, {}))).toMatchObject({
      code: 'invalid_state',
    })
    issuer.person = person()
    await browser.signIn('oidc', '/api/auth/link-social')
    const both = await Promise.all(
      (await linked(browser)).map(({ id }) => browser.send(`/api/identities/${id}/unlink`, {})),
    )
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 409])
    expect(await linked(browser)).toHaveLength(1)
    const stranger = await gateway.owner()
    const [left] = await linked(browser)
    expect((await stranger.api(`/api/identities/${left?.id}/unlink`, {})).status).toBe(404)
    gateway.clock.advance(11 * 60_000)
    expect(
      await refusalOf(browser.send('/api/auth/link-social', { provider: 'oidc', callbackURL: '/' })),
    ).toMatchObject({
      code: 'recent_sign_in_required',
    })
  })

  test('does not replace the second factor of the gateway', async () => {
    const owner = await gateway.owner()
    const browser = new Browser(owner.cookie)
    issuer.person = person()
    await browser.signIn('oidc', '/api/auth/link-social')
    const { totpURI } = await read<{ totpURI: string }>(
      browser.send('/api/auth/two-factor/enable', { password: PASSWORD }),
    )
    await read(browser.send('/api/auth/two-factor/verify-totp', { code: totp(totpURI) }))
    const again = new Browser()
    expect(await again.signIn()).toBe('/sign-in?to=%2Fkeys&second_factor=required')
    expect(await again.email()).toBeNull()
    await read(again.send('/api/auth/two-factor/verify-totp', { code: totp(totpURI, 1) }))
    expect(await again.email()).toBe(owner.email)
  })

  test('sets up a second factor without a password, which its user does not have', async () => {
    issuer.person = person()
    const browser = new Browser()
    await browser.signIn()
    expect(await read<{ has_password: boolean }>(browser.send('/api/settings'))).toMatchObject({ has_password: false })
    const { totpURI } = await read<{ totpURI: string }>(browser.send('/api/auth/two-factor/enable', {}))
    await read(browser.send('/api/auth/two-factor/verify-totp', { code: totp(totpURI) }))
    expect(await new Browser().signIn()).toContain('second_factor=required')
    const owner = await gateway.owner()
    expect((await owner.api('/api/auth/two-factor/enable', {})).ok).toBe(false)
  })

  test('comes by the provider only: no token of a caller, and no other redirect', async () => {
    const body = { provider: 'oidc', callbackURL: '/', idToken: { token: 'a.b.c' } }
    expect((await new Browser().send('/api/auth/sign-in/social', body)).status).toBe(404)
    expect(
      (await new Browser().send('/api/auth/sign-in/social', { provider: 'oidc', callbackURL: 'https://evil.example' }))
        .status,
    ).toBe(403)
    expect((await new Browser().send('/api/auth/callback/oidc', {})).status).toBe(405)
    expect(await new Browser().back('/api/auth/callback/oidc?code=x')).toContain('/sign-in?error=state_not_found')
    expect((await new Browser().send('/api/auth/sign-in/social', { provider: 'none', callbackURL: '/' })).status).toBe(
      404,
    )
  })

  test('names an issuer that does not answer', async () => {
    entra.double.instead = () => new Response('down', { status: 500 })
    const refused = await new Browser().send('/api/auth/sign-in/social', { provider: 'microsoft', callbackURL: '/' })
    entra.double.instead = null
    expect(await refusalOf(refused)).toMatchObject({ code: 'provider_unavailable' })
    expect(gateway.logged.join()).toContain('sign-in with Microsoft')
  })
})

test('only a verified address is a confirmed one, where the gateway sends mail', async () => {
  const mailbox = await openMailbox()
  const strict = await openHarness({
    env: { ...settings(), SMTP_URL: mailbox.url, MAIL_FROM: 'Gateway <gateway@example.com>' },
  })
  issuer.person = person()
  const confirmed = new Browser('', strict)
  expect(await confirmed.signIn()).toBe('/welcome')
  expect(await (await confirmed.send('/api/account')).text()).toContain('2000000')
  issuer.person = person({ email_verified: false })
  const other = new Browser('', strict)
  const mail = mailbox.next()
  expect((await other.signIn()).toLowerCase()).toContain('error=email_not_confirmed')
  expect(await other.email()).toBeNull()
  expect((await mail).to).toBe(String(issuer.person['email']))
  await closeReconciled(strict)
  await mailbox.close()
})

describe('other providers', () => {
  test('Microsoft: people of a tenant that is allowed, with the address that the tenant proved', async () => {
    entra.person = person({ tid: TENANT, email_verified: undefined, xms_edov: true })
    const browser = new Browser()
    expect(await browser.signIn('microsoft')).toBe('/welcome')
    expect(await browser.email()).toBe(String(entra.person['email']))
    entra.person = person({ tid: '99999999-2222-3333-4444-555555555555' })
    expect(await new Browser().signIn('microsoft')).toContain('error=tenant_not_allowed')
  })

  test('GitHub: the primary address that is verified', async () => {
    github.user = { id: 7, login: 'ada', name: null, email: 'shown@corp.example' }
    github.emails = [
      { email: 'shown@corp.example', primary: true, verified: false },
      { email: 'ada@hub.example', primary: false, verified: true },
    ]
    const browser = new Browser()
    expect(await browser.signIn('github')).toBe('/welcome')
    expect(await browser.email()).toBe('ada@hub.example')
    expect(await new Browser().signIn('github')).toBe('/keys')
    github.user = { id: 8, login: 'eve' }
    github.emails = [{ email: 'eve@hub.example', primary: true, verified: false }]
    expect(await new Browser().signIn('github')).toContain('error=email_not_found')
  })
})
