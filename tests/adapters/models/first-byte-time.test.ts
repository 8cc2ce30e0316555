import { expect, test } from 'bun:test'
import { FirstByteTime } from '../../../server/adapters/models/first-byte-time'

test('an upstream without a recent time comes first, once; then its average counts, for streams apart; running out of time counts at once', () => {
  const breaker: { state: 'closed' | 'open' | 'probing' } = { state: 'closed' }
  const [one, two] = [new FirstByteTime(breaker), new FirstByteTime({ state: 'closed' })]
  const fastest = (isStream = false) => (one.of(isStream) <= two.of(isStream) ? 'one' : 'two')
  two.measured(1, false)
  expect(fastest()).toBe('one')
  one.asked(false)
  expect(fastest()).toBe('two')
  one.measured(100, false)
  two.measured(1001, false)
  // 1 + (1001 - 1) x 0.2
  expect([one.of(false), two.of(false)]).toEqual([100, 201])
  expect(fastest()).toBe('one')
  one.measured(50, true)
  expect([one.of(true), one.of(false)]).toEqual([50, 100])
  one.ranOut(30_000, false)
  expect(fastest()).toBe('two')
  expect(one.of(true)).toBe(50)
  breaker.state = 'open'
  two.measured(1_000_000, true)
  expect(fastest(true)).toBe('two')
})
