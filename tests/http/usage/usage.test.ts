import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Account } from '../../../server/core/accounts/account'
import { micros } from '../../../server/core/money'
import { err, ok } from '../../../server/core/result'
import { type Harness, type MadeKey, openHarness } from '../../support/harness'
import { CONTEXT_CALL, endAndReconcile, IMAGES, IMAGES_CALL, logWritten, PRICE, refusalOf, verdictOf } from '../wire'

const NOTHING = {
  requests: 0,
  failed_requests: 0,
  input_tokens: 0,
  output_tokens: 0,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  charged_micros_usd: 0,
}
const HOUR = 3600
const DAY = 86_400

/** UNIX seconds. */
const at = (text: string) => Date.parse(text) / 1000

interface Bucket {
  readonly start_time: number
  readonly end_time: number
  readonly requests: number
  readonly charged_micros_usd: number
}

describe('GET /v1/usage (spec 4.6, spec D8)', () => {
  let gateway: Harness
  let account: Account
  let key: MadeKey
  let madeAt = 0

  beforeAll(async () => {
    gateway = await openHarness()
    account = await gateway.account()
    key = await gateway.key(account)
    madeAt = gateway.clock.now() / 1000
    expect((await gateway.as(key, IMAGES_CALL)).status).toBe(200)
    expect((await gateway.as(key, CONTEXT_CALL)).status).toBe(200)
    expect((await gateway.as(key, IMAGES)).status).toBe(400)
    gateway.images.answer = async () => err({ kind: 'error', reason: 'no' })
    expect((await gateway.as(key, IMAGES_CALL)).status).toBe(502)
    gateway.images.answer = async () => ok({ body: '{}' })
    const other = await gateway.key(account)
    expect((await gateway.as(other, IMAGES_CALL)).status).toBe(200)
    await logWritten(gateway)
  })
  afterAll(() => endAndReconcile(gateway))

  const usage = async (query: Record<string, string | number> = {}) => {
    const params = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]))
    const answer = await gateway.as(key, `/v1/usage?${params}`)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    return answer.json()
  }
  const refused = (query: string) => refusalOf(gateway.as(key, `/v1/usage?${query}`))

  test('sums the calls of this key alone, the charged and the failed ones', async () => {
    const { totals } = await usage()
    expect(totals).toEqual({ ...NOTHING, requests: 4, failed_requests: 2, charged_micros_usd: 2 * PRICE })
  })

  test('reading usage, a 404 and a 405 do not count', async () => {
    const before = await usage()
    await gateway.as(key, '/v1/credits/balance')
    await gateway.as(key, '/v1/nothing')
    await gateway.as(key, IMAGES_CALL, { method: 'PUT' })
    await logWritten(gateway)
    expect((await usage()).totals).toEqual(before.totals)
  })

  test('without parameters covers the 30 days until now, by days of UTC', async () => {
    const now = Math.floor(gateway.clock.now() / 1000)
    const body = await usage()
    expect(body).toMatchObject({
      scope: 'key',
      currency: 'USD',
      start_time: now + 1 - 30 * DAY,
      end_time: now + 1,
      bucket_width: '1d',
      timezone: 'UTC',
    })
    expect(body.buckets).toHaveLength(31)
    const last: Bucket = body.buckets.at(-1)
    expect(last).toMatchObject({ start_time: at('2026-11-21T00:00:00Z'), end_time: now + 1, requests: 4 })
  })

  test('with bucket_width=1h covers the day until now, by hours', async () => {
    const body = await usage({ bucket_width: '1h' })
    expect(body.end_time - body.start_time).toBe(DAY)
    expect(body.buckets).toHaveLength(25)
    expect(body.buckets.at(-1)).toMatchObject({ start_time: at('2026-11-21T12:00:00Z'), requests: 4 })
  })

  test('the buckets join without a gap, are cut to the asked range, and sum to the totals', async () => {
    const [start, end] = [madeAt - 5 * HOUR - 7, madeAt + HOUR + 11]
    const { buckets, totals } = await usage({ start_time: start, end_time: end, bucket_width: '1h' })
    expect(buckets[0].start_time).toBe(start)
    expect(buckets.at(-1).end_time).toBe(end)
    for (let i = 1; i < buckets.length; i++) expect(buckets[i].start_time).toBe(buckets[i - 1].end_time)
    const sum = (name: 'requests' | 'charged_micros_usd') =>
      buckets.reduce((total: number, bucket: Bucket) => total + bucket[name], 0)
    expect([sum('requests'), sum('charged_micros_usd')]).toEqual([totals.requests, totals.charged_micros_usd])
    expect(totals.requests).toBe(4)
  })

  test('start_time is included, end_time is not', async () => {
    const requests = async (start: number, end: number) =>
      (await usage({ start_time: start, end_time: end, bucket_width: '1h' })).totals.requests
    expect(await requests(madeAt, madeAt + 1)).toBe(4)
    expect(await requests(madeAt + 1, madeAt + 2)).toBe(0)
    expect(await requests(madeAt - 1, madeAt)).toBe(0)
  })

  describe('time zones', () => {
    /** Lengths of the days from `from` to `to`, in hours. */
    const days = async (timezone: string, from: string, to: string) => {
      const { buckets } = await usage({ timezone, start_time: at(from), end_time: at(to), bucket_width: '1d' })
      return buckets.map((bucket: Bucket) => (bucket.end_time - bucket.start_time) / HOUR)
    }

    test.each<[string, string, string, number[]]>([
      ['Europe/Berlin', '2026-10-24T00:00:00+02:00', '2026-10-27T00:00:00+01:00', [24, 25, 24]],
      ['Asia/Kolkata', '2026-10-24T00:00:00+05:30', '2026-10-26T00:00:00+05:30', [24, 24]],
    ])('days of %s from %s are as long as its clock makes them', async (timezone, from, to, lengths) => {
      expect(await days(timezone, from, to)).toEqual(lengths)
    })

    test.each([
      ['Pacific/Kiritimati', '2026-11-22T00:00:00+14:00'],
      ['Pacific/Pago_Pago', '2026-11-21T00:00:00-11:00'],
      ['Europe/Berlin', '2026-11-21T00:00:00+01:00'],
    ])('a call belongs to the day that %s had', async (timezone, day) => {
      const { buckets } = await usage({ timezone })
      const filled = buckets.filter((bucket: Bucket) => bucket.requests > 0)
      expect(filled).toHaveLength(1)
      expect(filled[0].start_time).toBe(at(day))
    })
  })

  describe('validation', () => {
    test.each([
      ['bucket_width=2h', 'bucket_width'],
      ['bucket_width=', 'bucket_width'],
      ['timezone=Mars/Olympus', 'timezone'],
      ['timezone=', 'timezone'],
      ['start_time=yesterday', 'start_time'],
      ['start_time=-1', 'start_time'],
      ['start_time=1.5', 'start_time'],
      ['end_time=2026-11-21T00:00:00Z', 'end_time'],
      ['end_time=99999999999', 'end_time'],
      ['start_time=2000&end_time=1000', 'start_time'],
      ['start_time=1000&end_time=1000', 'start_time'],
      [`start_time=0&end_time=${366 * DAY + 1}`, 'start_time'],
      [`start_time=0&end_time=${31 * DAY + 1}&bucket_width=1h`, 'start_time'],
      ['scope=team', 'scope'],
      ['scope=', 'scope'],
      ['start_time=1&start_time=2', 'start_time'],
    ])('%s is a 400 that names %s', async (query, param) => {
      const { status, details } = await refused(query)
      expect(status).toBe(400)
      expect(details?.map((wrong) => wrong.param)).toEqual([param])
    })

    test('the longest ranges are accepted: 366 days by day, 31 days by hour', async () => {
      expect((await usage({ start_time: 0, end_time: 366 * DAY })).buckets).toHaveLength(366)
      expect((await usage({ start_time: 0, end_time: 31 * DAY, bucket_width: '1h' })).buckets).toHaveLength(31 * 24)
    })

    test('all wrong parameters are listed at once, scope with them (spec D2)', async () => {
      const { details } = await refused('scope=team&bucket_width=2h&timezone=Mars&start_time=x&end_time=y')
      expect(details?.map(({ param }) => param).toSorted()).toEqual([
        'bucket_width',
        'end_time',
        'scope',
        'start_time',
        'timezone',
      ])
    })
  })

  test('scope=account needs an OAuth session: with a key it is 403 insufficient_permissions', async () => {
    expect(await refused('scope=account')).toMatchObject({
      status: 403,
      type: 'permission_error',
      code: 'insufficient_permissions',
    })
    expect((await usage({ scope: 'key' })).scope).toBe('key')
  })

  describe('GET /v1/usage/{id} (spec D1, D8)', () => {
    const explained = async (id: string, as = key) => (await gateway.as(as, `/v1/usage/${id}`)).json()

    test('explains a charge by our id and by the id of the caller: price version, inputs, arithmetic', async () => {
      const headers = { 'x-request-id': 'order-7' }
      const answer = await gateway.as(key, IMAGES_CALL, { headers })
      const id = String(answer.headers.get('x-gateway-request-id'))
      const body = await explained(id)
      expect(body).toMatchObject({
        id,
        client_request_id: 'order-7',
        at: new Date(gateway.clock.now()).toISOString(),
        key_id: key.id,
        operation: 'image-search',
        status: 200,
        code: null,
        cost_micros_usd: PRICE,
        ip: '127.0.0.1',
        charge: {
          currency: 'USD',
          price_version: '2.0.0',
          inputs: { unit: 'request', units: 1, unit_price_micros_usd: PRICE },
          arithmetic: '1 request x 0.005 USD = 0.005 USD',
          charged_micros_usd: PRICE,
        },
      })
      expect(await explained('order-7')).toEqual(body)
    })

    test("an operator's price is explained by its own version", async () => {
      const own = await gateway.account()
      const ownKey = await gateway.key(own)
      const actor = { kind: 'operator', id: 'test', address: null } as const
      const price = await gateway.core.operator.setPrice(actor, 'image-search', own.id, micros(12_000))
      const answer = await gateway.as(ownKey, IMAGES_CALL)
      const { charge } = await explained(String(answer.headers.get('x-gateway-request-id')), ownKey)
      expect(price.ok && charge).toMatchObject({
        price_version: price.ok && price.value.id,
        charged_micros_usd: 12_000,
      })
    })

    test("another key's call, another account's call and an unknown id are the same 404", async () => {
      const headers = { 'x-request-id': 'mine-alone' }
      const id = (await gateway.as(key, IMAGES_CALL, { headers })).headers.get('x-gateway-request-id')
      const strangers = [await gateway.key(account), await gateway.key(await gateway.account())]
      for (const stranger of strangers)
        for (const path of [id, 'mine-alone', 'req_x', '%00', "'--"])
          expect(await verdictOf(gateway.as(stranger, `/v1/usage/${path}`))).toBe('404 resource_not_found')
    })
  })
})

describe('GET /v1/credits/balance (spec D8)', () => {
  let gateway: Harness

  beforeAll(async () => {
    gateway = await openHarness()
  })
  afterAll(() => endAndReconcile(gateway))

  const balance = async (key: MadeKey) => {
    const answer = await gateway.as(key, '/v1/credits/balance')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    return answer.json()
  }

  test('of an unlimited key says what the account has and the key used', async () => {
    const key = await gateway.key(await gateway.account())
    await gateway.as(key, IMAGES_CALL)
    expect(await balance(key)).toEqual({
      currency: 'USD',
      account_balance_micros_usd: null,
      available_balance_micros_usd: 2_000_000 - PRICE,
      api_key: { unlimited: true, remaining_micros_usd: null, used_micros_usd: PRICE },
      as_of: new Date(gateway.clock.now()).toISOString(),
    })
  })

  test('of a limited key says what is left of its limit, zero when it is exhausted', async () => {
    const key = await gateway.key(await gateway.account(), { spending_limit: 0.01 })
    await gateway.as(key, IMAGES_CALL)
    // The account has more: the key's holder learns only of what the key can spend.
    expect(await balance(key)).toMatchObject({
      available_balance_micros_usd: PRICE,
      api_key: { unlimited: false, remaining_micros_usd: PRICE, used_micros_usd: PRICE },
    })
    await gateway.as(key, IMAGES_CALL)
    expect((await balance(key)).api_key).toMatchObject({ remaining_micros_usd: 0, used_micros_usd: 2 * PRICE })
  })

  test('the hold of a call under way is not available', async () => {
    const key = await gateway.key(await gateway.account())
    let during: { available_balance_micros_usd: number } | null = null
    gateway.images.answer = async () => {
      during = await balance(key)
      return ok({ body: '{}' })
    }
    expect((await gateway.as(key, IMAGES_CALL)).status).toBe(200)
    expect(during).toMatchObject({ available_balance_micros_usd: 2_000_000 - PRICE })
  })
})
