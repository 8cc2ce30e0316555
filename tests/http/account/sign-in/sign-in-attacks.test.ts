import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { SettingsRecord } from '../../../../server/http/account/settings-record'
import { oauthApp } from '../../../support/agents/oauth'
import { type Ceremony, softwarePasskey } from '../../../support/agents/software-passkey'
import { totp } from '../../../support/agents/totp'
import { type Harness, openHarness } from '../../../support/harness'
import { auditRows, closeReconciled, type Owner, read, refusalOf } from '../../owner-bench'

const PASSWORD = 'correct horse battery'
const ORIGIN = 'http://localhost:8402'

let gateway: Harness
let strict: Harness
beforeAll(async () => {
  const env = { TRUSTED_PROXIES: '127.0.0.1', BASE_URL: ORIGIN }
  gateway = await openHarness({ env })
  strict = await openHarness({ env: { ...env, REQUIRE_SECOND_FACTOR: 'all' } })
})
afterAll(async () => {
  await closeReconciled(gateway)
  await closeReconciled(strict)
})

let addresses = 0
function post(path: string, body: unknown, cookie = '', where = gateway) {
  const n = ++addresses
  return where.call(path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-forwarded-for': `10.2.${n >> 8}.${n & 255}`,
      ...(cookie && { cookie }),
    },
    body: JSON.stringify(body),
  })
}
const kept = (answer: Response) =>
  answer.headers
    .getSetCookie()
    .filter((line) => !/Max-Age=0/i.test(line))
    .map((line) => line.split(';')[0] ?? '')
    .join('; ')
const signIn = (email: string, cookie = '', where = gateway, more = {}) =>
  post('/api/auth/sign-in/email', { email, password: PASSWORD, ...more }, cookie, where)

async function withApp(owner: Owner, where = gateway) {
  const begun = await read<{ totpURI: string; backupCodes: string[] }>(
    post('/api/auth/two-factor/enable', { password: PASSWORD }, owner.cookie, where),
  )
  const answer = await post('/api/auth/two-factor/verify-totp', { code: totp(begun.totpURI) }, owner.cookie, where)
  expect(answer.status).toBe(200)
  return { cookie: kept(answer), link: begun.totpURI, codes: begun.backupCodes }
}

async function challengeFor(what: 'register' | 'authenticate', cookie: string, where = gateway) {
  const answer = await where.call(`/api/auth/passkey/generate-${what}-options`, { headers: { cookie } })
  const { challenge } = (await answer.clone().json()) as { challenge: string }
  return { status: answer.status, challenge, cookie: [cookie, kept(answer)].filter(Boolean).join('; ') }
}
async function addPasskey(cookie: string, where = gateway, ceremony: Ceremony = { origin: ORIGIN }) {
  const passkey = softwarePasskey()
  const { challenge, cookie: both } = await challengeFor('register', cookie, where)
  const answer = await post(
    '/api/auth/passkey/verify-registration',
    { response: passkey.register(challenge, ceremony), name: 'mine' },
    both,
    where,
  )
  return { passkey, answer }
}
async function usePasskey(
  passkey: ReturnType<typeof softwarePasskey>,
  ceremony: Ceremony = { origin: ORIGIN },
  where = gateway,
) {
  const { challenge, cookie } = await challengeFor('authenticate', '', where)
  return post(
    '/api/auth/passkey/verify-authentication',
    { response: passkey.authenticate(challenge, ceremony) },
    cookie,
    where,
  )
}

describe('guessing a password', () => {
  test('a request that is refused before the password is compared does not end the delays', async () => {
    const { email } = await gateway.owner()
    const seen: number[] = []
    for (let i = 0; i < 9; i++) {
      const decoy = { callbackURL: 'https://evil.example/' }
      seen.push((await post('/api/auth/sign-in/email', { email, password: 'wrong wrong wrong' })).status)
      seen.push((await signIn(email, '', gateway, decoy)).status)
    }
    expect(seen.filter((status) => status === 401)).toHaveLength(5)
    expect((await signIn(email)).status).toBe(429)
  })

  test('from a stolen session, by any route that asks for it again, is delayed as well, and the owner is notified', async () => {
    const owner = await gateway.owner()
    const orders: [string, object][] = [
      ['change-password', { currentPassword: 'wrong wrong', newPassword: 'another horse battery' }],
      ['two-factor/enable', { password: 'wrong wrong' }],
      ['two-factor/disable', { password: 'wrong wrong' }],
    ]
    const statuses: number[] = []
    for (let i = 0; i < 3; i++)
      for (const [path, body] of orders) statuses.push((await post(`/api/auth/${path}`, body, owner.cookie)).status)
    expect(statuses.filter((status) => status === 400)).toHaveLength(5)
    const waiting = await post('/api/auth/two-factor/enable', { password: PASSWORD }, owner.cookie)
    expect([waiting.status, waiting.headers.get('retry-after')]).toEqual([429, '1'])
    gateway.clock.advance(1000)
    expect((await post('/api/auth/two-factor/enable', { password: PASSWORD }, owner.cookie)).status).toBe(200)
    expect((await signIn(owner.email)).status).toBe(200)
    expect((await auditRows(gateway)).filter(({ action }) => action === 'account.sign_in_failures')).toHaveLength(2)
  })
})

describe('guessing codes', () => {
  test('with a stolen session tells nothing: a session cannot try the codes of its owner', async () => {
    const owner = await gateway.owner()
    const { cookie, link, codes } = await withApp(owner)
    const tries: [string, string][] = [
      ['verify-totp', '000000'],
      ['verify-totp', totp(link, 1)],
      ['verify-backup-code', codes[0] ?? ''],
    ]
    for (const [path, code] of tries)
      expect(await refusalOf(post(`/api/auth/two-factor/${path}`, { code }, cookie))).toMatchObject({
        status: 409,
        code: 'already_signed_in',
      })
    const settings = await read<SettingsRecord>(gateway.call('/api/settings', { headers: { cookie } }))
    expect(settings.second_factor.recovery_codes).toBe(10)
  })

  test('locks the second factor, whose owner is notified once, and Retry-After is what is left of it', async () => {
    const owner = await gateway.owner()
    const { link } = await withApp(owner)
    const wrong = totp(link) === '000000' ? '111111' : '000000'
    for (let round = 0; round < 2; round++) {
      const pending = kept(await signIn(owner.email))
      for (let i = 0; i < 5; i++) await post('/api/auth/two-factor/verify-totp', { code: wrong }, pending)
    }
    const told = (await auditRows(gateway)).filter(({ action }) => action === 'account.second_factor_locked')
    expect(told).toHaveLength(1)
    await gateway.core.stores.db.run(
      `UPDATE identity_two_factor SET locked_until = ${Date.now() + 100_000} WHERE locked_until IS NOT NULL`,
    )
    const answer = await post(
      '/api/auth/two-factor/verify-totp',
      { code: totp(link, 1) },
      kept(await signIn(owner.email)),
    )
    expect(answer.status).toBe(429)
    expect(Number(answer.headers.get('retry-after'))).toBeWithin(95, 101)
  })
})

describe('a passkey', () => {
  test('is a second factor: the password alone neither makes keys, nor adds a factor of its own', async () => {
    for (const where of [gateway, strict]) {
      const owner = await where.owner()
      const { passkey, answer } = await addPasskey(owner.cookie, where)
      expect(answer.status).toBe(200)
      expect((await post('/api/keys', { name: 'mine' }, owner.cookie, where)).status).toBe(201)
      const thief = kept(await signIn(owner.email, '', where))
      expect((await where.call('/api/account', { headers: { cookie: thief } })).status).toBe(200)
      const enrolled = softwarePasskey().register('x', { origin: ORIGIN })
      for (const [path, body] of [
        ['/api/keys', { name: 'stolen' }],
        ['/api/auth/two-factor/enable', { password: PASSWORD }],
        ['/api/auth/passkey/verify-registration', { response: enrolled }],
        ['/api/auth/change-password', { currentPassword: PASSWORD, newPassword: 'another horse battery' }],
        ['/api/settings/email', { email: 'thief@example.com' }],
      ] as const)
        expect([path, await refusalOf(post(path, body, thief, where))]).toMatchObject([
          path,
          { status: 403, code: 'second_factor_required' },
        ])
      expect((await challengeFor('register', thief, where)).status).toBe(403)
      const signedIn = kept(await usePasskey(passkey, { origin: ORIGIN }, where))
      expect((await addPasskey(signedIn, where)).answer.status).toBe(200)
    }
  })

  test.each<[string, Ceremony]>([
    ['at another origin', { origin: 'https://evil.example', rpId: 'localhost' }],
    ['at another port', { origin: 'http://localhost:9' }],
    ['for another name', { origin: ORIGIN, rpId: 'evil.example' }],
    ['that does not verify its user', { origin: ORIGIN, verifiesUser: false }],
  ])('%s is refused, at its registration and at a sign-in', async (_what, ceremony) => {
    const owner = await gateway.owner()
    expect([400, 401]).toContain((await addPasskey(owner.cookie, gateway, ceremony)).answer.status)
    const { passkey } = await addPasskey(owner.cookie)
    const refused = await usePasskey(passkey, ceremony)
    expect([refused.status, kept(refused)]).toEqual([401, expect.not.stringContaining('session_token')])
    expect(gateway.logged.join('')).not.toContain('Unexpected')
  })

  test('whose counter goes back is a copy: refused', async () => {
    const owner = await gateway.owner()
    const { passkey } = await addPasskey(owner.cookie, gateway, { origin: ORIGIN, counter: 5 })
    const use = async (counter: number) => (await usePasskey(passkey, { origin: ORIGIN, counter })).status
    expect([await use(5), await use(6), await use(6), await use(7)]).toEqual([401, 200, 401, 200])
  })

  test('signs in once for each challenge, also when its answer is sent twice at once, and never for another ceremony', async () => {
    const owner = await gateway.owner()
    const { passkey } = await addPasskey(owner.cookie)
    const { challenge, cookie } = await challengeFor('authenticate', '')
    const response = passkey.authenticate(challenge, { origin: ORIGIN })
    const verify = () => post('/api/auth/passkey/verify-authentication', { response }, cookie)
    const statuses = (await Promise.all([verify(), verify(), verify()])).map(({ status }) => status)
    expect(statuses.sort()).toEqual([200, 400, 400])
    const registering = await challengeFor('register', owner.cookie)
    const mixed = passkey.authenticate(registering.challenge, { origin: ORIGIN })
    const answer = await post('/api/auth/passkey/verify-authentication', { response: mixed }, registering.cookie)
    expect(answer.status).toBe(400)
  })

  test.each([{}, { id: 7 }, { id: 'x', response: {} }, { response: null }])(
    'that is %p is refused, not an error of ours',
    async (response) => {
      const owner = await gateway.owner()
      const registering = await challengeFor('register', owner.cookie)
      const registered = await post('/api/auth/passkey/verify-registration', { response }, registering.cookie)
      expect(registered.status).toBe(400)
      const { cookie } = await challengeFor('authenticate', '')
      expect([400, 401]).toContain((await post('/api/auth/passkey/verify-authentication', { response }, cookie)).status)
    },
  )
})

describe('an app that asks for access', () => {
  test('gets none from an owner who must have a second factor and did not give it; declining needs none', async () => {
    const owner = await strict.owner()
    const app = oauthApp(strict, owner)
    const request = { scope: 'keys:write', resource: `${app.origin}/v1` }
    const consent = async () => (await app.visit(app.authorizeUrl(request).url)).location ?? new URL(app.origin)
    expect(await app.decide(await consent(), true)).toMatchObject({
      status: 403,
      body: { error: { code: 'second_factor_required' } },
    })
    expect((await app.decide(await consent(), false)).status).toBe(200)
    const device = await app.form('/device/code', { client_id: 'gateway-cli', ...request })
    const userCode = String(device.body['user_code'])
    await owner.api(`/api/auth/device?user_code=${userCode}`)
    // To approve is not to decline, whatever else the body says.
    for (const more of [{}, { accept: false }])
      expect(
        await refusalOf(post('/api/auth/device/approve', { userCode, ...more }, owner.cookie, strict)),
      ).toMatchObject({
        code: 'second_factor_required',
      })
    expect((await post('/api/auth/device/deny', { userCode }, owner.cookie, strict)).status).toBe(200)
    const { cookie } = await withApp(owner, strict)
    expect((await app.decide(await consent(), true, { cookie })).status).toBe(200)
  })

  test.each(['code', 'recovery code'])('is waited for while its owner signs in with a %s', async (kind) => {
    const owner = await gateway.owner()
    const { link, codes } = await withApp(owner)
    const app = oauthApp(gateway, owner)
    const request = (await app.visit(app.authorizeUrl().url, null)).location?.search.slice(1)
    const first = await signIn(owner.email, '', gateway, { oauth_query: request })
    expect(await read<unknown>(first.clone())).toMatchObject({ twoFactorRedirect: true })
    const [path, code] = kind === 'code' ? ['verify-totp', totp(link, 1)] : ['verify-backup-code', codes[0]]
    const second = await post(`/api/auth/two-factor/${path}`, { code, oauth_query: request }, kept(first))
    const { url } = await read<{ url: string }>(second.clone())
    const consent = new URL(url, ORIGIN)
    expect(consent.pathname).toBe('/consent')
    const { body } = await app.decide(consent, true, { cookie: kept(second) })
    expect(new URL(String(body.url)).searchParams.get('code')).not.toBeNull()
  })
})

describe('a session', () => {
  test('of a thief with a second factor of his own lends it to no account whose password he knows', async () => {
    const { cookie } = await withApp(await strict.owner(), strict)
    const victim = await strict.owner()
    const app = oauthApp(strict, victim)
    const request = (await app.visit(app.authorizeUrl().url, null)).location?.search.slice(1)
    for (const more of [{}, { oauth_query: request }]) {
      const session = kept(await signIn(victim.email, cookie, strict, more))
      expect((await post('/api/keys', { name: 'stolen' }, session, strict)).status).toBe(403)
    }
  })

  test('cannot turn the second factor off by the profile, nor sign up with one', async () => {
    const owner = await gateway.owner()
    const { cookie } = await withApp(owner)
    await post('/api/auth/update-user', { name: 'x', twoFactorEnabled: false, emailVerified: true }, cookie)
    expect(await read<unknown>(signIn(owner.email))).toMatchObject({ twoFactorRedirect: true })
    const more = { twoFactorEnabled: true, emailVerified: true, secondFactor: true }
    const signedUp = await post(
      '/api/auth/sign-up/email',
      { name: 'a', email: 'forward@example.com', password: PASSWORD, ...more },
      '',
      strict,
    )
    expect((await post('/api/keys', { name: 'x' }, kept(signedUp), strict)).status).toBe(403)
  })
})

describe('another SECRET_KEY', () => {
  test('signs everybody out and makes codes of apps unreadable, with advice; recovery codes, passkeys and the operator help', async () => {
    const before = await openHarness({ env: { BASE_URL: ORIGIN } })
    const owner = await before.owner()
    const { cookie, link, codes } = await withApp(owner, before)
    const { passkey } = await addPasskey(cookie, before)
    await before.close(true)
    const after = await openHarness({
      folder: before.folder,
      env: { BASE_URL: ORIGIN, SECRET_KEY: 'another secret that only tests know, 32 bytes and more' },
    })
    expect((await after.call('/api/account', { headers: { cookie } })).status).toBe(401)
    const challenge = async () => kept(await signIn(owner.email, '', after))
    const code = post('/api/auth/two-factor/verify-totp', { code: totp(link, 1) }, await challenge(), after)
    expect(await refusalOf(code)).toMatchObject({ status: 409, code: 'second_factor_unreadable' })
    expect(after.logged.join('')).not.toContain('invalid tag')
    const recovered = await post(
      '/api/auth/two-factor/verify-backup-code',
      { code: codes[0] },
      await challenge(),
      after,
    )
    const again = kept(recovered)
    expect((await post('/api/keys', { name: 'mine' }, again, after)).status).toBe(201)
    expect((await post('/api/auth/two-factor/disable', { password: PASSWORD }, again, after)).status).toBe(200)
    expect((await usePasskey(passkey, { origin: ORIGIN }, after)).status).toBe(200)
    await closeReconciled(after)
  })
})
