import { expect, test } from 'bun:test'
import { piecesOf } from '../../../server/adapters/stores/libsql/usage/usage-quarter-hours'

const SLOT = 15 * 60_000
const DAY = 96 * SLOT

test('ninety days in UTC read ninety daily sums, in Berlin also two hours of each day, and one hour reads its slots', () => {
  const slotsRead = (edges: readonly number[]) =>
    piecesOf(edges, { first: (edges[0] ?? 0) / SLOT, end: (edges.at(-1) ?? 0) / SLOT })
      .filter(({ unit }) => unit === 'quarter_hour')
      .reduce((total, { first, end }) => total + end - first, 0)
  const days = (offset: number) => Array.from({ length: 91 }, (_, i) => 20_000 * DAY + i * DAY + offset)
  expect(slotsRead(days(0))).toBe(0)
  expect(slotsRead(days(-2 * 4 * SLOT))).toBe(91 * 8)
  expect(slotsRead([20_000 * DAY, 20_000 * DAY + 4 * SLOT])).toBe(4)
})
