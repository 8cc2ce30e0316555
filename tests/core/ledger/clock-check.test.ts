import { expect, test } from 'bun:test'
import { clockProblem } from '../../../server/core/ledger/clock-check'

const NOW = Date.UTC(2026, 10, 23, 12)
const [MINUTE, DAY] = [60_000, 86_400_000]

test.each([
  ['a new database', { entry: null, audit: null }],
  ['an entry of now', { entry: NOW, audit: null }],
  ['an entry of five minutes ahead, as after a correction of the clock', { entry: NOW + 5 * MINUTE, audit: null }],
  ['a gateway that was off for 90 days', { entry: NOW - 90 * DAY, audit: null }],
  ['a gateway without entries whose operator was there yesterday', { entry: NOW - 365 * DAY, audit: NOW - DAY }],
])('the clock is believed for %s', (_, last) => {
  expect(clockProblem(NOW, last)).toBeNull()
})

test.each([
  [
    'before the last entry',
    { entry: NOW + 6 * MINUTE, audit: null },
    'before the last entry of the ledger (2026-11-23T12:06:00.000Z)',
  ],
  [
    '91 days after every change',
    { entry: NOW - 92 * DAY, audit: NOW - 91 * DAY },
    '91 days after the last change of the data (2026-08-24T12:00:00.000Z)',
  ],
])('the clock is not believed %s', (_, last, words) => {
  const problem = clockProblem(NOW, last)
  expect(problem).toContain(`the clock of this machine says 2026-11-23T12:00:00.000Z, ${words}`)
  expect(problem).toContain('start once with --accept-clock')
})
