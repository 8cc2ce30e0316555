import { describe, expect, test } from 'bun:test'

// The order of ids is kept by the module, for the whole process: these tests play with time in a copy of their own.
const copy = '../../server/core/ids.ts?alone'
const { makeId } = (await import(copy)) as typeof import('../../server/core/ids')

let later = Date.UTC(2100, 0, 1)
const nextHour = () => {
  later += 3_600_000
  return later
}

describe('an id', () => {
  test('is its prefix and 32 hex digits of a UUIDv7', () => {
    expect(makeId('req', nextHour())).toMatch(/^req_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/)
    for (const prefix of ['acct', 'key', 'pool', 'txn', 'price', 'audit'] as const)
      expect(makeId(prefix, later).startsWith(`${prefix}_`)).toBe(true)
  })

  test('begins with its creation time', () => {
    const at = nextHour()
    expect(Number.parseInt(makeId('txn', at).slice(4, 16), 16)).toBe(at)
  })

  test('sorts by creation time', () => {
    const [first, second] = [makeId('key', nextHour()), makeId('key', nextHour())]
    expect(first < second).toBe(true)
  })

  test('sorts by order of creation within one millisecond, for any number of ids', () => {
    const at = nextHour()
    const made = Array.from({ length: 10_000 }, () => makeId('req', at))
    expect(made).toEqual([...made].sort())
    expect(new Set(made).size).toBe(made.length)
  })

  test('sorts by order of creation when the clock goes back', () => {
    const at = nextHour()
    const made = [at, at - 1, at - 86_400_000, 0, at, at + 1].map((now) => makeId('req', now))
    expect(made).toEqual([...made].sort())
    expect(new Set(made).size).toBe(made.length)
  })

  test('has 62 random bits in addition to its time and order', () => {
    const tails = new Set(Array.from({ length: 5000 }, () => makeId('req', later).slice(-16)))
    expect(tails.size).toBe(5000)
  })
})
