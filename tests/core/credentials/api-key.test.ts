import { describe, expect, test } from 'bun:test'
import { keyState, keyStatus } from '../../../server/core/credentials/api-key'
import { micros } from '../../../server/core/money'
import { apiKey, NOON } from '../../support/ledger-parts'

const REVOKED = { revokedAt: NOON - 1 }
const STOPPED = { stopsAt: NOON }
const DISABLED = { disabledAt: NOON - 1 }
const EXPIRED = { expiresAt: NOON }
const pool = (spent: number, limit: number | null) => ({
  id: 'pool_1' as const,
  accountId: 'acct_1' as const,
  limit: limit === null ? null : micros(limit),
  spent: micros(spent),
})
const status = (facts: Parameters<typeof apiKey>[1], spent = 0, limit: number | null = 10) =>
  keyStatus(apiKey('acct_1', facts), pool(spent, limit), NOON)

describe('the status of a key (spec 3)', () => {
  test('is the first that applies of revoked, disabled, expired, exhausted, active', () => {
    const all = { ...REVOKED, ...DISABLED, ...EXPIRED }
    expect(status(all, 10)).toBe('revoked')
    expect(status({ ...STOPPED, ...DISABLED, ...EXPIRED }, 10)).toBe('revoked')
    expect(status({ ...DISABLED, ...EXPIRED }, 10)).toBe('disabled')
    expect(status(EXPIRED, 10)).toBe('expired')
    expect(status({}, 10)).toBe('exhausted')
    expect(status({}, 9)).toBe('active')
  })

  test('is exhausted when spent reaches the limit, or exceeds a lowered one; never without a limit', () => {
    expect([9, 10, 11].map((spent) => status({}, spent))).toEqual(['active', 'exhausted', 'exhausted'])
    expect(status({}, 1_000_000, null)).toBe('active')
  })

  test('changes at the exact millisecond that a key expires or ends', () => {
    expect([NOON + 1, NOON, NOON - 1].map((expiresAt) => status({ expiresAt }))).toEqual([
      'active',
      'expired',
      'expired',
    ])
    expect([NOON + 1, NOON, NOON - 1].map((stopsAt) => status({ stopsAt }))).toEqual(['active', 'revoked', 'revoked'])
  })

  test('of a replaced key is active until its grace period ends', () => {
    expect(status({ replacedBy: 'key_2', stopsAt: NOON + 1 })).toBe('active')
  })

  test('ignores exhaustion where a key only has to be usable', () => {
    expect(keyState(apiKey('acct_1'), NOON)).toBe('usable')
    for (const [facts, state] of [
      [REVOKED, 'revoked'],
      [DISABLED, 'disabled'],
      [EXPIRED, 'expired'],
    ] as const)
      expect(keyState(apiKey('acct_1', facts), NOON)).toBe(state)
  })
})
