import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Harness, openHarness } from '../../support/harness'
import {
  auditRows,
  callWith,
  closeReconciled,
  keyBench,
  type MadeKey,
  type Owner,
  read,
  refusalOf,
} from '../owner-bench'

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

let names = 0
const freeName = () => `free ${++names}`
const refused = (body: unknown) => refusalOf(owner.api('/api/keys', body, 'POST'))
const inFuture = (ms: number) => new Date(gateway.clock.now() + ms).toISOString()

describe('201', () => {
  test('returns the whole record with every default, the secret, and no-store (spec 2.1, spec D3)', async () => {
    const answer = await owner.api('/api/keys', { name: '  first  ' })
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const { key, secret } = await read<MadeKey>(answer, 201)
    expect(key).toEqual({
      id: expect.stringMatching(/^key_[0-9a-f]{32}$/),
      name: 'first',
      prefix: secret.slice(0, 8),
      last4: secret.slice(-4),
      status: 'active',
      spending_limit: null,
      spent_micros_usd: 0,
      remaining_micros_usd: null,
      allowed_ips: [],
      expires_at: null,
      created_at: new Date(gateway.clock.now()).toISOString(),
      created_by: null,
      last_used_at: null,
      stops_at: null,
      budget: null,
      budget_window: null,
      budgets: [],
      budget_windows: [],
      scope_budget: null,
      allowed_endpoints: [],
      allowed_models: [],
      rpm_limit: null,
      tpm_limit: null,
      note: null,
      tags: [],
      pinned_operations: [],
      replaces: null,
      replaced_by: null,
      made_by: { id: expect.any(String), name: 'Ada' },
    })
    expect(await callWith(gateway, secret)).toBe('200')
  })

  test('stores every field as sent', async () => {
    const body = {
      name: 'everything',
      spending_limit: 12.345678,
      allowed_ips: ['10.0.0.0/8', '2001:db8::/32', '127.0.0.1'],
      expires_at: inFuture(60_000),
      budget: { limit_usd: 0.5, period: 'week', timezone: 'Europe/Berlin' },
      allowed_endpoints: ['llm-context', 'image-search'],
      allowed_models: ['sandbox/echo'],
      rpm_limit: 59,
      tpm_limit: 59_999,
      note: 'Two lines:\nof the staging server.',
      tags: ['production', 'team a'],
    }
    const { key } = await keys.create(body)
    expect(key).toMatchObject({ ...body, remaining_micros_usd: 12_345_678 })
    expect(await keys.get(key.id)).toEqual(key)
  })

  test('generates a secret of gwk_, 43 base62 characters and 6 of their CRC32, never the same (spec D3)', async () => {
    const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
    const secrets = await Promise.all([1, 2, 3].map(async () => (await keys.create()).secret))
    expect(new Set(secrets).size).toBe(3)
    for (const secret of secrets) {
      expect(secret).toMatch(/^gwk_[0-9A-Za-z]{49}$/)
      const checksum = [...secret.slice(-6)].reduce((sum, character) => sum * 62 + alphabet.indexOf(character), 0)
      expect(checksum).toBe(Bun.hash.crc32(secret.slice(0, -6)))
    }
  })

  test.each([
    ['name', 'x'],
    ['name', '😀'.repeat(64)],
    ['spending_limit', null],
    ['spending_limit', 0.000001],
    ['spending_limit', 1_000_000],
    ['spending_limit', 999_999.999999],
    ['allowed_ips', ['0.0.0.0/0', '::/0']],
    ['allowed_endpoints', []],
    ['rpm_limit', 1],
    ['rpm_limit', 60],
    ['tpm_limit', 60_000],
    ['tpm_limit', null],
    ['budget', null],
    ['budget', { limit_usd: 0.000001, period: 'month', timezone: 'UTC' }],
    ['budget', { limit_usd: 1_000_000, period: 'day', timezone: 'America/New_York' }],
    ['note', null],
    ['note', '😀'.repeat(500)],
    ['tags', Array.from({ length: 10 }, (_, i) => `${i}${'😀'.repeat(31)}`)],
    ['expires_at', null],
    ['expires_at', '2099-12-31T23:59:59.999Z'],
  ])('accepts %s %j', async (member, value) => {
    const { key } = await keys.create({ name: freeName(), [member]: value })
    expect(Reflect.get(key, member)).toEqual(value)
  })

  test('accepts any time zone of RFC 3339 and answers in UTC', async () => {
    const { key } = await keys.create({ expires_at: '2099-01-01T01:30:00+01:30' })
    expect(key.expires_at).toBe('2099-01-01T00:00:00.000Z')
  })
})

describe('400', () => {
  const usd = /USD from 0\.000001 to 1000000 with at most 6 decimals, or null \(no limit\)/
  test.each([
    ['name', '', /1 to 64 characters/],
    ['name', '   ', /1 to 64 characters/],
    ['name', 'x'.repeat(65), /1 to 64 characters/],
    ['name', 5, /1 to 64 characters/],
    ['name', null, /1 to 64 characters/],
    ['name', 'two\nlines', /without control, direction or zero-width characters/],
    ['name', 'nul\u0000', /without control, direction or zero-width characters/],
    ['name', 'turned\u202Eedisni', /without control, direction or zero-width characters/],
    ['name', 'zero\u200bwidth', /without control, direction or zero-width characters/],
    ['name', 'half\ud800', /without control, direction or zero-width characters/],
    ['spending_limit', 0, usd],
    ['spending_limit', -1, usd],
    ['spending_limit', 0.0000001, usd],
    ['spending_limit', 0.0000015, usd],
    ['spending_limit', 1_000_000.000001, usd],
    ['spending_limit', '5', usd],
    ['spending_limit', true, usd],
    ['spending_limit', [1], usd],
    ['allowed_ips', 'localhost', /list of at most 50/],
    ['allowed_ips', null, /list of at most 50/],
    ['allowed_ips', [7], /list of at most 50/],
    ['allowed_ips', ['10.0.0.1', 'example.com'], /"example\.com" must be an IPv4 or IPv6 address, or a CIDR range/],
    ['allowed_ips', ['10.1.2.3/8'], /the network is 10\.0\.0\.0\/8/],
    ['expires_at', 'tomorrow', /RFC 3339/],
    ['expires_at', '2099-01-01', /RFC 3339/],
    ['expires_at', '2099-01-01T00:00:00', /RFC 3339/],
    ['expires_at', '2099-13-01T00:00:00Z', /RFC 3339/],
    ['expires_at', '2099-02-30T00:00:00Z', /RFC 3339/],
    ['expires_at', 4_102_444_800, /RFC 3339/],
    ['expires_at', '2001-01-01T00:00:00Z', /must be in the future/],
    ['allowed_endpoints', ['image-search', 'gold'], /any of image-search, llm-context/],
    ['allowed_endpoints', ['toString'], /any of image-search, llm-context/],
    ['allowed_endpoints', 'image-search', /any of image-search, llm-context/],
    ['allowed_models', [''], /model ids/],
    ['allowed_models', 'all', /model ids/],
    ['pinned_operations', 'weather.forecast', /list of at most 40 operations/],
    ['pinned_operations', ['weather.forecast'], /names an operation that is not on sale/],
    ['allowed_models', ['sandbox/echo', 'gpt-99'], /names a model that does not exist. GET \/v1\/models/],
    ['rpm_limit', 61, /at most 60, the limit of your tier/],
    ['rpm_limit', 0, /must be a positive integer, or null/],
    ['rpm_limit', 1.5, /must be a positive integer, or null/],
    ['rpm_limit', '5', /must be a positive integer, or null/],
    ['tpm_limit', 60_001, /at most 60000, the limit of your tier/],
    ['tpm_limit', -1, /must be a positive integer, or null/],
    ['note', '', /text of 1 to 500 characters, .* or null \(no note\)/],
    ['note', 'x'.repeat(501), /text of 1 to 500 characters/],
    ['note', 'turned\u202Eedisni', /without control, direction or zero-width characters/],
    ['tags', 'production', /at most 10 tags of 1 to 32 characters/],
    ['tags', [' '], /at most 10 tags of 1 to 32 characters/],
    ['tags', ['x'.repeat(33)], /at most 10 tags of 1 to 32 characters/],
    ['tags', ['a,b'], /without commas/],
    ['tags', ['two\nlines'], /without control/],
    ['tags', [5], /at most 10 tags/],
    ['tags', null, /at most 10 tags/],
    ['tags', Array.from({ length: 11 }, (_, i) => `${i}`), /at most 10 tags/],
    ['note', 5, /text of 1 to 500 characters/],
    ['budget', { limit_usd: 1, period: 'year', timezone: 'UTC' }, /^period must be one of day, week, month$/],
    ['budget', { limit_usd: 1, period: 'day', timezone: 'Mars/Olympus' }, /IANA time zone/],
    ['budget', { limit_usd: 0, period: 'day', timezone: 'UTC' }, /^limit_usd must be USD from 0\.000001 to 1000000/],
    ['budget', { limit_usd: 1_000_001, period: 'day', timezone: 'UTC' }, /^limit_usd must be USD from/],
    ['budget', { limit_usd: 1, period: 'day' }, /^timezone is required$/],
    ['budget', { limit_usd: 1, period: 'day', timezone: 'UTC', carry: true }, /^carry is not a known property$/],
    ['budget', 5, /^must be an object, or null$/],
    ['budgets', Array(4).fill({ limit_usd: 1, period: 'day', timezone: 'UTC' }), /0 to 3 entries/],
    [
      'budgets',
      Array(2).fill({ limit_usd: 1, period: 'day', timezone: 'UTC' }),
      /each of day, week and month at most once/,
    ],
    [
      'budgets',
      [{ limit_usd: 1, period: 'day', timezone: 'UTC', raise: { usd: 0, until: '2099-01-01T00:00:00Z' } }],
      /usd must be USD/,
    ],
    [
      'budgets',
      [{ limit_usd: 1, period: 'day', timezone: 'UTC', raise: { usd: 1, until: '2001-01-01T00:00:00Z' } }],
      /raise\.until in the future/,
    ],
    ['stops_at', '2099-01-01T00:00:00Z', /is not a known property/],
    ['status', 'active', /is not a known property/],
    ['spent_micros_usd', 0, /is not a known property/],
    ['__proto__x', 1, /is not a known property/],
    ['constructor', 1, /is not a known property/],
  ])('names %s %j and its rule', async (member, value, rule) => {
    expect(await refused({ name: 'never made', [member]: value })).toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      code: 'invalid_parameter',
      param: member,
      details: [{ param: member, in: 'body', rule: expect.stringMatching(rule) }],
    })
  })

  test('the 51st address of a list; 50 are accepted', async () => {
    const addresses = Array.from({ length: 51 }, (_, i) => `10.0.0.${i}`)
    expect((await keys.create({ allowed_ips: addresses.slice(1) })).key.allowed_ips).toEqual(addresses.slice(1))
    expect(await refused({ name: freeName(), allowed_ips: addresses })).toMatchObject({ param: 'allowed_ips' })
  })

  test('a missing name is missing_parameter', async () => {
    expect(await refused({})).toMatchObject({ status: 400, code: 'missing_parameter', param: 'name' })
  })

  test('lists all wrong members at once, including those that the tier forbids (spec D2)', async () => {
    const { details = [] } = await refused({ spending_limit: -1, rpm_limit: 61, tpm_limit: 60_001, colour: 'red' })
    expect(details.map((detail) => detail.param).sort()).toEqual([
      'colour',
      'name',
      'rpm_limit',
      'spending_limit',
      'tpm_limit',
    ])
  })

  test('a name of another live key of the account, trimmed, but not of other accounts', async () => {
    const { key } = await keys.create({ name: 'taken' })
    expect(await refused({ name: ' taken ' })).toMatchObject({ status: 400, param: 'name' })
    expect((await stranger.api('/api/keys', { name: 'taken' })).status).toBe(201)
    await keys.move(key.id, 'disable')
    expect(await refused({ name: 'taken' })).toMatchObject({ status: 400, param: 'name' })
    await keys.move(key.id, 'revoke')
    expect((await owner.api('/api/keys', { name: 'taken' })).status).toBe(201)
  })

  test('of one name sent ten times concurrently answers nine of ten', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => owner.api('/api/keys', { name: 'race' })))
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, ...Array.from({ length: 9 }, () => 400)])
  })

  test.each([[[]], ['text'], [5], [null], [undefined]])('a body of %p', async (body) => {
    expect(await refused(body)).toMatchObject({ status: 400, code: 'invalid_parameter', param: 'body' })
  })

  test('a body that is not JSON; 415 one that is not declared as JSON; 413 one over 1 MiB', async () => {
    const post = (body: string, type = 'application/json') =>
      refusalOf(
        gateway.call('/api/keys', { method: 'POST', headers: { cookie: owner.cookie, 'content-type': type }, body }),
      )
    expect(await post('{"name":')).toMatchObject({ status: 400, code: 'json_parse_error' })
    expect(await post('name=x', 'application/x-www-form-urlencoded')).toMatchObject({ status: 415 })
    expect(await post(JSON.stringify({ name: 'x'.repeat(1024 * 1024) }))).toMatchObject({ status: 413 })
  })
})

describe('a secret', () => {
  test('is returned once and appears nowhere else: not in lists, reports, audit, log or any byte on disk', async () => {
    const { key, secret } = await keys.create({ name: 'a name that is on disk' })
    const next = await keys.rotate(key.id)
    for (const one of [secret, next.secret]) expect(await callWith(gateway, one)).toBe('200')
    await gateway.as(secret, '/v1/no-such-route')
    await keys.change(key.id, { spending_limit: 1 })
    await gateway.core.stores.journal.drained()

    const paths = ['/api/keys', '/api/keys?status=revoked', `/api/keys/${key.id}`, '/api/requests', '/api/usage.csv']
    const answers = await Promise.all(paths.map(async (path) => (await owner.api(path)).text()))
    const files = await readdir(gateway.folder)
    const disk = await Promise.all(files.map((name) => readFile(join(gateway.folder, name), 'latin1').catch(() => '')))
    const everything = [...answers, ...disk, ...gateway.logged, JSON.stringify(await auditRows(gateway))].join('\n')
    expect(disk.join('')).toContain('a name that is on disk')
    for (const one of [secret, next.secret]) {
      expect(everything).not.toContain(one)
      expect(everything).not.toContain(one.slice(12, -6))
    }
  })
})
