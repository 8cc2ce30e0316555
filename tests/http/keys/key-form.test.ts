import { describe, expect, test } from 'bun:test'
import { brokenKeyRules } from '../../../server/core/accounts/key-form'
import { TIER_LIMITS } from '../../../server/core/limits/tier'
import { micros } from '../../../server/core/money'
import { keyChangeForm, newKeyForm } from '../../../server/http/keys/record'
import { NOON } from '../../support/ledger-parts'

const LATER = new Date(NOON + 60_000).toISOString()
const good = (body: Record<string, unknown>) => {
  const sent = keyChangeForm(body)
  if (!sent.isWhole) throw new Error(JSON.stringify(sent.errors))
  return sent.form
}
/** The members that are refused, in order: by their own rules, then by those that need the clock and the tier. */
const bad = (body: unknown, purpose: 'create' | 'change' = 'change') => {
  const { form, errors } = purpose === 'create' ? newKeyForm(body) : keyChangeForm(body)
  return [...errors, ...brokenKeyRules(form, NOON, TIER_LIMITS.free)].map(({ param }) => param)
}
const refused = (member: string, values: readonly unknown[]) =>
  values.filter((value) => bad({ [member]: value }).length === 0)

describe('the form of a key (spec D3)', () => {
  test('sets what was sent and nothing else', () => {
    expect(good({})).toEqual({})
    expect(good({ name: ' mine ', rpm_limit: null })).toEqual({ name: 'mine', rpmLimit: null })
  })

  test('lists every wrong member at once, unknown ones included', () => {
    expect(bad({ name: '', spending_limit: 'x', allowed_ips: ['x'], colour: 1, rpm_limit: 0 })).toEqual([
      'name',
      'spending_limit',
      'allowed_ips',
      'rpm_limit',
      'colour',
    ])
    expect(bad({ __proto__: null, constructor: 1, toString: 1 })).toEqual(['constructor', 'toString'])
  })

  test('requires a name to create a key, and accepts stops_at only to change one', () => {
    expect(bad({}, 'create')).toEqual(['name'])
    expect(bad({ name: 'a', stops_at: LATER }, 'create')).toEqual(['stops_at'])
    expect(good({ stops_at: LATER })).toEqual({ stopsAt: NOON + 60_000 })
  })

  test('is an object', () => {
    for (const body of [null, undefined, [], 'x', 1, true]) expect(bad(body)).toEqual(['body'])
  })

  test('accepts a name of 1 to 64 characters, counted as code points', () => {
    expect(good({ name: '\u{1f511}'.repeat(64) }).name).toHaveLength(128)
    expect(refused('name', ['', '   ', 'a'.repeat(65), '\u{1f511}'.repeat(65), 7, null, 'a\u0000b', '\ud800'])).toEqual(
      [],
    )
  })

  test('accepts a spending limit of null or 0.000001 to 1000000 USD with at most six decimals', () => {
    expect(good({ spending_limit: null }).spendingLimit).toBeNull()
    expect(good({ spending_limit: 1.005 }).spendingLimit).toBe(micros(1_005_000))
    expect(good({ spending_limit: 0.000001 }).spendingLimit).toBe(micros(1))
    expect(good({ spending_limit: 1_000_000 }).spendingLimit).toBe(micros(1e12))
    expect(refused('spending_limit', [0, -0, -1, 1_000_000.000001, 0.1 + 0.2, 1e-7, '5', true, [], {}])).toEqual([])
  })

  test('accepts at most 50 addresses or ranges, proposes the network, and stores each once', () => {
    expect(good({ allowed_ips: [' 10.0.0.0/8', '10.0.0.0/8', '2001:DB8::1'] }).allowedIps).toEqual([
      '10.0.0.0/8',
      '2001:db8::1',
    ])
    expect(good({ allowed_ips: [] }).allowedIps).toEqual([])
    expect(keyChangeForm({ allowed_ips: ['10.0.0.1/8'] }).errors[0]?.rule).toContain('the network is 10.0.0.0/8')
    const many = Array.from({ length: 51 }, (_, i) => `10.0.0.${i}`)
    expect(refused('allowed_ips', [many, '10.0.0.1', null, [1], ['example.com']])).toEqual([])
  })

  test('accepts an existing time in the future for the expiry, or null', () => {
    expect(good({ expires_at: LATER }).expiresAt).toBe(NOON + 60_000)
    expect(good({ expires_at: '2026-11-21T14:00:01+02:00' }).expiresAt).toBe(NOON + 1000)
    expect(good({ expires_at: null }).expiresAt).toBeNull()
    const wrong = [
      new Date(NOON).toISOString(),
      '2027-02-30T00:00:00Z',
      '2027-01-01',
      'soon',
      NOON * 2,
      '2027-01-01T00:00:00',
    ]
    expect(refused('expires_at', wrong)).toEqual([])
  })

  test('accepts operations of the catalog only', () => {
    expect(good({ allowed_endpoints: ['llm-context', 'llm-context'] }).allowedEndpoints).toEqual(['llm-context'])
    expect(refused('allowed_endpoints', [['image_search'], ['toString'], 'llm-context', [null]])).toEqual([])
  })

  test('accepts limits of null or a whole number above zero', () => {
    for (const member of ['rpm_limit', 'tpm_limit'])
      expect(refused(member, [0, -1, 1.5, '1', Number.NaN, 2 ** 53])).toEqual([])
    expect(good({ rpm_limit: 1, tpm_limit: 9 })).toEqual({ rpmLimit: 1, tpmLimit: 9 })
  })

  test('accepts a budget with its amount, period and time zone, and no other member', () => {
    const budget = { limit_usd: 2.5, period: 'week', timezone: 'Europe/Berlin' }
    expect(good({ budget }).budget).toEqual({ limitUsd: 2.5, period: 'week', timezone: 'Europe/Berlin' })
    expect(good({ budget: null }).budget).toBeNull()
    const wrong = [
      { limit_usd: 0 },
      { limit_usd: 1e-7 },
      { limit_usd: 1e7 },
      { period: 'year' },
      { timezone: 'Mars/Base' },
      { more: 1 },
    ]
    expect(refused('budget', [...wrong.map((part) => ({ ...budget, ...part })), 5, [], 'x'])).toEqual([])
  })
})
