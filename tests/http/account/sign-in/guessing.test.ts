import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test'
import { ZxcvbnFactory } from '@zxcvbn-ts/core'
import { type Harness, openHarness } from '../../../support/harness'
import { openMailbox } from '../../../support/mailbox'
import { auditRows, closeReconciled, read, refusalOf } from '../../owner-bench'

interface NoticePage {
  readonly notices: readonly { readonly type: string; readonly data: Readonly<Record<string, unknown>> }[]
}

const PASSWORD = 'correct horse battery'
const NEW = 'another horse battery'

let mailbox: Awaited<ReturnType<typeof openMailbox>>
let gateway: Harness
let quiet: Harness
beforeAll(async () => {
  mailbox = await openMailbox()
  const env = { TRUSTED_PROXIES: '127.0.0.1' }
  quiet = await openHarness({ env })
  gateway = await openHarness({ env: { ...env, SMTP_URL: mailbox.url, MAIL_FROM: 'gateway@example.com' } })
})
afterAll(async () => {
  await closeReconciled(quiet)
  await closeReconciled(gateway)
  await mailbox.close()
})

let addresses = 0
/** Every attempt comes from an address of its own, as a botnet's do. */
const signIn = (where: Harness, email: string, password = PASSWORD, headers: Record<string, string> = {}) => {
  const n = ++addresses
  return where.call('/api/auth/sign-in/email', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': `10.0.${n >> 8}.${n & 255}`, ...headers },
    body: JSON.stringify({ email, password }),
  })
}
const cookiesOf = (answer: Response) => answer.headers.getSetCookie().map((line) => line.split(';')[0] ?? '')
const knownBrowser = (answer: Response) =>
  cookiesOf(answer).find((pair) => pair.startsWith('gateway_known_browser=')) ?? ''
/** Fails once and returns the wait that the next attempt gets. */
async function waitAfterFailure(where: Harness, email: string): Promise<string | null> {
  expect((await signIn(where, email, 'wrong wrong wrong')).status).toBe(401)
  const next = await signIn(where, email)
  return next.status === 429 ? next.headers.get('retry-after') : null
}

describe('failed sign-ins', () => {
  test.each(['known', 'unknown'])('of a %s address wait from the fifth on, 1 s doubling to 60 s', async (kind) => {
    const email = kind === 'known' ? (await quiet.owner()).email : 'nobody@example.com'
    for (let i = 0; i < 4; i++) expect((await signIn(quiet, email, 'wrong wrong wrong')).status).toBe(401)
    const waits: (string | null)[] = []
    for (let i = 0; i < 8; i++) {
      waits.push(await waitAfterFailure(quiet, email))
      quiet.clock.advance(Number(waits.at(-1)) * 1000)
    }
    expect(waits).toEqual(['1', '2', '4', '8', '16', '32', '60', '60'])
  })

  test('sent at once from 60 addresses get five tries between them, and attempts while waiting do not extend the wait', async () => {
    const { email } = await quiet.owner()
    const answers = await Promise.all(Array.from({ length: 60 }, () => signIn(quiet, email, 'wrong wrong wrong')))
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(5)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(55)
    expect(await refusalOf(signIn(quiet, email))).toMatchObject({
      status: 429,
      type: 'rate_limit_error',
      retry_after: 1,
    })
    quiet.clock.advance(999)
    expect((await signIn(quiet, email)).headers.get('retry-after')).toBe('1')
    quiet.clock.advance(1)
    expect((await signIn(quiet, email)).status).toBe(200)
    for (let i = 0; i < 4; i++) expect((await signIn(quiet, email, 'wrong wrong wrong')).status).toBe(401)
    expect((await signIn(quiet, email)).status).toBe(200)
  })

  test('look the same for an address without an account, and in other letters the address is the same', async () => {
    const { email } = await quiet.owner()
    const strip = async (answer: Response) => {
      const body = (await answer.json()) as { error: Record<string, unknown> }
      return { status: answer.status, retry: answer.headers.get('retry-after'), ...body.error, request_id: null }
    }
    const sequence = async (address: string) => {
      const seen: unknown[] = []
      for (let i = 0; i < 7; i++)
        seen.push(await strip(await signIn(quiet, i % 2 ? address.toUpperCase() : address, 'wrong wrong wrong')))
      return seen
    }
    expect(await sequence(email)).toEqual(await sequence('no.one@example.com'))
  })

  test('of strangers do not delay a browser of the owner; a cookie of another user or a forged one does not help', async () => {
    const [owner, other] = [await quiet.owner(), await quiet.owner()]
    const mine = knownBrowser(await signIn(quiet, owner.email))
    const theirs = knownBrowser(await signIn(quiet, other.email))
    expect(mine).not.toBe('')
    for (let i = 0; i < 5; i++) await signIn(quiet, owner.email, 'wrong wrong wrong')
    for (const cookie of ['', theirs, `${mine}x`, `x${mine}`, 'gateway_known_browser=.'])
      expect((await signIn(quiet, owner.email, PASSWORD, { cookie })).status).toBe(429)
    expect((await signIn(quiet, owner.email, PASSWORD, { cookie: mine })).status).toBe(200)
    const guesses: number[] = []
    for (let i = 0; i < 25; i++)
      guesses.push((await signIn(quiet, owner.email, 'wrong wrong wrong', { cookie: mine })).status)
    expect(guesses.indexOf(429)).toBe(20)
  })

  test('that no guess was made with change nothing: other refusals are no failures', async () => {
    const { email } = await quiet.owner()
    for (let i = 0; i < 30; i++) {
      const answer = await quiet.call('/api/auth/sign-in/email', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': '10.9.9.9' },
        body: JSON.stringify({ email, password: 7 }),
      })
      expect([400, 429]).toContain(answer.status)
    }
    expect((await signIn(quiet, email)).status).toBe(200)
  })

  test('are reported to the owner once a day, by mail and in the audit log, without the attempted passwords', async () => {
    const token = async () => /#token=([\w.-]+)/.exec((await mailbox.next()).text)?.[1]
    const owner = await gateway.owner(undefined, undefined, async () => {
      const body = JSON.stringify({ token: await token() })
      await gateway.call('/api/settings/email/confirm', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      })
    })
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 5; i++) await signIn(gateway, owner.email, 'wrong wrong wrong')
      gateway.clock.advance(3_600_000)
      expect((await signIn(gateway, owner.email, PASSWORD, { 'user-agent': 'Firefox on a phone' })).status).toBe(200)
      if (round === 0) expect((await mailbox.next()).text).toContain('failed to sign in')
      expect((await mailbox.next()).text).toContain('not seen before')
    }
    expect(mailbox.received).toEqual([])
    await gateway.gateway.delivering.run()
    const { notices } = await read<NoticePage>(owner.api('/api/notices'))
    const told = notices.filter(({ type }) => type === 'sign_in.new_device')
    expect(told).toHaveLength(3)
    expect(told[0]?.data).toMatchObject({ ip: expect.stringMatching(/^10\.0\./), user_agent: 'Firefox on a phone' })
    const rows = (await auditRows(gateway)).filter(({ action }) => action === 'account.sign_in_failures')
    expect(rows).toHaveLength(1)
    expect(rows[0]?.address).toStartWith('10.0.')
    expect(JSON.stringify(await auditRows(gateway)) + gateway.logged.join('')).not.toContain('wrong wrong')
  })
})

describe('a new password', () => {
  const post = (path: string, body: unknown, headers = {}) =>
    quiet.call(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })

  test.each([
    ['passwordpassword', 'Repeated'],
    ['aaaaaaaaaaaaaaaa', 'Repeated'],
    ['123456789012', 'commonly used'],
    ['lovelace@example.com', 'your name or email address'],
  ])('%s is refused with advice', async (password, advice) => {
    const before = await quiet.core.accounts.count()
    const refusal = await refusalOf(
      post('/api/auth/sign-up/email', { name: 'Ada', email: 'lovelace@example.com', password }),
    )
    expect(refusal).toMatchObject({ status: 400, code: 'password_too_weak' })
    expect(refusal.message).toMatch(advice)
    expect(await quiet.core.accounts.count()).toBe(before)
  })

  test('is judged at a change and a reset too; a weak one from before still signs in', async () => {
    const owner = await quiet.owner()
    const change = (newPassword: string, currentPassword = PASSWORD) =>
      owner.api('/api/auth/change-password', { currentPassword, newPassword })
    expect(await refusalOf(change('passwordpassword'))).toMatchObject({ code: 'password_too_weak' })
    expect(
      await refusalOf(post('/api/auth/reset-password', { token: 'x', newPassword: 'passwordpassword' })),
    ).toMatchObject({
      code: 'password_too_weak',
    })
    expect((await change(NEW)).status).toBe(200)
    const weak = Bun.CryptoHasher.hash('sha256', 'salt', 'hex').slice(0, 4)
    const hash = new Bun.CryptoHasher('sha256', weak).update('aaaaaaaaaaaa').digest('hex')
    await quiet.core.stores.db.run(
      `UPDATE identity_account SET password = '${weak}:${hash}' WHERE user_id = (SELECT id FROM identity_user WHERE email = '${owner.email}')`,
    )
    expect((await signIn(quiet, owner.email, 'aaaaaaaaaaaa')).status).toBe(200)
  })

  test('is rated on 40 characters and five words, whatever else the caller sends, and not at all once refused', async () => {
    const rated = spyOn(ZxcvbnFactory.prototype, 'check')
    const words = Array.from({ length: 30_000 }, (_, i) => i % 10).join('@')
    const password = 'correct horse battery'.repeat(12)
    const sent = { name: 'Ada', email: 'long@example.com', password, token: 'x', newPassword: password }
    const statuses: number[] = []
    for (const [path, body] of [
      ['/api/auth/sign-up/email', { ...sent, name: words }],
      ['/api/auth/sign-up/email', { ...sent, email: `${words}@example.com` }],
      ['/api/auth/sign-up/email', sent],
      ...Array.from({ length: 12 }, () => ['/api/auth/reset-password', sent] as const),
    ] as const)
      statuses.push((await post(path, body, { 'x-forwarded-for': '10.9.9.9' })).status)
    expect(statuses).toEqual([400, 400, 200, ...Array.from({ length: 10 }, () => 400), 429, 429])
    const sizes = rated.mock.calls.map(([text, own]) => [text.length, own?.length])
    rated.mockRestore()
    expect(sizes).toEqual([[40, 5], ...Array.from({ length: 10 }, () => [40, 1])])
  })

  test('of a sign-in with an address longer than an address can be is refused without being remembered', async () => {
    const refusal = await refusalOf(signIn(quiet, `${'a'.repeat(60_000)}@example.com`))
    expect(refusal).toMatchObject({ status: 400, code: 'invalid_email' })
  })
})
