import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import { type Harness, openHarness } from '../../support/harness'
import { openMailbox, type ReceivedMail } from '../../support/mailbox'
import { type AccountBody, auditRows, closeReconciled, type Owner, read, refusalOf } from '../owner-bench'

const PASSWORD = 'correct horse battery'
const CREDIT = 2_000_000
/** The brakes at their defaults, and callers whose address the test chooses. */
const BRAKES = {
  TRUSTED_PROXIES: '127.0.0.1',
  SIGNUP_RPM: '1000000',
  SIGNUP_CREDIT_PER_NETWORK: '10',
  SIGNUP_CREDIT_DAILY_USD: '200',
}

type Credited = AccountBody & { readonly signup_credit: string }
const accountOf = (owner: Owner) => read<Credited>(owner.api('/api/account'))

function signUp(gateway: Harness, address: string, email?: string): Promise<Owner> {
  return gateway.owner(email, (path, init = {}) => {
    const headers = new Headers(init.headers)
    headers.set('x-forwarded-for', address)
    return gateway.call(path, { ...init, headers })
  })
}

async function creditGiven(gateway: Harness): Promise<number> {
  const [row] = await gateway.core.stores.db.all<{ given: number }>(
    "SELECT coalesce(sum(amount), 0) AS given FROM entries WHERE kind = 'signup_credit'",
  )
  return row?.given ?? 0
}

describe('the brakes on signup credit', () => {
  test('60 sign-ups at once from one network cost ten credits; the others open without, and say so', async () => {
    const gateway = await openHarness({ env: BRAKES })
    const owners = await Promise.all(
      Array.from({ length: 60 }, (_, i) => signUp(gateway, `203.0.113.${i + 1}`, `flood-${i}@example.com`)),
    )
    expect(await creditGiven(gateway)).toBe(10 * CREDIT)
    const accounts = await Promise.all(owners.map(accountOf))
    expect(accounts.filter(({ signup_credit: state }) => state === 'granted')).toHaveLength(10)
    const refused = accounts.filter(({ signup_credit: state }) => state === 'network_limit')
    expect(refused).toHaveLength(50)
    expect(refused.every(({ balance_micros_usd: balance }) => balance === 0)).toBe(true)
    expect(gateway.logged.some((line) => line.includes('without signup credit'))).toBe(true)
    expect((await auditRows(gateway)).filter(({ detail }) => detail.includes('"credit":"network_limit"'))).toHaveLength(
      50,
    )
    await closeReconciled(gateway)
  })

  test('count an IPv6 network as its /48, forget after a day, and outlive closed accounts and restarts', async () => {
    const gateway = await openHarness({ env: { ...BRAKES, SIGNUP_CREDIT_PER_NETWORK: '1' } })
    const first = await signUp(gateway, '2001:db8:1:2::3')
    expect(await accountOf(first)).toMatchObject({ signup_credit: 'granted', balance_micros_usd: CREDIT })
    await read(first.api('/api/settings/close', { email: first.email }))
    expect(await accountOf(await signUp(gateway, '2001:db8:1:ffff::1'))).toMatchObject({
      signup_credit: 'network_limit',
    })
    expect(await accountOf(await signUp(gateway, '2001:db8:2::1'))).toMatchObject({ signup_credit: 'granted' })
    const now = gateway.clock.now()
    await gateway.close(true)
    const again = await openHarness({ folder: gateway.folder, now, env: { ...BRAKES, SIGNUP_CREDIT_PER_NETWORK: '1' } })
    expect(await accountOf(await signUp(again, '2001:db8:1::9', 'late@example.com'))).toMatchObject({
      signup_credit: 'network_limit',
      balance_micros_usd: 0,
    })
    again.clock.advance(24 * 3_600_000)
    expect(await accountOf(await signUp(again, '2001:db8:1::9', 'next-day@example.com'))).toMatchObject({
      signup_credit: 'granted',
    })
    const rows = JSON.stringify(await again.core.stores.db.all('SELECT * FROM signup_credits'))
    expect(rows).not.toContain('2001:db8')
    await closeReconciled(again)
    await rm(gateway.folder, { recursive: true, force: true })
  })

  test('stop at the daily total, whatever the networks', async () => {
    const gateway = await openHarness({ env: { ...BRAKES, SIGNUP_CREDIT_DAILY_USD: '6' } })
    const owners = await Promise.all(Array.from({ length: 8 }, (_, i) => signUp(gateway, `203.0.${i}.1`)))
    const states = (await Promise.all(owners.map(accountOf))).map(({ signup_credit: state }) => state)
    expect(states.sort()).toEqual([...Array(5).fill('daily_limit'), ...Array(3).fill('granted')])
    expect(await creditGiven(gateway)).toBe(3 * CREDIT)
    await closeReconciled(gateway)
  })

  test('know a network by what the proxy says, however the address is written and whatever the caller puts before it', async () => {
    const gateway = await openHarness({ env: { ...BRAKES, SIGNUP_CREDIT_PER_NETWORK: '1' } })
    const written = [
      '203.0.113.1',
      '198.51.100.1, 203.0.113.2',
      '127.0.0.1, 203.0.113.3',
      '203.0.113.4, 127.0.0.1',
      '203.0.113.5:4711',
      '::ffff:203.0.113.6',
      '[::ffff:cb00:7107]:4711',
      '0:0:0:0:0:FFFF:CB00:7108',
    ]
    const owners = await Promise.all(written.map((address) => signUp(gateway, address)))
    const states = (await Promise.all(owners.map(accountOf))).map(({ signup_credit: state }) => state)
    expect(states.sort()).toEqual(['granted', ...Array(7).fill('network_limit')])
    // Addresses that are none share the places of all unknown networks.
    for (const address of ['nobody', '203.0.113.1, nobody', '999.1.1.1']) await signUp(gateway, address)
    expect(await creditGiven(gateway)).toBe(2 * CREDIT)
    await closeReconciled(gateway)
  })

  test('do not apply on this machine outside production, and an account without credit can be topped up', async () => {
    const none = { ...BRAKES, SIGNUP_CREDIT_PER_NETWORK: '0' }
    const gateway = await openHarness({ env: none })
    for (let i = 0; i < 3; i++)
      expect(await accountOf(await gateway.owner())).toMatchObject({ signup_credit: 'granted' })
    const poor = await signUp(gateway, '198.51.100.1')
    const { id } = await accountOf(poor)
    const grant = gateway.control(`/accounts/${id}/grants`, { usd: '1' })
    await read(grant)
    expect(await accountOf(poor)).toMatchObject({ signup_credit: 'network_limit', balance_micros_usd: 1_000_000 })
    await closeReconciled(gateway)
  })
})

describe('a sign-up where mail is configured', () => {
  let mailbox: Awaited<ReturnType<typeof openMailbox>>
  let gateway: Harness
  beforeAll(async () => {
    mailbox = await openMailbox()
    gateway = await openHarness({
      env: { ...BRAKES, SMTP_URL: mailbox.url, MAIL_FROM: 'gateway@example.com', SIGNUP_CREDIT_PER_NETWORK: '2' },
    })
  })
  afterAll(async () => {
    await closeReconciled(gateway)
    await mailbox.close()
  })

  const post = (path: string, body: unknown, address = '192.0.2.1') =>
    gateway.call(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': address },
      body: JSON.stringify(body),
    })
  const open = (email: string, address?: string, password = PASSWORD) =>
    post('/api/auth/sign-up/email', { name: 'Ada', email, password }, address)
  const signIn = (email: string, password = PASSWORD) => post('/api/auth/sign-in/email', { email, password })
  const confirm = (token: string) => post('/api/settings/email/confirm', { token })
  const tokenIn = ({ text }: ReceivedMail) => /#token=([\w.-]+)/.exec(text)?.[1] ?? ''
  const enter = async (email: string) => {
    const answer = await signIn(email)
    const cookie = (answer.headers.getSetCookie()[0] ?? '').split(';')[0] ?? ''
    return read<Credited>(gateway.call('/api/account', { headers: { cookie } }))
  }

  test('gives neither session nor credit until the address is confirmed; then both, once', async () => {
    const answer = await open('new@example.com')
    expect(answer.headers.getSetCookie()).toEqual([])
    expect(await read<unknown>(answer)).toMatchObject({ token: null })
    const mail = await mailbox.next()
    expect(mail.to).toBe('new@example.com')
    expect(await refusalOf(signIn('new@example.com'))).toMatchObject({ status: 403, code: 'email_not_confirmed' })
    expect(tokenIn(await mailbox.next())).not.toBe('')
    expect(await creditGiven(gateway)).toBe(0)
    for (let i = 0; i < 3; i++)
      expect(await read<unknown>(confirm(tokenIn(mail)))).toEqual({ email: 'new@example.com' })
    await Promise.all(Array.from({ length: 5 }, () => confirm(tokenIn(mail))))
    expect(await creditGiven(gateway)).toBe(CREDIT)
    expect(await enter('new@example.com')).toMatchObject({ signup_credit: 'granted', balance_micros_usd: CREDIT })
  })

  test('answers the same for a taken address, whose owner gets a mail; also when both arrive at once', async () => {
    const shape = async (answer: Response) => {
      const body = await read<{ user: Record<string, unknown> }>(answer)
      return {
        cookies: answer.headers.getSetCookie(),
        token: Reflect.get(body, 'token'),
        user: Object.keys(body.user).sort(),
      }
    }
    const fresh = await shape(await open('taken@example.com'))
    await mailbox.next()
    const taken = await shape(await open('taken@example.com', '192.0.2.1', 'another horse battery'))
    expect(taken).toEqual(fresh)
    const mail = await mailbox.next()
    expect(mail.text).toContain('/reset-password#token=')
    const answers = await Promise.all(Array.from({ length: 4 }, () => open('race@example.com')))
    expect(await Promise.all(answers.map(shape))).toEqual([fresh, fresh, fresh, fresh])
    for (let i = 0; i < 4; i++) expect((await mailbox.next()).to).toBe('race@example.com')
    expect((await signIn('taken@example.com', 'another horse battery')).status).toBe(401)
  })

  test('is subject to the brakes at the confirmation, by the network of the sign-up', async () => {
    const mails: ReceivedMail[] = []
    for (let i = 0; i < 3; i++) {
      await open(`net-${i}@example.com`, `198.51.100.${i}`)
      mails.push(await mailbox.next())
    }
    for (const mail of mails) await read(confirm(tokenIn(mail)))
    expect(await enter('net-0@example.com')).toMatchObject({ signup_credit: 'granted' })
    expect(await enter('net-2@example.com')).toMatchObject({ signup_credit: 'network_limit', balance_micros_usd: 0 })
  })

  test('is subject to them also when all links of a network are opened at once, each several times', async () => {
    const before = await creditGiven(gateway)
    const tokens: string[] = []
    for (let i = 0; i < 6; i++) {
      await open(`rush-${i}@example.com`, `198.18.7.${i}`)
      tokens.push(tokenIn(await mailbox.next()))
    }
    await Promise.all([...tokens, ...tokens, ...tokens.toReversed()].map(confirm))
    expect((await creditGiven(gateway)) - before).toBe(2 * CREDIT)
  })

  test('is confirmed by a new password too, which takes the account from a stranger who signed up with the address', async () => {
    await open('mine@example.com', '192.0.3.1', 'the password of a thief')
    await mailbox.next()
    await open('mine@example.com', '192.0.4.1')
    const reset = await post('/api/auth/reset-password', {
      token: tokenIn(await mailbox.next()),
      newPassword: PASSWORD,
    })
    expect(reset.status).toBe(200)
    expect((await signIn('mine@example.com', 'the password of a thief')).status).toBe(401)
    expect(await enter('mine@example.com')).toMatchObject({ signup_credit: 'granted' })
  })

  test('gets the credit at the next sign-in if a crash kept it out of the ledger', async () => {
    await open('crash@example.com', '192.0.5.1')
    const mail = await mailbox.next()
    const { db } = gateway.core.stores
    await db.run("CREATE TRIGGER no_credit BEFORE INSERT ON entries BEGIN SELECT RAISE(ABORT, 'not now'); END")
    expect(await refusalOf(confirm(tokenIn(mail)))).toMatchObject({ status: 503, code: 'service_unavailable' })
    await db.run('DROP TRIGGER no_credit')
    expect(await enter('crash@example.com')).toMatchObject({ signup_credit: 'granted', balance_micros_usd: CREDIT })
  })

  test('leaves owners from before the mail settings alone', async () => {
    const silent = await openHarness({ env: BRAKES })
    const owner = await silent.owner('before@example.com')
    await silent.core.stores.db.run('DELETE FROM signup_credits')
    await silent.close(true)
    const now = await openHarness({
      folder: silent.folder,
      env: { ...BRAKES, SMTP_URL: mailbox.url, MAIL_FROM: 'gateway@example.com' },
    })
    const answer = await now.call('/api/auth/sign-in/email', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: owner.email, password: PASSWORD }),
    })
    expect(answer.status).toBe(200)
    expect(await creditGiven(now)).toBe(CREDIT)
    await closeReconciled(now)
  })
})
