import { afterEach, expect, jest, test } from 'bun:test'
import { startCardComparisons } from '../../server/jobs/card-comparisons'

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
      missing: async () => [],
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
      missing: async () => [],
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
