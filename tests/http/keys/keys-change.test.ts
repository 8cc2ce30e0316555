import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Harness, openHarness } from '../../support/harness'
import { callWith, closeReconciled, keyBench, type Owner, refusalOf } from '../owner-bench'

let gateway: Harness
let owner: Owner
let stranger: Owner
let keys: ReturnType<typeof keyBench>

beforeAll(async () => {
  gateway = await openHarness()
  owner = await gateway.owner()
  stranger = await gateway.owner()
  keys = keyBench(owner)
})
afterAll(() => closeReconciled(gateway))

const refused = (id: string, body: unknown, who = owner) => refusalOf(who.api(`/api/keys/${id}`, body, 'PATCH'))
const inFuture = (ms: number) => new Date(gateway.clock.now() + ms).toISOString()

const MONTHLY = { limit_usd: 2, period: 'month', timezone: 'Asia/Tokyo' } as const

describe('PATCH', () => {
  test.each([
    ['name', 'a new name'],
    ['spending_limit', 3.5],
    ['allowed_ips', ['10.0.0.0/8', '127.0.0.1']],
    ['expires_at', '2099-01-01T00:00:00.000Z'],
    ['allowed_endpoints', ['llm-context']],
    ['allowed_models', ['sandbox/echo', 'sandbox/extract']],
    ['rpm_limit', 7],
    ['tpm_limit', 700],
    ['note', 'of the staging server'],
    ['budget', MONTHLY],
  ])('of %s changes only that', async (member, value) => {
    const { key } = await keys.create({
      spending_limit: 2,
      allowed_ips: ['127.0.0.1'],
      expires_at: inFuture(3_600_000),
      allowed_endpoints: ['image-search'],
      allowed_models: ['sandbox/embed'],
      rpm_limit: 30,
      tpm_limit: 3_000,
      budget: { limit_usd: 1, period: 'day', timezone: 'UTC' },
    })
    const month = {
      spent_micros_usd: 0,
      remaining_micros_usd: 2_000_000,
      starts_at: '2026-10-31T15:00:00.000Z',
      ends_at: '2026-11-30T15:00:00.000Z',
    }
    const money =
      member === 'spending_limit'
        ? { remaining_micros_usd: 3_500_000 }
        : member === 'budget'
          ? { budget_window: month, budgets: [MONTHLY], budget_windows: [{ period: 'month' as const, ...month }] }
          : {}
    const changed = await keys.change(key.id, { [member]: value })
    expect(changed).toEqual({ ...key, [member]: value, ...money })
    expect(await keys.get(key.id)).toEqual(changed)
  })

  test('with null removes what can be removed, and with an empty list allows all', async () => {
    const { key } = await keys.create({
      spending_limit: 2,
      allowed_ips: ['127.0.0.1'],
      expires_at: inFuture(3_600_000),
      allowed_endpoints: ['image-search'],
      rpm_limit: 30,
      tpm_limit: 3_000,
      note: 'a note',
      budget: { limit_usd: 1, period: 'day', timezone: 'UTC' },
    })
    const lifted = {
      note: null,
      spending_limit: null,
      expires_at: null,
      rpm_limit: null,
      tpm_limit: null,
      budget: null,
    }
    expect(await keys.change(key.id, { ...lifted, allowed_ips: [], allowed_endpoints: [] })).toMatchObject({
      ...lifted,
      remaining_micros_usd: null,
      allowed_ips: [],
      allowed_endpoints: [],
      name: key.name,
    })
  })

  test('without members changes nothing', async () => {
    const { key } = await keys.create({ spending_limit: 2 })
    expect(await keys.change(key.id, {})).toEqual(key)
  })

  test('of a name trims it, may repeat its own, and may not duplicate that of another live key', async () => {
    const { key } = await keys.create({ name: 'mine' })
    const { key: other } = await keys.create({ name: 'theirs' })
    expect((await keys.change(key.id, { name: ' mine ' })).name).toBe('mine')
    expect(await refused(key.id, { name: 'theirs' })).toMatchObject({ status: 400, param: 'name' })
    await keys.move(other.id, 'revoke')
    expect((await keys.change(key.id, { name: 'theirs' })).name).toBe('theirs')
  })

  test('lists every wrong member at once and changes none of the valid ones', async () => {
    const { key } = await keys.create()
    const { status, details = [] } = await refused(key.id, {
      name: '',
      spending_limit: '5',
      rpm_limit: 61,
      expires_at: inFuture(-1),
      allowed_models: ['sandbox/echo'],
      secret: 'gwk_mine',
    })
    expect(status).toBe(400)
    expect(details.map((detail) => detail.param).sort()).toEqual([
      'expires_at',
      'name',
      'rpm_limit',
      'secret',
      'spending_limit',
    ])
    expect(await keys.get(key.id)).toEqual(key)
  })
})

describe('the expiry', () => {
  test('in the past expires the key, and extended or removed revives it', async () => {
    const { key, secret } = await keys.create({ expires_at: inFuture(1_000) })
    expect(await callWith(gateway, secret)).toBe('200')
    gateway.clock.advance(1_000)
    expect(await callWith(gateway, secret)).toBe('401 expired_api_key')
    expect((await keys.get(key.id)).status).toBe('expired')
    expect((await keys.change(key.id, { expires_at: inFuture(1_000) })).status).toBe('active')
    expect(await callWith(gateway, secret)).toBe('200')
    gateway.clock.advance(1_000)
    expect(await callWith(gateway, secret)).toBe('401 expired_api_key')
    expect((await keys.change(key.id, { expires_at: null })).status).toBe('active')
    expect(await callWith(gateway, secret)).toBe('200')
  })

  test('is not changed with other settings, even when it has passed', async () => {
    const { key, secret } = await keys.create({ expires_at: inFuture(1_000) })
    gateway.clock.advance(1_000)
    expect(await keys.change(key.id, { name: 'still expired' })).toMatchObject({ status: 'expired' })
    expect(await callWith(gateway, secret)).toBe('401 expired_api_key')
  })
})

describe('stops_at', () => {
  test('is 409 on a key that was not replaced', async () => {
    const { key } = await keys.create()
    expect(await refused(key.id, { stops_at: inFuture(1_000) })).toMatchObject({ status: 409, code: 'invalid_state' })
  })

  test('moves on a replaced key, earlier and later; the past means now', async () => {
    const { key, secret } = await keys.create()
    const { key: successor } = await keys.rotate(key.id, { grace_period_seconds: 10 })
    const later = inFuture(60_000)
    expect(await keys.change(key.id, { stops_at: later })).toMatchObject({ stops_at: later, status: 'active' })
    gateway.clock.advance(59_999)
    expect(await callWith(gateway, secret)).toBe('200')
    expect(await refused(successor.id, { stops_at: later })).toMatchObject({ status: 409 })
    const stopped = await keys.change(key.id, { stops_at: inFuture(-3_600_000) })
    expect(stopped).toMatchObject({ status: 'revoked', stops_at: new Date(gateway.clock.now()).toISOString() })
    expect(await callWith(gateway, secret)).toBe('401 invalid_api_key')
    expect(await refused(key.id, { stops_at: later })).toMatchObject({ status: 409, code: 'invalid_state' })
  })

  test.each([[null], ['soon'], [0]])('cannot be %p', async (value) => {
    const { key } = await keys.create()
    await keys.rotate(key.id)
    expect(await refused(key.id, { stops_at: value })).toMatchObject({ status: 400, param: 'stops_at' })
  })
})

describe('409 and 404', () => {
  test('a revoked key cannot change', async () => {
    const { key } = await keys.create()
    await keys.move(key.id, 'revoke')
    expect(await refused(key.id, { spending_limit: 5 })).toMatchObject({
      status: 409,
      type: 'invalid_request_error',
      code: 'invalid_state',
    })
  })

  test("another account's key is not found by any route, like one that never existed (spec D3)", async () => {
    const { key, secret } = await keys.create()
    const routes: [string, string, unknown][] = [
      ['GET', '', undefined],
      ['PATCH', '', { name: 'stolen' }],
      ['POST', '/rotate', {}],
      ['POST', '/disable', undefined],
      ['POST', '/enable', undefined],
      ['POST', '/revoke', undefined],
    ]
    for (const [method, tail, body] of routes)
      for (const [who, id] of [
        [stranger, key.id],
        [owner, 'key_00000000000000000000000000000000'],
        [owner, '__proto__'],
      ] as const)
        expect(await refusalOf(who.api(`/api/keys/${id}${tail}`, body, method))).toMatchObject({
          status: 404,
          code: 'resource_not_found',
          message: 'This key does not exist.',
        })
    expect(await keys.get(key.id)).toEqual(key)
    expect(await callWith(gateway, secret)).toBe('200')
  })
})

describe('a change', () => {
  test('of addresses, endpoints or RPM applies to the next call', async () => {
    const { key, secret } = await keys.create()
    const steps: [Record<string, unknown>, string][] = [
      [{ allowed_ips: ['10.0.0.0/8'] }, '403 ip_not_allowed'],
      [{ allowed_ips: ['127.0.0.0/8'] }, '200'],
      [{ allowed_ips: ['::ffff:127.0.0.1'] }, '200'],
      [{ allowed_endpoints: ['llm-context'] }, '403 insufficient_permissions'],
      [{ allowed_endpoints: ['image-search'] }, '200'],
      [{ rpm_limit: 5 }, '429 rate_limit_exceeded'],
      [{ rpm_limit: null }, '200'],
    ]
    for (const [body, outcome] of steps) {
      await keys.change(key.id, body)
      expect(await callWith(gateway, secret)).toBe(outcome)
    }
  })
})
