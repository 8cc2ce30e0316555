import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { RIGHT_NAMES } from '../../../server/core/accounts/roles'
import { micros } from '../../../server/core/money'
import { type Harness, openHarness } from '../../support/harness'
import { type AccountBody, closeReconciled, IMAGES, keyBench, type Owner, read, refusalOf } from '../owner-bench'

const PASSWORD = 'correct horse battery'

let gateway: Harness
let ada: Owner
let bob: Owner

beforeAll(async () => {
  gateway = await openHarness()
  ada = await gateway.owner('ada@example.com')
  bob = await gateway.owner('bob@example.com')
})
afterAll(() => closeReconciled(gateway))

const accountOf = (owner: Owner) => read<AccountBody>(owner.api('/api/account'))

function post(path: string, body: unknown, headers: Record<string, string> = {}) {
  const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers } }
  return gateway.call(path, { ...init, body: JSON.stringify(body) })
}

describe('sign-up', () => {
  test('opens an account with 2 USD of signup credit on the Free tier (spec D4)', async () => {
    expect(await read<unknown>(bob.api('/api/account'))).toEqual({
      id: expect.stringMatching(/^acct_[0-9a-f]{32}$/),
      email: 'bob@example.com',
      name: 'Ada',
      workspace: 'Ada',
      role: 'owner',
      rights: RIGHT_NAMES,
      operator: false,
      support: false,
      tier: 'free',
      balance_micros_usd: 2_000_000,
      held_micros_usd: 0,
      credit_micros_usd: 2_000_000,
      signup_credit: 'granted',
      topped_up_micros_usd: 0,
      created_at: new Date(gateway.clock.now()).toISOString(),
      ip: '127.0.0.1',
      events_mark: expect.stringMatching(/^[0-9a-f-]{36}\.\d+$/),
    })
  })

  test('makes the first account of a fresh install operator and the second not (spec D4)', async () => {
    expect(await accountOf(ada)).toMatchObject({ operator: true })
    expect(await accountOf(bob)).toMatchObject({ operator: false })
  })

  test('books the signup credit as one transaction', async () => {
    const { transactions } = await read<{ transactions: unknown[] }>(bob.api('/api/transactions'))
    expect(transactions).toMatchObject([{ kind: 'signup_credit', amount_micros_usd: 2_000_000 }])
  })

  test.each(['Ada\x1b]52;c;cm0gLXJm\x07', 'Ada\u202Eadmin', 'A\u200bda', 'Ada\nOperator', 'Ada\u{e0041}'])(
    'refuses a name with control, bidirectional or invisible characters: %j',
    async (name) => {
      const before = await gateway.core.accounts.count()
      const forged = post('/api/auth/sign-up/email', { name, email: 'eve@example.com', password: PASSWORD })
      expect(await refusalOf(forged)).toMatchObject({ status: 400, code: 'invalid_name' })
      expect(await gateway.core.accounts.count()).toBe(before)
    },
  )

  test('of a known address is refused and opens no account', async () => {
    const before = await gateway.core.accounts.count()
    const again = post('/api/auth/sign-up/email', { name: 'Bob', email: 'bob@example.com', password: PASSWORD })
    expect(await refusalOf(again)).toMatchObject({ status: 422, code: 'user_already_exists' })
    expect(await gateway.core.accounts.count()).toBe(before)
  })
})

describe('a session', () => {
  test('starts with sign-in, reaches the same account, and ends with sign-out', async () => {
    const answer = await post('/api/auth/sign-in/email', { email: 'bob@example.com', password: PASSWORD })
    expect(answer.status).toBe(200)
    const cookie = answer.headers
      .getSetCookie()
      .map((line) => line.split(';')[0])
      .join('; ')
    const own = await read<AccountBody>(gateway.call('/api/account', { headers: { cookie } }))
    expect(own.id).toBe((await accountOf(bob)).id)
    expect((await post('/api/auth/sign-out', {}, { cookie })).status).toBe(200)
    expect(await refusalOf(gateway.call('/api/account', { headers: { cookie } }))).toMatchObject({
      status: 401,
      code: 'missing_session',
    })
    expect((await bob.api('/api/account')).status).toBe(200)
  })

  test.each([
    ['GET', '/api/account'],
    ['POST', '/api/account/operator'],
    ['GET', '/api/limits'],
    ['GET', '/api/keys'],
    ['POST', '/api/keys'],
    ['GET', '/api/keys/key_1'],
    ['PATCH', '/api/keys/key_1'],
    ['POST', '/api/keys/key_1/rotate'],
    ['POST', '/api/keys/key_1/disable'],
    ['POST', '/api/keys/key_1/enable'],
    ['POST', '/api/keys/key_1/revoke'],
    ['GET', '/api/usage'],
    ['GET', '/api/requests'],
    ['GET', '/api/usage.csv'],
    ['GET', '/api/transactions'],
  ])(
    'is required by %s %s: without one it is 401 missing_session, whatever cookie or key is sent',
    async (method, path) => {
      const { secret } = await sharedKey()
      const tampered = ada.cookie.replace(/=./, (start) => (start === '=A' ? '=B' : '=A'))
      const tries: Record<string, string>[] = [{}, { cookie: tampered }, { authorization: `Bearer ${secret}` }]
      for (const headers of tries)
        expect(await refusalOf(gateway.call(path, { method, headers }))).toMatchObject({
          status: 401,
          type: 'authentication_error',
          code: 'missing_session',
        })
    },
  )

  test('is ignored by the routes for keys: a cookie pays for no call and reads no usage', async () => {
    const headers = { cookie: ada.cookie }
    expect(await refusalOf(gateway.call(IMAGES, { headers }))).toMatchObject({ status: 402, code: 'payment_required' })
    for (const path of ['/v1/usage', '/v1/credits/balance'])
      expect(await refusalOf(gateway.call(path, { headers }))).toMatchObject({ status: 401, code: 'missing_api_key' })
  })
})

let shared: ReturnType<ReturnType<typeof keyBench>['create']> | undefined
function sharedKey() {
  shared ??= keyBench(ada).create({ name: 'shared' })
  return shared
}

describe('the balance', () => {
  test('shows what is held during a call, then what it cost', async () => {
    const { secret } = await keyBench(bob).create()
    const { promise, resolve } = Promise.withResolvers<void>()
    const usual = gateway.images.answer
    let asked = () => {}
    const began = new Promise<void>((done) => {
      asked = done
    })
    gateway.images.answer = async (...given) => {
      asked()
      await promise
      return usual(...given)
    }
    const call = gateway.as(secret, IMAGES)
    await began
    expect(await accountOf(bob)).toMatchObject({ balance_micros_usd: 2_000_000, held_micros_usd: 5_000 })
    resolve()
    gateway.images.answer = usual
    expect((await call).status).toBe(200)
    expect(await accountOf(bob)).toMatchObject({ balance_micros_usd: 1_995_000, held_micros_usd: 0 })
  })

  test('moves the tier at the first top-up to Starter and at 500 USD to Growth, and spends credit first', async () => {
    const { id } = await accountOf(bob)
    const { account } = { account: id as `acct_${string}` }
    const topUp = (usd: number) =>
      gateway.core.ledger.credit({
        account,
        part: 'paid',
        kind: 'top_up',
        amount: micros(usd * 1_000_000),
        description: 'Top-up',
        reference: `test-top-up-${usd}`,
      })
    await topUp(499)
    expect(await accountOf(bob)).toMatchObject({ tier: 'starter', topped_up_micros_usd: 499_000_000 })
    await topUp(1)
    expect(await accountOf(bob)).toMatchObject({ tier: 'growth', topped_up_micros_usd: 500_000_000 })
    const before = await accountOf(bob)
    const { secret } = await keyBench(bob).create()
    expect((await gateway.as(secret, IMAGES)).status).toBe(200)
    expect(await accountOf(bob)).toMatchObject({
      credit_micros_usd: before.credit_micros_usd - 5_000,
      balance_micros_usd: before.balance_micros_usd - 5_000,
      topped_up_micros_usd: 500_000_000,
    })
  })
})

describe('a sign-up whose account could not be opened', () => {
  test('leaves a user that the next /api call repairs, once, however many arrive at once (spec D4)', async () => {
    const { db } = gateway.core.stores
    const before = await gateway.core.accounts.count()
    await db.run(sql`CREATE TRIGGER no_accounts BEFORE INSERT ON accounts BEGIN SELECT RAISE(ABORT, 'not now'); END`)
    const left = await gateway.owner('left@example.com')
    expect(await refusalOf(left.api('/api/account'))).toMatchObject({ status: 503, code: 'service_unavailable' })
    expect((await left.api('/api/keys', { name: 'too early' })).headers.get('retry-after')).toBe('1')
    expect(await gateway.core.accounts.count()).toBe(before)
    await db.run(sql`DROP TRIGGER no_accounts`)

    const answers = await Promise.all(Array.from({ length: 8 }, () => accountOf(left)))
    expect(new Set(answers.map((answer) => answer.id)).size).toBe(1)
    expect(answers[0]).toMatchObject({ operator: false, tier: 'free', balance_micros_usd: 2_000_000 })
    expect(await gateway.core.accounts.count()).toBe(before + 1)
    const { transactions } = await read<{ transactions: unknown[] }>(left.api('/api/transactions'))
    expect(transactions).toHaveLength(1)
    expect((await left.api('/api/keys', { name: 'in time' })).status).toBe(201)
  })

  test('is logged with its request id, without the password or the cookie', () => {
    const lines = gateway.logged.filter((line) => line.includes('sign-in'))
    expect(lines.join('')).toMatch(/"requestId":"req_[0-9a-f]+"/)
    expect(gateway.logged.join('')).not.toContain(PASSWORD)
    expect(gateway.logged.join('')).not.toContain(ada.cookie.split('=')[1] ?? '?')
  })
})
