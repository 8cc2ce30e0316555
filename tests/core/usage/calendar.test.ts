import { describe, expect, spyOn, test } from 'bun:test'
import fc from 'fast-check'
import { boundaries, isTimeZone, periodAround } from '../../../server/core/usage/calendar'

const HOUR = 3_600_000
const ZONES = [
  ...[
    'UTC',
    'Europe/Berlin',
    'America/New_York',
    'Asia/Kolkata',
    'Asia/Kathmandu',
    'America/Santiago',
    'America/Havana',
  ],
  ...['Australia/Lord_Howe', 'Pacific/Apia', 'Africa/Cairo', 'Asia/Beirut', 'America/St_Johns', 'Antarctica/Troll'],
]
const formats = new Map<string, Intl.DateTimeFormat>()
function local(at: number, timeZone: string): string {
  const format =
    formats.get(timeZone) ?? new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' })
  formats.set(timeZone, format)
  return format.format(at)
}
const dateOf = (at: number, zone: string) => local(at, zone).slice(0, 10)
const at = (text: string) => Date.parse(text)
const hours = (list: readonly number[]) => list.slice(1).map((edge, i) => (edge - (list[i] ?? 0)) / HOUR)
const days = (from: string, to: string, zone: string) => boundaries(at(from), at(to), '1d', zone)

describe('the days of a time zone', () => {
  test('have 23 and 25 hours when the clock changes', () => {
    expect(hours(days('2026-03-28T00:00+01:00', '2026-03-31T00:00+02:00', 'Europe/Berlin'))).toEqual([24, 23, 24])
    expect(hours(days('2026-10-24T00:00+02:00', '2026-10-27T00:00+01:00', 'Europe/Berlin'))).toEqual([24, 25, 24])
    expect(hours(days('2026-03-07T00:00-05:00', '2026-03-10T00:00-04:00', 'America/New_York'))).toEqual([24, 23, 24])
    expect(hours(days('2026-10-31T00:00-04:00', '2026-11-03T00:00-05:00', 'America/New_York'))).toEqual([24, 25, 24])
  })

  test('have 23.5 and 24.5 hours on Lord Howe', () => {
    expect(hours(days('2026-10-03T00:00+10:30', '2026-10-06T00:00+11:00', 'Australia/Lord_Howe'))).toEqual([
      24, 23.5, 24,
    ])
    expect(hours(days('2026-04-04T00:00+11:00', '2026-04-07T00:00+10:30', 'Australia/Lord_Howe'))).toEqual([
      24, 24.5, 24,
    ])
  })

  test("begin at one o'clock where the change skips midnight (Santiago)", () => {
    const list = days('2026-09-05T00:00-04:00', '2026-09-08T00:00-03:00', 'America/Santiago')
    expect(list.map((edge) => local(edge, 'America/Santiago'))).toEqual([
      '2026-09-05 00:00:00',
      '2026-09-06 01:00:00',
      '2026-09-07 00:00:00',
      '2026-09-08 00:00:00',
    ])
    expect(hours(list)).toEqual([24, 23, 24])
  })

  test('begin at the first of two midnights where the clock goes back over midnight (Havana)', () => {
    const list = days('2021-11-06T12:00-04:00', '2021-11-08T12:00-05:00', 'America/Havana')
    expect(list.map((edge) => new Date(edge).toISOString().slice(0, 16))).toEqual([
      '2021-11-06T04:00',
      '2021-11-07T04:00',
      '2021-11-08T05:00',
      '2021-11-09T05:00',
    ])
  })

  test('leave out the day that Samoa skipped', () => {
    const list = days('2011-12-28T12:00-10:00', '2012-01-01T12:00+14:00', 'Pacific/Apia')
    expect(list.map((edge) => dateOf(edge, 'Pacific/Apia'))).toEqual([
      '2011-12-28',
      '2011-12-29',
      '2011-12-31',
      '2012-01-01',
      '2012-01-02',
    ])
  })

  test('are whole: one date from each boundary to the next, and another date right before it', () => {
    const start = fc.integer({ min: Date.UTC(2020, 0, 1), max: Date.UTC(2030, 0, 1) })
    fc.assert(
      fc.property(start, fc.constantFrom(...ZONES), (from, zone) => {
        const list = boundaries(from, from + 200 * 24 * HOUR, '1d', zone)
        for (const [i, edge] of list.entries()) {
          expect(dateOf(edge - 1000, zone)).not.toBe(dateOf(edge, zone))
          const next = list[i + 1]
          if (next !== undefined) expect(dateOf(next - 1000, zone)).toBe(dateOf(edge, zone))
        }
      }),
      { numRuns: 25 },
    )
  })
})

test('a report of 366 days or of 744 hours asks the runtime for few dates, and for none the second time', () => {
  const asked = spyOn(Intl.DateTimeFormat.prototype, 'formatToParts')
  const [from, to] = [at('2025-01-01T00:00Z'), at('2026-01-02T00:00Z')]
  const edges = boundaries(from, to, '1d', 'America/St_Johns')
  expect([edges.length, asked.mock.calls.length <= 100]).toEqual([368, true])
  asked.mockClear()
  boundaries(from, to, '1d', 'America/St_Johns')
  boundaries(from, from + 31 * 24 * HOUR, '1h', 'America/St_Johns')
  expect(asked.mock.calls.length).toBe(0)
  asked.mockRestore()
})

describe('the hours of a time zone', () => {
  test('begin at the half hour of UTC in Kolkata', () => {
    const list = boundaries(at('2026-11-21T10:00Z'), at('2026-11-21T12:00Z'), '1h', 'Asia/Kolkata')
    expect(list.map((edge) => new Date(edge).toISOString().slice(11, 16))).toEqual(['09:30', '10:30', '11:30', '12:30'])
  })

  test('are 24 a day, and 23 or 25 at a change of the clock', () => {
    const count = (from: string, to: string) => boundaries(at(from), at(to), '1h', 'Europe/Berlin').length - 1
    expect(count('2026-06-01T00:00+02:00', '2026-06-02T00:00+02:00')).toBe(24)
    expect(count('2026-03-29T00:00+01:00', '2026-03-30T00:00+02:00')).toBe(23)
    expect(count('2026-10-25T00:00+02:00', '2026-10-26T00:00+01:00')).toBe(25)
  })
})

test('have boundaries that cover the requested range, strictly increase, and are all needed, for any range and zone', () => {
  const start = fc.integer({ min: Date.UTC(2020, 0, 1), max: Date.UTC(2030, 0, 1) })
  fc.assert(
    fc.property(
      ...([
        start,
        fc.integer({ min: 1, max: 5 * 24 * HOUR }),
        fc.constantFrom(...ZONES),
        fc.constantFrom('1h', '1d'),
      ] as const),
      (from, length, zone, width) => {
        const to = from + length
        const list = boundaries(from, to, width, zone)
        expect(list[0]).toBeLessThanOrEqual(from)
        expect(list.at(-1)).toBeGreaterThanOrEqual(to)
        expect(list.at(-2)).toBeLessThan(to)
        expect(list[1]).toBeGreaterThan(from)
        expect(hours(list).every((length) => length > 0)).toBe(true)
      },
    ),
    { numRuns: 300 },
  )
})

test('need a time zone that the runtime knows', () => {
  expect(ZONES.filter((zone) => !isTimeZone(zone))).toEqual([])
  expect(['', 'Mars/Base', 'Europe', 'Europe/Berlin ', '../UTC'].filter(isTimeZone)).toEqual([])
})

describe('the period of a budget', () => {
  const span = (time: string, period: 'day' | 'week' | 'month', zone: string) => {
    const { start, end } = periodAround(at(time), period, zone)
    return [local(start, zone), local(end, zone), (end - start) / HOUR]
  }

  test('is the whole day, the week from Monday, or the month, of the zone', () => {
    const noon = '2026-11-21T12:00:00Z'
    expect(span(noon, 'day', 'Asia/Kathmandu')).toEqual(['2026-11-21 00:00:00', '2026-11-22 00:00:00', 24])
    expect(span(noon, 'week', 'UTC')).toEqual(['2026-11-16 00:00:00', '2026-11-23 00:00:00', 168])
    expect(span(noon, 'month', 'UTC')).toEqual(['2026-11-01 00:00:00', '2026-12-01 00:00:00', 720])
    expect(span('2026-11-30T23:30:00Z', 'month', 'Europe/Berlin')[0]).toBe('2026-12-01 00:00:00')
    expect(span('2026-11-22T23:30:00Z', 'week', 'Europe/Berlin')[0]).toBe('2026-11-23 00:00:00')
    expect(span('2028-02-10T00:00:00Z', 'month', 'UTC')[2]).toBe(29 * 24)
    expect(span('2026-12-31T23:59:59.999Z', 'week', 'UTC')).toEqual(['2026-12-28 00:00:00', '2027-01-04 00:00:00', 168])
  })

  test('is an hour shorter or longer when the clock changes in it', () => {
    expect(span('2026-03-29T12:00:00Z', 'day', 'Europe/Berlin')[2]).toBe(23)
    expect(span('2026-10-25T12:00:00Z', 'day', 'Europe/Berlin')[2]).toBe(25)
    expect(span('2026-03-25T12:00:00Z', 'week', 'Europe/Berlin')[2]).toBe(167)
    expect(span('2026-10-25T12:00:00Z', 'week', 'Europe/Berlin')[2]).toBe(169)
    expect(span('2026-03-08T12:00:00Z', 'month', 'America/New_York')[2]).toBe(31 * 24 - 1)
    expect(span('2026-11-01T12:00:00Z', 'month', 'America/New_York')[2]).toBe(30 * 24 + 1)
  })

  test('contains its moment, ends where the next begins, and begins with a day, in every zone', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: at('2020-01-01T00:00Z'), max: at('2036-01-01T00:00Z') }),
        fc.constantFrom('day' as const, 'week' as const, 'month' as const),
        fc.constantFrom(...ZONES),
        (moment, period, zone) => {
          const { start, end } = periodAround(moment, period, zone)
          expect(start).toBeLessThanOrEqual(moment)
          expect(moment).toBeLessThan(end)
          expect(periodAround(end, period, zone).start).toBe(end)
          expect(periodAround(end - 1, period, zone)).toEqual({ start, end })
          expect(dateOf(start - 1, zone)).not.toBe(dateOf(start, zone))
          if (period === 'month') expect(dateOf(start, zone).slice(8)).toBe('01')
          if (period === 'week') expect(new Date(dateOf(start, zone)).getUTCDay()).toBe(1)
        },
      ),
      { numRuns: 300 },
    )
  })
})
