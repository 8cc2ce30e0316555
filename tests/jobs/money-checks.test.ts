import { afterEach, expect, jest, test } from 'bun:test'
import { startCardComparisons, startReconciliations } from '../../server/jobs/money-checks'

const MINUTE_MS = 60_000
const log = { info: () => undefined, error: () => undefined, warn: () => undefined, debug: () => undefined }

afterEach(() => {
  jest.useRealTimers()
})

/** Lets what a timer began come to its end. */
const settled = async () => {
  for (let n = 0; n < 10; n++) await Promise.resolve()
}

test('card payments are compared five minutes after the start, then daily, an hour after a failed run, and not after the stop', async () => {
  jest.useFakeTimers()
  let made = 0
  const ends: (boolean | Error)[] = [true, false, new Error('the database is away'), true]
  const job = startCardComparisons(
    {
      missing: async () => ({ pages: [], isComplete: true }),
      async compareAll() {
        const complete = ends[made++]
        if (complete instanceof Error) throw complete
        return { compared: 1, corrected: 0, failed: 0, complete: complete === true }
      },
    },
    log,
  )
  for (const [minutes, runs] of [
    [5, 1],
    [24 * 60, 2],
    [60, 3],
    [60, 4],
    [24 * 60, 5],
  ] as const) {
    jest.advanceTimersByTime(minutes * MINUTE_MS - 1)
    await settled()
    expect(made).toBe(runs - 1)
    jest.advanceTimersByTime(1)
    await settled()
    expect(made).toBe(runs)
  }
  void job.close()
  jest.advanceTimersByTime(48 * 60 * MINUTE_MS)
  await settled()
  expect(made).toBe(5)
})

test('a comparison in progress at the stop is the last', async () => {
  jest.useFakeTimers()
  const end = Promise.withResolvers<void>()
  let made = 0
  const job = startCardComparisons(
    {
      missing: async () => ({ pages: [], isComplete: true }),
      async compareAll() {
        made++
        await end.promise
        return { compared: 1, corrected: 0, failed: 0, complete: true }
      },
    },
    log,
  )
  jest.advanceTimersByTime(5 * MINUTE_MS)
  void job.close()
  end.resolve()
  await settled()
  jest.advanceTimersByTime(48 * 60 * MINUTE_MS)
  await settled()
  expect(made).toBe(1)
})

test('the books are compared daily, three days back, booking nothing; what does not agree is an error, and an unfinished run is repeated in an hour', async () => {
  jest.useFakeTimers()
  const lines: string[] = []
  const asked: object[] = []
  const ends = [
    { problems: 0, isComplete: true },
    { problems: 2, isComplete: false },
    { problems: 0, isComplete: true },
  ]
  const job = startReconciliations(
    {
      async run(given) {
        asked.push(given)
        const { problems = 0, isComplete = true } = ends[asked.length - 1] ?? {}
        const result = { ledger: [], missing: [], booked: 0, cards: null, chain: null }
        return {
          id: 'rec_1',
          actor: 'job',
          startedAt: 0,
          endedAt: 0,
          isApplied: false,
          isComplete,
          problems,
          result,
        }
      },
    },
    { now: () => 4 * 86_400_000 + 60 * MINUTE_MS },
    { ...log, error: (line) => lines.push(line) },
  )
  for (const minutes of [15, 24 * 60, 60]) {
    jest.advanceTimersByTime(minutes * MINUTE_MS)
    await settled()
  }
  expect(asked).toHaveLength(3)
  expect(asked[0]).toEqual({ actor: 'job', period: { from: 86_400_000, to: 4 * 86_400_000 }, apply: false })
  expect(lines).toEqual(['the books do not agree; run "gateway operator reconcile"'])
  await job.close()
})

test('after a take-over they are compared at once, from a day before the copy, booking what is missing, until that is done', async () => {
  jest.useFakeTimers()
  const asked: object[] = []
  let checked = 0
  const result = { ledger: [], missing: [], booked: 0, cards: null, chain: null }
  const run = { id: 'rec_1', actor: 'job', startedAt: 0, endedAt: 0, isApplied: true, problems: 1, result } as const
  const now = 10 * 86_400_000
  const job = startReconciliations(
    { run: async (given) => ({ ...run, isComplete: asked.push(given) > 1 }) },
    { now: () => now },
    log,
    {
      takenAt: now - 5_000,
      checked: async () => {
        checked++
      },
    },
  )
  await settled()
  expect([asked, checked]).toEqual([
    [{ actor: 'job', period: { from: now - 5_000 - 86_400_000, to: now }, apply: true }],
    0,
  ])
  for (const minutes of [60, 24 * 60]) {
    jest.advanceTimersByTime(minutes * MINUTE_MS)
    await settled()
  }
  expect(asked.map((one) => Reflect.get(one, 'apply'))).toEqual([true, true, false])
  expect(checked).toBe(1)
  await job.close()
})
