import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { SessionList, SettingsRecord } from '../../../../server/http/account/settings-record'
import { totp } from '../../../support/agents/totp'
import { type Harness, openHarness } from '../../../support/harness'
import { auditRows, closeReconciled, type Owner, read, refusalOf } from '../../owner-bench'

const PASSWORD = 'correct horse battery'
const TEN_MINUTES = 600_000

let gateway: Harness
beforeAll(async () => {
  gateway = await openHarness({ env: { TRUSTED_PROXIES: '127.0.0.1' } })
})
afterAll(() => closeReconciled(gateway))

let addresses = 0
/** From an address of its own, so that no limit per address is met. */
function post(path: string, body: unknown, cookie = '', headers: Record<string, string> = {}, where = gateway) {
  const n = ++addresses
  return where.call(path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-forwarded-for': `10.1.${n >> 8}.${n & 255}`,
      ...(cookie && { cookie }),
      ...headers,
    },
    body: JSON.stringify(body),
  })
}
/** The cookies that a browser keeps of an answer. */
const kept = (answer: Response) =>
  answer.headers
    .getSetCookie()
    .filter((line) => !/Max-Age=0/i.test(line))
    .map((line) => line.split(';')[0] ?? '')
    .join('; ')
const apiAs =
  (cookie: string, where = gateway) =>
  (path: string, body?: unknown) =>
    where.call(path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { cookie, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
const settingsOf = (api: (path: string) => Promise<Response> | Response) => read<SettingsRecord>(api('/api/settings'))

interface Protected {
  readonly owner: Owner
  readonly cookie: string
  readonly link: string
  readonly codes: readonly string[]
}

/** An owner with an authenticator app, whose code of now is used: the next one is the code of the next step. */
async function protectedOwner(where = gateway): Promise<Protected> {
  const owner = await where.owner()
  const begun = await read<{ totpURI: string; backupCodes: string[] }>(
    owner.api('/api/auth/two-factor/enable', { password: PASSWORD }),
  )
  const answer = await owner.api('/api/auth/two-factor/verify-totp', { code: totp(begun.totpURI) })
  expect(answer.status).toBe(200)
  return { owner, cookie: kept(answer), link: begun.totpURI, codes: begun.backupCodes }
}

/** Gives the password; the cookie is that of the challenge for the second factor. */
async function challenge(email: string, where = gateway): Promise<string> {
  const answer = await post('/api/auth/sign-in/email', { email, password: PASSWORD }, '', {}, where)
  expect(await read<unknown>(answer)).toMatchObject({ twoFactorRedirect: true })
  const cookie = kept(answer)
  expect(cookie).not.toContain('session_token')
  return cookie
}
const withCode = (cookie: string, code: string, where = gateway) =>
  post('/api/auth/two-factor/verify-totp', { code }, cookie, {}, where)
const withRecovery = (cookie: string, code: string) => post('/api/auth/two-factor/verify-backup-code', { code }, cookie)

describe('an authenticator app', () => {
  test('is the second half of every sign-in from its first code on; other sessions end, and the change is in the audit', async () => {
    const owner = await gateway.owner()
    const other = kept(await post('/api/auth/sign-in/email', { email: owner.email, password: PASSWORD }))
    const begun = await read<{ totpURI: string; backupCodes: string[] }>(
      owner.api('/api/auth/two-factor/enable', { password: PASSWORD }),
    )
    expect(begun.totpURI).toStartWith('otpauth://totp/')
    expect(new Set(begun.backupCodes).size).toBe(10)
    expect((await settingsOf(owner.api)).second_factor.app).toBe(false)
    expect((await post('/api/auth/sign-in/email', { email: owner.email, password: PASSWORD })).status).toBe(200)
    expect((await owner.api('/api/auth/two-factor/verify-totp', { code: '000000' })).status).toBe(401)
    const answer = await owner.api('/api/auth/two-factor/verify-totp', { code: totp(begun.totpURI) })
    const api = apiAs(kept(answer))
    expect((await settingsOf(api)).second_factor).toMatchObject({ app: true, recovery_codes: 10 })
    for (const ended of [other, owner.cookie])
      expect((await gateway.call('/api/account', { headers: { cookie: ended } })).status).toBe(401)
    const { sessions } = await read<SessionList>(api('/api/settings/sessions'))
    expect(sessions).toMatchObject([{ current: true, second_factor: true }])
    expect((await auditRows(gateway)).some(({ action }) => action === 'account.second_factor_on')).toBe(true)
    const signedIn = await withCode(await challenge(owner.email), totp(begun.totpURI, 1))
    expect((await apiAs(kept(signedIn))('/api/account')).status).toBe(200)
  })

  test('needs a recent sign-in and the password to be set up or removed', async () => {
    const { cookie, owner } = await protectedOwner()
    const api = apiAs(cookie)
    const plain = await gateway.owner()
    expect((await plain.api('/api/auth/two-factor/enable', { password: 'wrong wrong wrong' })).status).toBe(400)
    expect((await api('/api/auth/two-factor/disable', { password: 'wrong wrong wrong' })).status).toBe(400)
    gateway.clock.advance(TEN_MINUTES + 1)
    for (const path of ['disable', 'generate-backup-codes'])
      expect(await refusalOf(api(`/api/auth/two-factor/${path}`, { password: PASSWORD }))).toMatchObject({
        code: 'recent_sign_in_required',
      })
    expect(await refusalOf(plain.api('/api/auth/two-factor/enable', { password: PASSWORD }))).toMatchObject({
      code: 'recent_sign_in_required',
    })
    expect(await challenge(owner.email)).not.toBe('')
  })

  test('can be removed, and then the password alone signs in again', async () => {
    const { cookie, owner } = await protectedOwner()
    expect((await apiAs(cookie)('/api/auth/two-factor/disable', { password: PASSWORD })).status).toBe(200)
    const answer = await post('/api/auth/sign-in/email', { email: owner.email, password: PASSWORD })
    expect((await settingsOf(apiAs(kept(answer)))).second_factor).toMatchObject({ app: false, recovery_codes: 0 })
  })

  test('keeps its secret and its recovery codes unreadable in the database and out of the log', async () => {
    const { link, codes } = await protectedOwner()
    const { db } = gateway.core.stores
    const rows = JSON.stringify(await db.all('SELECT * FROM identity_two_factor'))
    const secret = new URL(link).searchParams.get('secret') ?? '?'
    const plain = codes.map((code) => code.replaceAll('-', ''))
    for (const text of [secret, ...codes, ...plain]) expect(rows + gateway.logged.join('')).not.toContain(text)
    expect(rows).toContain('sha256:')
  })
})

describe('without the second factor', () => {
  test('a password alone, a strange origin, or a stolen session cookie that is no longer recent gets nowhere', async () => {
    const { cookie, owner, link } = await protectedOwner()
    const pending = await challenge(owner.email)
    expect((await gateway.call('/api/account', { headers: { cookie: pending } })).status).toBe(401)
    const strange = post('/api/auth/two-factor/verify-totp', { code: totp(link) }, pending, {
      origin: 'https://evil.example',
    })
    expect(await refusalOf(strange)).toMatchObject({ status: 403, code: 'foreign_origin' })
    gateway.clock.advance(TEN_MINUTES + 1)
    const stolen = apiAs(cookie)
    expect(await refusalOf(stolen('/api/settings/email', { email: 'thief@example.com' }))).toMatchObject({
      code: 'recent_sign_in_required',
    })
    // The thief knows the password too, and signs in again with the stolen cookie: that asks for the code.
    const again = await post('/api/auth/sign-in/email', { email: owner.email, password: PASSWORD }, cookie)
    expect(await read<unknown>(again)).toMatchObject({ twoFactorRedirect: true })
    expect((await stolen('/api/account')).status).toBe(401)
  })

  test('a session from before it was set up is refused where a recent sign-in is asked for', async () => {
    const { cookie } = await protectedOwner()
    await gateway.core.stores.db.run('UPDATE identity_session SET second_factor = NULL')
    expect(await refusalOf(apiAs(cookie)('/api/keys', { name: 'x' }))).toMatchObject({
      status: 403,
      code: 'second_factor_required',
    })
    expect((await apiAs(cookie)('/api/account')).status).toBe(200)
  })

  test('a code that was used is refused, also twice at once, and so is one for another account', async () => {
    const { owner, link } = await protectedOwner()
    const other = await protectedOwner()
    const code = totp(link, 1)
    const challenges = [await challenge(owner.email), await challenge(owner.email), await challenge(owner.email)]
    const answers = await Promise.all(challenges.slice(0, 2).map((cookie) => withCode(cookie, code)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401])
    expect((await withCode(challenges[2] ?? '', code)).status).toBe(401)
    expect((await withCode(await challenge(other.owner.email), totp(link, 1))).status).toBe(401)
  })

  test('a code that was used stays refused by the process that comes next', async () => {
    const env = { TRUSTED_PROXIES: '127.0.0.1' }
    const first = await openHarness({ env })
    const { owner, link } = await protectedOwner(first)
    const code = totp(link, 1)
    expect((await withCode(await challenge(owner.email, first), code, first)).status).toBe(200)
    const begun = await challenge(owner.email, first)
    await first.close(true)
    const next = await openHarness({ env, folder: first.folder })
    expect(await refusalOf(withCode(begun, code, next))).toMatchObject({ status: 401, code: 'invalid_code' })
    expect((await withCode(await challenge(owner.email, next), code, next)).status).toBe(401)
    await closeReconciled(next)
  })

  test('five guesses end a sign-in, and ten lock the second factor for 15 minutes, with a true Retry-After', async () => {
    const { owner, link } = await protectedOwner()
    const wrong = totp(link) === '000000' ? '111111' : '000000'
    let locked: Response | null = null
    const statuses: number[] = []
    for (let round = 0; round < 3 && !locked; round++) {
      const cookie = await challenge(owner.email)
      for (let i = 0; i < 6 && !locked; i++) {
        const answer = await withCode(cookie, wrong)
        statuses.push(answer.status)
        if (answer.status === 429) locked = answer
      }
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 400, 401, 401, 401, 401, 401, 429])
    expect(locked?.headers.get('retry-after')).toBe('900')
    expect((await withCode(await challenge(owner.email), totp(link))).status).toBe(429)
  })

  test('members of a body that would trust the device, skip the session or begin another are ignored', async () => {
    const { owner, link, codes } = await protectedOwner()
    const trusting = await post(
      '/api/auth/two-factor/verify-totp',
      { code: totp(link, 1), trustDevice: true },
      await challenge(owner.email),
    )
    expect(trusting.status).toBe(200)
    expect(kept(trusting)).not.toContain('trust_device')
    const again = await post('/api/auth/sign-in/email', { email: owner.email, password: PASSWORD }, kept(trusting))
    expect(await read<unknown>(again)).toMatchObject({ twoFactorRedirect: true })
    const recovered = await post(
      '/api/auth/two-factor/verify-backup-code',
      { code: codes[0], disableSession: true, trustDevice: true },
      await challenge(owner.email),
    )
    expect(kept(recovered)).toContain('session_token')
    for (const path of ['get-totp-uri', 'send-otp', 'verify-otp', 'view-backup-codes'])
      expect((await post(`/api/auth/two-factor/${path}`, { password: PASSWORD })).status).toBe(404)
  })
})

describe('a recovery code', () => {
  test('signs in once, also when it is sent twice at once, whatever its letter case and hyphen', async () => {
    const { owner, codes } = await protectedOwner()
    const [first = '', second = ''] = codes
    const cookies = [await challenge(owner.email), await challenge(owner.email)]
    const answers = await Promise.all(cookies.map((cookie) => withRecovery(cookie, first)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect((await withRecovery(await challenge(owner.email), first)).status).toBe(401)
    const typed = second.toUpperCase().replace('-', ' ')
    const answer = await withRecovery(await challenge(owner.email), typed)
    expect((await settingsOf(apiAs(kept(answer)))).second_factor.recovery_codes).toBe(8)
    expect((await auditRows(gateway)).some(({ action }) => action === 'account.recovery_code_used')).toBe(true)
  })

  test('read from the database does not sign in: only its hash is stored', async () => {
    const { owner } = await protectedOwner()
    const [row] = await gateway.core.stores.db.all<{ codes: string }>(
      `SELECT backup_codes AS codes FROM identity_two_factor WHERE user_id = (SELECT id FROM identity_user WHERE email = '${owner.email}')`,
    )
    const [stored = ''] = JSON.parse(row?.codes ?? '[]') as string[]
    expect(stored).toStartWith('sha256:')
    for (const code of [stored, stored.slice(7), `sha256:${stored}`])
      expect((await withRecovery(await challenge(owner.email), code)).status).toBe(401)
  })

  test('is replaced by new ones, which end the old', async () => {
    const { owner, cookie, codes } = await protectedOwner()
    const fresh = await read<{ backupCodes: string[] }>(
      apiAs(cookie)('/api/auth/two-factor/generate-backup-codes', { password: PASSWORD }),
    )
    expect((await withRecovery(await challenge(owner.email), codes[0] ?? '')).status).toBe(401)
    expect((await withRecovery(await challenge(owner.email), fresh.backupCodes[0] ?? '')).status).toBe(200)
  })
})

describe('a lost device', () => {
  test('is replaced by an operator: all sessions end, the password alone signs in, and it is in the audit', async () => {
    const { owner, cookie } = await protectedOwner()
    const { id } = await read<{ id: string }>(apiAs(cookie)('/api/account'))
    const reset = () => gateway.control(`/accounts/${id}/second-factor-reset`, {})
    expect(await read<unknown>(reset())).toEqual({ email: owner.email, reset: true })
    expect((await apiAs(cookie)('/api/account')).status).toBe(401)
    expect(kept(await post('/api/auth/sign-in/email', { email: owner.email, password: PASSWORD }))).toContain(
      'session_token',
    )
    expect((await auditRows(gateway)).filter(({ account_id: of }) => of === id).map(({ action }) => action)).toContain(
      'account.second_factor_reset',
    )
    expect(await refusalOf(reset())).toMatchObject({ status: 400, param: 'account' })
  })

  test('leaves nothing behind when the account is closed', async () => {
    const { owner, cookie } = await protectedOwner()
    await read(apiAs(cookie)('/api/settings/close', { email: owner.email }))
    const rows = await gateway.core.stores.db.all(
      "SELECT t.id FROM identity_two_factor t JOIN identity_user u ON u.id = t.user_id WHERE u.email LIKE '%@deleted.invalid'",
    )
    expect(rows).toEqual([])
  })
})

describe('REQUIRE_SECOND_FACTOR', () => {
  test.each(['operators', 'all'])(
    '%s: who must have one and did not use one reads nothing of others, and may set one up',
    async (who) => {
      const strict = await openHarness({ env: { REQUIRE_SECOND_FACTOR: who } })
      const operator = await strict.owner()
      const customer = await strict.owner()
      const price = { operation: 'image-search', usd: '1' }
      expect(await refusalOf(operator.api('/api/operator/prices', price))).toMatchObject({
        code: 'second_factor_required',
      })
      for (const path of ['accounts', 'audit', 'accounts/acct_1/audit', 'accounts/acct_1/export'])
        expect(await refusalOf(operator.api(`/api/operator/${path}`))).toMatchObject({ code: 'second_factor_required' })
      expect((await operator.api('/api/settings/export')).status).toBe(403)
      expect((await customer.api('/api/settings/export')).status).toBe(who === 'all' ? 403 : 200)
      expect((await settingsOf(operator.api)).second_factor).toMatchObject({ app: false, required: true })
      expect((await customer.api('/api/keys', { name: 'mine' })).status).toBe(who === 'all' ? 403 : 201)
      const begun = await read<{ totpURI: string }>(operator.api('/api/auth/two-factor/enable', { password: PASSWORD }))
      const answer = await operator.api('/api/auth/two-factor/verify-totp', { code: totp(begun.totpURI) })
      expect((await apiAs(kept(answer), strict)('/api/operator/prices', price)).status).toBe(200)
      expect((await apiAs(kept(answer), strict)('/api/operator/accounts')).status).toBe(200)
      await closeReconciled(strict)
    },
  )
})

describe('sessions', () => {
  test('show when they were last seen, to the minute, and sign out everywhere ends this one too', async () => {
    const owner = await gateway.owner()
    const second = kept(await post('/api/auth/sign-in/email', { email: owner.email, password: PASSWORD }))
    gateway.clock.advance(3_600_000)
    await read(owner.api('/api/account'))
    const { sessions } = await read<SessionList>(owner.api('/api/settings/sessions'))
    const current = sessions.find((session) => session.current)
    expect(current?.last_seen_at).toBe(new Date(gateway.clock.now()).toISOString())
    expect(sessions.find((session) => !session.current)?.last_seen_at).toBeNull()
    expect(await read<unknown>(owner.api('/api/settings/sessions/end-all', {}))).toEqual({
      ended: 2,
      apps_disconnected: 0,
    })
    for (const cookie of [owner.cookie, second])
      expect((await gateway.call('/api/account', { headers: { cookie } })).status).toBe(401)
  })
})
