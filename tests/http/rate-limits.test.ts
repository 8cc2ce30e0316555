import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { Account } from '../../server/core/accounts/account'
import { micros } from '../../server/core/money'
import { ok } from '../../server/core/result'
import { type Harness, openHarness } from '../support/harness'
import { endAndReconcile, IMAGES, IMAGES_CALL, refusalOf, verdictOf } from './wire'

const ANON_RPM = 3

/** The readings that every answer of a gated prefix shows, as numbers. */
function limitsOn({ headers }: Response) {
  const read = (name: string) => {
    const text = headers.get(`x-ratelimit-${name}`)
    expect(text).toMatch(/^\d+$/)
    return Number(text)
  }
  return {
    rpm: [read('limit-requests'), read('remaining-requests')],
    tpm: [read('limit-tokens'), read('remaining-tokens')],
    concurrency: [read('limit-concurrency'), read('remaining-concurrency')],
    resets: [read('reset-requests'), read('reset-tokens')],
  }
}

/** The clock stands in the middle of a minute before each test; a caller's address is chosen over a trusted proxy. */
describe('rate limits (spec 7, 8, spec D9)', () => {
  let gateway: Harness
  let addresses = 0

  beforeAll(async () => {
    gateway = await openHarness({ env: { ANON_RPM: String(ANON_RPM), TRUSTED_PROXIES: '127.0.0.1' } })
  })
  beforeEach(() => {
    gateway.clock.advance(80_000 - (gateway.clock.now() % 60_000))
    gateway.images.answer = async () => ok({ body: '{}' })
  })
  afterAll(() => endAndReconcile(gateway))

  const newAddress = () => `198.51.100.${++addresses}`
  const anonymous = (address: string, path = IMAGES_CALL, headers: Record<string, string> = {}) =>
    gateway.call(path, { headers: { ...headers, 'x-forwarded-for': address } })
  const unknown = (address: string) => anonymous(address, IMAGES_CALL, { authorization: 'Bearer gwk_nobody' })
  const free = () => gateway.account(0, null)
  const topUp = (account: Account, usd: number) =>
    gateway.core.ledger.credit({
      account: account.id,
      part: 'paid',
      kind: 'top_up',
      amount: micros(usd * 1_000_000),
      description: 'test',
      reference: crypto.randomUUID(),
    })
  const remaining = (answer: Response) => limitsOn(answer).rpm[1]

  describe('a window of a key', () => {
    test('is a wall-clock minute: full at its cap, refused until its end, open at the first millisecond of the next', async () => {
      const key = await gateway.key(await free())
      for (let left = 59; left >= 0; left--) {
        const answer = await gateway.as(key, IMAGES_CALL)
        expect(answer.status).toBe(200)
        expect(limitsOn(answer).rpm).toEqual([60, left])
      }
      const refused = await gateway.as(key, IMAGES_CALL)
      expect(refused.headers.get('retry-after')).toBe('40')
      expect(limitsOn(refused).rpm).toEqual([60, 0])
      expect(await refusalOf(refused)).toMatchObject({
        status: 429,
        type: 'rate_limit_error',
        code: 'rate_limit_exceeded',
        limit_source: 'key',
        retry_after: 40,
      })
      gateway.clock.advance(39_999)
      const last = await gateway.as(key, IMAGES_CALL)
      expect(last.status).toBe(429)
      expect(last.headers.get('retry-after')).toBe('1')
      gateway.clock.advance(1)
      expect(remaining(await gateway.as(key, IMAGES_CALL))).toBe(59)
    })

    test('resets are the UNIX second of the end of the minute, for requests and tokens', async () => {
      const key = await gateway.key(await free())
      const end = Math.ceil(gateway.clock.now() / 60_000) * 60
      expect(limitsOn(await gateway.as(key, IMAGES_CALL)).resets).toEqual([end, end])
      gateway.clock.advance(60_000)
      expect(limitsOn(await gateway.as(key, IMAGES_CALL)).resets).toEqual([end + 60, end + 60])
    })

    test('is per key: two keys of one account have two windows', async () => {
      const account = await free()
      const [one, two] = [await gateway.key(account, { rpm_limit: 1 }), await gateway.key(account, { rpm_limit: 1 })]
      expect((await gateway.as(one, IMAGES_CALL)).status).toBe(200)
      expect((await gateway.as(one, IMAGES_CALL)).status).toBe(429)
      expect((await gateway.as(two, IMAGES_CALL)).status).toBe(200)
    })

    test('counts all endpoints together', async () => {
      const key = await gateway.key(await free(), { rpm_limit: 3 })
      expect(remaining(await gateway.as(key, IMAGES_CALL))).toBe(2)
      expect(remaining(await gateway.as(key, '/apis/v1/websearch/llm/context?q=a'))).toBe(1)
      expect(remaining(await gateway.as(key, '/v1/credits/balance'))).toBe(0)
      expect(await verdictOf(gateway.as(key, '/v1/usage'))).toBe('429 rate_limit_exceeded')
    })

    test('a 429 itself does not count again', async () => {
      const { api } = await gateway.owner()
      const { key, secret } = await (await api('/api/keys', { name: 'raised', rpm_limit: 2 })).json()
      const statuses = async (count: number) => {
        const list: number[] = []
        for (let i = 0; i < count; i++) list.push((await gateway.as(secret, IMAGES_CALL)).status)
        return list
      }
      expect(await statuses(6)).toEqual([200, 200, 429, 429, 429, 429])
      expect((await api(`/api/keys/${key.id}`, { rpm_limit: 3 }, 'PATCH')).status).toBe(200)
      expect(await statuses(2)).toEqual([200, 429])
    })

    test('refused calls and quotes count: 400, 402, 403, 406, 412, 502', async () => {
      const account = await free()
      const key = await gateway.key(account, { spending_limit: 0.001 })
      const elsewhere = await gateway.key(account, { allowed_ips: ['203.0.113.7'] })
      const with_ = (headers: Record<string, string>) => gateway.as(key, IMAGES_CALL, { headers })
      expect(remaining(await gateway.as(key, IMAGES))).toBe(59)
      expect(remaining(await with_({}))).toBe(58)
      expect(remaining(await with_({ accept: 'text/html' }))).toBe(57)
      expect(remaining(await with_({ 'x-max-price-usd': '0' }))).toBe(56)
      expect(remaining(await with_({ 'x-cost-mode': 'quote' }))).toBe(55)
      expect(remaining(await gateway.as(elsewhere, IMAGES_CALL))).toBe(59)
      expect(remaining(await gateway.as(elsewhere, IMAGES_CALL))).toBe(58)
    })

    test('a disabled key uses its own window, and gets 401 even when that is full', async () => {
      const { api } = await gateway.owner()
      const { key, secret } = await (await api('/api/keys', { name: 'off', rpm_limit: 2 })).json()
      await api(`/api/keys/${key.id}/disable`, {})
      for (const left of [1, 0, 0]) {
        const answer = await gateway.as(secret, IMAGES_CALL)
        expect(limitsOn(answer).rpm).toEqual([2, left])
        expect(await verdictOf(answer)).toBe('401 api_key_disabled')
      }
    })

    test('the rate limit is checked before the input and the balance (spec D2)', async () => {
      const key = await gateway.key(await free(), { rpm_limit: 1, spending_limit: 0.001 })
      await gateway.as(key, IMAGES_CALL)
      expect(await verdictOf(gateway.as(key, `${IMAGES}?count=0`))).toBe('429 rate_limit_exceeded')
    })

    test('404 and 405 show the window without using it, even when it is full', async () => {
      const key = await gateway.key(await free(), { rpm_limit: 1 })
      for (let i = 0; i < 3; i++) {
        expect(limitsOn(await gateway.as(key, '/v1/nothing')).rpm).toEqual([1, 1])
        expect(limitsOn(await gateway.as(key, IMAGES_CALL, { method: 'DELETE' })).rpm).toEqual([1, 1])
      }
      expect((await gateway.as(key, IMAGES_CALL)).status).toBe(200)
      expect(await verdictOf(gateway.as(key, '/v1/nothing'))).toBe('404 unknown_endpoint')
      expect(await verdictOf(gateway.as(key, IMAGES_CALL, { method: 'DELETE' }))).toBe('405 method_not_allowed')
    })

    test('a burst of simultaneous calls is served up to the cap exactly', async () => {
      const key = await gateway.key(await free(), { rpm_limit: 7 })
      const answers = await Promise.all(Array.from({ length: 30 }, () => gateway.as(key, IMAGES_CALL)))
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(7)
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(23)
    })
  })

  describe('tiers (spec 8)', () => {
    const capsOf = async (account: Account, body: Record<string, unknown> = {}) => {
      const { rpm, tpm, concurrency } = limitsOn(await gateway.as(await gateway.key(account, body), IMAGES_CALL))
      return [rpm[0], tpm[0], concurrency[0]]
    }

    test.each<[string, number | null, number[]]>([
      ['Free', null, [60, 60_000, 5]],
      ['Starter, after the first paid top-up', 1, [600, 600_000, 20]],
      ['Starter, just below 500 USD', 499.999999, [600, 600_000, 20]],
      ['Growth, at 500 USD', 500, [3_000, 3_000_000, 50]],
    ])('%s', async (_, usd, caps) => {
      const account = await free()
      if (usd !== null) expect((await topUp(account, usd)).ok).toBe(true)
      expect(await capsOf(account)).toEqual(caps)
    })

    test('Growth, by the sum of several top-ups; granted credit raises no tier', async () => {
      const account = await gateway.account(1000, null)
      expect(await capsOf(account)).toEqual([60, 60_000, 5])
      await topUp(account, 250)
      await topUp(account, 250)
      expect(await capsOf(account)).toEqual([3_000, 3_000_000, 50])
    })

    test('Enterprise has the limits that the operator set', async () => {
      expect(await capsOf(await gateway.account(0, { rpm: 11, tpm: 22, concurrency: 33 }))).toEqual([11, 22, 33])
    })

    test('a higher tier applies from the next call of existing keys', async () => {
      const account = await free()
      const key = await gateway.key(account)
      expect(limitsOn(await gateway.as(key, IMAGES_CALL)).rpm).toEqual([60, 59])
      await topUp(account, 5)
      expect(limitsOn(await gateway.as(key, IMAGES_CALL)).rpm).toEqual([600, 598])
    })

    test('rpm_limit and tpm_limit of a key lower its tier (spec D3)', async () => {
      expect(await capsOf(await free(), { rpm_limit: 7, tpm_limit: 77 })).toEqual([7, 77, 5])
    })

    test('data endpoints use no tokens and no concurrency slot', async () => {
      const key = await gateway.key(await gateway.account(0, { rpm: 100, tpm: 50, concurrency: 1 }))
      let together = 0
      const all = Promise.withResolvers<void>()
      gateway.images.answer = async () => {
        if (++together === 5) all.resolve()
        await all.promise
        return ok({ body: '{}' })
      }
      const answers = await Promise.all(Array.from({ length: 5 }, () => gateway.as(key, IMAGES_CALL)))
      for (const answer of answers) {
        expect(answer.status).toBe(200)
        expect(limitsOn(answer)).toMatchObject({ tpm: [50, 50], concurrency: [1, 1] })
      }
    })
  })

  describe('an unknown caller counts toward its address', () => {
    test('unknown keys and calls without one share the address, which becomes 429 with limit_source address', async () => {
      const address = newAddress()
      expect(await verdictOf(unknown(address))).toBe('401 invalid_api_key')
      const paid = await anonymous(address)
      expect(limitsOn(paid)).toMatchObject({ rpm: [ANON_RPM, 1], tpm: [60_000, 60_000], concurrency: [5, 5] })
      expect(await verdictOf(paid)).toBe('402 payment_required')
      expect(await verdictOf(anonymous(address, '/v1/usage'))).toBe('401 missing_api_key')
      for (const call of [() => unknown(address), () => anonymous(address), () => anonymous(address, '/v1/usage')]) {
        const answer = await call()
        expect(answer.headers.get('retry-after')).toBe('40')
        expect(await refusalOf(answer)).toMatchObject({
          status: 429,
          code: 'rate_limit_exceeded',
          limit_source: 'address',
          retry_after: 40,
        })
      }
      gateway.clock.advance(40_000)
      expect((await anonymous(address)).status).toBe(402)
    })

    test('a revoked key counts toward the address too', async () => {
      const address = newAddress()
      const { api } = await gateway.owner()
      const { key, secret } = await (await api('/api/keys', { name: 'gone' })).json()
      await api(`/api/keys/${key.id}/revoke`, {})
      const answer = await anonymous(address, IMAGES_CALL, { authorization: `Bearer ${secret}` })
      expect(answer.status).toBe(401)
      expect(limitsOn(answer).rpm).toEqual([ANON_RPM, ANON_RPM - 1])
    })

    test('a full address affects neither known keys behind it nor other addresses', async () => {
      const address = newAddress()
      for (let i = 0; i <= ANON_RPM; i++) await unknown(address)
      expect((await unknown(address)).status).toBe(429)
      const key = await gateway.key(await free())
      const headers = { 'x-forwarded-for': address }
      expect((await gateway.as(key, IMAGES_CALL, { headers })).status).toBe(200)
      expect((await anonymous(newAddress())).status).toBe(402)
    })

    test('IPv6 counts by /64, a mapped address as its IPv4', async () => {
      const six = (tail: string) => anonymous(`2001:db8:7:8:${tail}`)
      for (const tail of ['1::1', '2::2', 'ffff:ffff:ffff:ffff']) expect((await six(tail)).status).toBe(402)
      expect((await six('3::3')).status).toBe(429)
      expect((await anonymous('2001:db8:7:9::1')).status).toBe(402)
      const four = newAddress()
      expect(remaining(await anonymous(four))).toBe(ANON_RPM - 1)
      expect(remaining(await anonymous(`::ffff:${four}`))).toBe(ANON_RPM - 2)
    })

    test('404 and 405 do not count, even with an unknown credential', async () => {
      const address = newAddress()
      for (let i = 0; i < 5; i++) {
        expect(remaining(await anonymous(address, '/v1/nothing'))).toBe(ANON_RPM)
        const headers = { 'x-forwarded-for': address, authorization: 'Bearer gwk_nobody' }
        expect(remaining(await gateway.call(IMAGES_CALL, { method: 'PUT', headers }))).toBe(ANON_RPM)
      }
    })

    test('a spoofed hop does not get a new window', async () => {
      const address = newAddress()
      for (let i = 0; i < ANON_RPM; i++) await anonymous(`203.0.113.${i}, ${address}`)
      expect((await anonymous(`203.0.113.99, ${address}`)).status).toBe(429)
    })
  })
})

describe('an address without ANON_RPM', () => {
  test('has the limits of the Free tier (spec D9)', async () => {
    const gateway: Harness = await openHarness()
    expect(limitsOn(await gateway.call(IMAGES_CALL))).toMatchObject({
      rpm: [60, 59],
      tpm: [60_000, 60_000],
      concurrency: [5, 5],
    })
    await endAndReconcile(gateway)
  })
})
