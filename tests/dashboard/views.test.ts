import { afterEach, describe, expect, test } from 'bun:test'
import { keysView } from '../../dashboard/src/api/views/keys-view'
import { customSpan, spanBefore, spanOf } from '../../dashboard/src/api/views/usage-range'
import { usageView } from '../../dashboard/src/api/views/usage-view'

const zone = process.env['TZ']
afterEach(() => {
  if (zone === undefined) delete process.env['TZ']
  else process.env['TZ'] = zone
})

describe('the address of a page', () => {
  test('may name tags and searches of digits and of words that JSON reserves, of any length that the server takes', () => {
    for (const [value, text] of [
      [2026, '2026'],
      [true, 'true'],
      ['\u{1f600}'.repeat(32), '\u{1f600}'.repeat(32)],
    ] as const) {
      expect(keysView({ tag: value, q: value })).toMatchObject({ tag: text, q: text })
      expect(usageView({ tag: value, search: value })).toMatchObject({ tag: text, search: text })
    }
    expect(usageView({ search: 'x'.repeat(300) }).search).toHaveLength(256)
    for (const nothing of ['', {}, [], null, undefined]) expect(usageView({ tag: nothing }).tag).toBeUndefined()
  })
})

describe('the period before', () => {
  test.each([
    ['spring', '2026-03-23', '2026-03-29', '2026-03-16'],
    ['autumn', '2026-10-19', '2026-10-25', '2026-10-12'],
    ['the week after', '2026-03-30', '2026-04-05', '2026-03-23'],
  ])('is as many whole days, also where a clock changes: %s', (_when, from, to, first) => {
    process.env['TZ'] = 'Europe/Berlin'
    const span = customSpan(from, to)
    const before = spanBefore(span)
    expect(before.end).toBe(span.start)
    expect(before.start).toBe(Date.parse(`${first}T00:00:00`) / 1000)
  })

  test('is as many seconds where a period is no whole days', () => {
    const span = { start: 1_795_134_600, end: 1_795_138_200, width: '1m' } as const
    expect(spanBefore(span)).toEqual({ start: 1_795_131_000, end: 1_795_134_600, width: '1m' })
  })
})

test('named days and months are whole, in the time zone of the viewer', () => {
  const at = new Date(2026, 2, 31, 15, 20).getTime()
  const days = (range: Parameters<typeof spanOf>[0]) => {
    const { start, end } = spanOf(range, at)
    return [start, end].map((seconds) => new Date(seconds * 1000).toString().slice(4, 21))
  }
  expect(days('today')).toEqual(['Mar 31 2026 00:00', 'Apr 01 2026 00:00'])
  expect(days('yesterday')).toEqual(['Mar 30 2026 00:00', 'Mar 31 2026 00:00'])
  expect(days('month')).toEqual(['Mar 01 2026 00:00', 'Apr 01 2026 00:00'])
  expect(days('last_month')).toEqual(['Feb 01 2026 00:00', 'Mar 01 2026 00:00'])
})
