import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { type Harness, openHarness, WIDE } from '../../support/harness'
import {
  callWith,
  closeReconciled,
  IMAGES,
  keyBench,
  type MadeKey,
  type Owner,
  read,
  refusalOf,
  signedInJustNow,
} from '../owner-bench'

const DAY_MS = 86_400_000

let gateway: Harness
let owner: Owner
let keys: ReturnType<typeof keyBench>

beforeAll(async () => {
  gateway = await openHarness()
  owner = await gateway.owner()
  keys = keyBench(owner)
})
beforeEach(() => signedInJustNow(gateway))
afterAll(() => closeReconciled(gateway))

const refused = (id: string, body?: unknown) => refusalOf(owner.api(`/api/keys/${id}/rotate`, body, 'POST'))
const inFuture = (ms: number) => new Date(gateway.clock.now() + ms).toISOString()

describe('the successor (spec 5.4, spec D3)', () => {
  test('has the same settings, the same limit and the same spent amount, and its own id and secret', async () => {
    const { key, secret } = await keys.create({
      spending_limit: 1,
      allowed_ips: ['127.0.0.1'],
      expires_at: inFuture(40 * DAY_MS),
      budget: { limit_usd: 1, period: 'day', timezone: 'UTC' },
      allowed_endpoints: ['image-search'],
      allowed_models: ['sandbox/echo'],
      rpm_limit: 30,
      tpm_limit: 3_000,
    })
    expect(await callWith(gateway, secret)).toBe('200')
    const answer = await owner.api(`/api/keys/${key.id}/rotate`, undefined, 'POST')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const next = await read<MadeKey>(answer, 201)
    const spent = { spent_micros_usd: 5_000, remaining_micros_usd: 995_000 }
    expect(next.key).toEqual({
      ...key,
      id: expect.stringMatching(/^key_[0-9a-f]{32}$/),
      prefix: next.secret.slice(0, 8),
      last4: next.secret.slice(-4),
      ...spent,
      budget_window: { ...(key.budget_window ?? { starts_at: '', ends_at: '' }), ...spent },
      budget_windows: key.budget_windows.map((window) => ({ ...window, ...spent })),
      replaces: key.id,
    })
    expect(next.key.id).not.toBe(key.id)
    expect(next.secret).toMatch(/^gwk_[0-9A-Za-z]{49}$/)
    expect(next.secret).not.toBe(secret)
    expect(await callWith(gateway, next.secret)).toBe('200')
  })

  test('shares one spend pool with the old key: what either spends counts for both', async () => {
    const { key, secret } = await keys.create({ spending_limit: 0.02 })
    expect(await callWith(gateway, secret)).toBe('200')
    const next = await keys.rotate(key.id)
    const outcomes: string[] = []
    for (const one of [secret, next.secret, secret, next.secret, secret]) outcomes.push(await callWith(gateway, one))
    const refused = '402 insufficient_api_key_balance'
    expect(outcomes).toEqual(['200', '200', '200', refused, refused])
    for (const id of [key.id, next.key.id])
      expect(await keys.get(id)).toMatchObject({ status: 'exhausted', spent_micros_usd: 20_000 })
  })

  test('of an exhausted key is exhausted: rotating raises no limit', async () => {
    const { key, secret } = await keys.create({ spending_limit: 0.005 })
    expect(await callWith(gateway, secret)).toBe('200')
    const next = await keys.rotate(key.id)
    expect(next.key).toMatchObject({ status: 'exhausted', remaining_micros_usd: 0 })
    expect(await callWith(gateway, next.secret)).toBe('402 insufficient_api_key_balance')
  })

  test('and the old key together never exceed the limit, also with 100 concurrent calls over both', async () => {
    const account = await gateway.account(0, WIDE)
    const old = await gateway.key(account, { spending_limit: 0.1 })
    const tier = { ...account, toppedUp: 0 as never }
    const actor = { kind: 'owner', id: 'test', address: null } as const
    const rotated = await gateway.core.keys.rotate({ accountId: account.id, tier, actor }, old.id, 86_400)
    if (!rotated.ok) throw new Error(rotated.error.message)
    const both = [old.secret, rotated.value.secret]
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, (_, i) => callWith(gateway, both[i % 2] ?? '', IMAGES)),
    )
    expect(outcomes.filter((outcome) => outcome === '200')).toHaveLength(20)
    expect(outcomes.filter((outcome) => outcome === '402 insufficient_api_key_balance')).toHaveLength(80)
  })

  test.each([
    ['a millisecond before its expiry keeps that expiry, and ends with it', DAY_MS - 1, DAY_MS],
    ['at its exact expiry has none, and works', DAY_MS, null],
    ['long after its expiry has none, and works', 3 * DAY_MS, null],
  ])('of a key %s', async (_when, later, expiry) => {
    const { key } = await keys.create({ expires_at: inFuture(DAY_MS) })
    gateway.clock.advance(later)
    await signedInJustNow(gateway)
    const next = await keys.rotate(key.id)
    expect(next.key.expires_at).toBe(expiry === null ? null : key.expires_at)
    expect(next.key.status).toBe('active')
    expect(await callWith(gateway, next.secret)).toBe('200')
    gateway.clock.advance(1)
    expect(await callWith(gateway, next.secret)).toBe(expiry === null ? '200' : '401 expired_api_key')
  })

  test('and the old key share every change of limit and budget', async () => {
    const { key } = await keys.create({ spending_limit: 1 })
    const next = await keys.rotate(key.id)
    const budget = { limit_usd: 3, period: 'week', timezone: 'UTC' }
    await keys.change(key.id, { spending_limit: 2 })
    expect(await keys.get(next.key.id)).toMatchObject({ spending_limit: 2, remaining_micros_usd: 2_000_000 })
    await keys.change(next.key.id, { spending_limit: null, budget })
    expect(await keys.get(key.id)).toMatchObject({ spending_limit: null, budget })
    await keys.change(key.id, { budget: null })
    expect(await keys.get(next.key.id)).toMatchObject({ budget: null })
  })

  test('does not share other changes with the old key', async () => {
    const { key } = await keys.create({ rpm_limit: 10 })
    const next = await keys.rotate(key.id)
    const before = await keys.get(key.id)
    await keys.change(next.key.id, { rpm_limit: 5, allowed_ips: ['10.0.0.1'], name: 'of its own' })
    expect(await keys.get(key.id)).toEqual(before)
  })

  test('can be rotated itself, on the same pool', async () => {
    const { key, secret } = await keys.create({ spending_limit: 0.01 })
    const second = await keys.rotate(key.id)
    const third = await keys.rotate(second.key.id)
    expect(third.key).toMatchObject({ replaces: second.key.id, replaced_by: null, name: key.name })
    expect(await callWith(gateway, secret)).toBe('200')
    expect(await callWith(gateway, second.secret)).toBe('200')
    expect(await callWith(gateway, third.secret)).toBe('402 insufficient_api_key_balance')
  })
})

describe('the name', () => {
  test('is shared only by a key and its successors, while the old key lives', async () => {
    const { key } = await keys.create({ name: 'app' })
    const { key: other } = await keys.create({ name: 'other app' })
    const next = await keys.rotate(key.id, { grace_period_seconds: 60 })
    expect(next.key.name).toBe('app')
    const create = (name: string) => refusalOf(owner.api('/api/keys', { name }))
    const rename = (id: string, name: string) => refusalOf(owner.api(`/api/keys/${id}`, { name }, 'PATCH'))
    expect(await create('app')).toMatchObject({ status: 400, param: 'name' })
    expect(await rename(key.id, 'other app')).toMatchObject({ status: 400, param: 'name' })
    expect(await rename(other.id, 'app')).toMatchObject({ status: 400, param: 'name' })
    await keys.change(next.key.id, { name: 'new app' })
    expect(await create('app')).toMatchObject({ status: 400, param: 'name' })
    expect((await keys.change(next.key.id, { name: 'app' })).name).toBe('app')
    await keys.change(next.key.id, { name: 'new app' })
    gateway.clock.advance(60_000)
    expect((await keys.create({ name: 'app' })).key.name).toBe('app')
  })
})

describe('the old key', () => {
  test.each([
    ['by default a day', undefined, DAY_MS],
    ['a day for an empty body', {}, DAY_MS],
    ['as long as was asked', { grace_period_seconds: 90 }, 90_000],
    ['at most 30 days', { grace_period_seconds: 2_592_000 }, 30 * DAY_MS],
  ])('works %s with replaced_by set, then is revoked', async (_how, body, grace) => {
    const { key, secret } = await keys.create()
    const next = await keys.rotate(key.id, body)
    const replaced = { replaced_by: next.key.id, stops_at: inFuture(grace) }
    expect(await keys.get(key.id)).toMatchObject({ ...replaced, status: 'active' })
    gateway.clock.advance(grace - 1)
    expect(await callWith(gateway, secret)).toBe('200')
    gateway.clock.advance(1)
    expect(await callWith(gateway, secret)).toBe('401 invalid_api_key')
    expect(await keys.get(key.id)).toMatchObject({ ...replaced, status: 'revoked' })
    expect(await callWith(gateway, next.secret)).toBe('200')
  })

  test('stops at once with a grace of 0, as for a leaked key', async () => {
    const { key, secret } = await keys.create()
    const next = await keys.rotate(key.id, { grace_period_seconds: 0 })
    expect(await callWith(gateway, secret)).toBe('401 invalid_api_key')
    expect((await keys.get(key.id)).status).toBe('revoked')
    expect(await callWith(gateway, next.secret)).toBe('200')
  })

  test('can be disabled, enabled and revoked earlier', async () => {
    const { key, secret } = await keys.create()
    const next = await keys.rotate(key.id)
    await keys.move(key.id, 'disable')
    expect(await callWith(gateway, secret)).toBe('401 api_key_disabled')
    expect(await callWith(gateway, next.secret)).toBe('200')
    await keys.move(key.id, 'enable')
    expect(await callWith(gateway, secret)).toBe('200')
    await keys.move(key.id, 'revoke')
    expect(await callWith(gateway, secret)).toBe('401 invalid_api_key')
    expect(await callWith(gateway, next.secret)).toBe('200')
  })
})

describe('409 invalid_state', () => {
  test('a key is rotated once, also with two concurrent requests', async () => {
    const { key } = await keys.create()
    const answers = await Promise.all([1, 2].map(() => owner.api(`/api/keys/${key.id}/rotate`, {})))
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, 409])
    expect(await refused(key.id)).toMatchObject({ status: 409, code: 'invalid_state' })
  })

  test('a revoked key cannot be rotated', async () => {
    const { key } = await keys.create()
    await keys.move(key.id, 'revoke')
    expect(await refused(key.id)).toMatchObject({ status: 409, code: 'invalid_state' })
  })
})

describe('400', () => {
  test.each([[-1], [2_592_001], [1.5], ['60'], [null], [true]])('a grace of %j seconds', async (seconds) => {
    const { key } = await keys.create()
    expect(await refused(key.id, { grace_period_seconds: seconds })).toMatchObject({
      status: 400,
      param: 'grace_period_seconds',
      details: [{ rule: 'must be an integer from 0 to 2592000' }],
    })
    expect((await keys.get(key.id)).replaced_by).toBeNull()
  })

  test('unknown members are named, together with a wrong grace', async () => {
    const { key } = await keys.create()
    const { details = [] } = await refused(key.id, { grace: 5, grace_period_seconds: -1, spending_limit: 100 })
    expect(details.map((detail) => detail.param).sort()).toEqual(['grace', 'grace_period_seconds', 'spending_limit'])
  })
})
