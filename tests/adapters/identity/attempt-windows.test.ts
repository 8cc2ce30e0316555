import { describe, expect, test } from 'bun:test'
import { openAttemptWindows } from '../../../server/adapters/identity/sign-in/attempt-windows'

const rule = { window: 60, max: 2 }

function windowsAt(now: { ms: number }) {
  return openAttemptWindows({ now: () => now.ms })
}

describe('attempt windows', () => {
  test('refuse after the last allowed attempt, and give the correct wait', () => {
    const now = { ms: 1_000_000 }
    const windows = windowsAt(now)
    expect(windows.take('a', rule).allowed).toBe(true)
    now.ms += 20_500
    expect(windows.take('a', rule).allowed).toBe(true)
    expect(windows.take('a', rule)).toEqual({ allowed: false, retryAfter: 40 })
    now.ms += 39_499
    expect(windows.take('a', rule)).toEqual({ allowed: false, retryAfter: 1 })
    now.ms += 1
    expect(windows.take('a', rule)).toEqual({ allowed: true, retryAfter: null })
  })

  test('never refuse a steady caller below the limit', () => {
    const now = { ms: 0 }
    const windows = windowsAt(now)
    for (let attempt = 0; attempt < 100; attempt++) {
      expect(windows.take('a', rule).allowed).toBe(true)
      now.ms += 30_000
    }
  })

  test('count each key separately', () => {
    const windows = windowsAt({ ms: 0 })
    windows.take('a', rule)
    windows.take('a', rule)
    expect(windows.take('a', rule).allowed).toBe(false)
    expect(windows.take('b', rule).allowed).toBe(true)
  })

  test('track a bounded number of keys: the oldest are dropped first, and the newest stay limited', () => {
    const windows = windowsAt({ ms: 0 })
    const once = { window: 60, max: 1 }
    for (let key = 0; key < 120_000; key++) windows.take(`k${key}`, once)
    expect(windows.take('k119999', once).allowed).toBe(false)
    expect(windows.take('k0', once).allowed).toBe(true)
  })
})
