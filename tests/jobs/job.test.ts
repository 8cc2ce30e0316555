import { afterEach, expect, jest, test } from 'bun:test'
import { startJob } from '../../server/jobs/job'

afterEach(() => {
  jest.useRealTimers()
})

/** Lets what a timer started come to its end. */
const settled = async () => {
  for (let n = 0; n < 20; n++) await Promise.resolve()
}
const pass = async (ms: number) => {
  jest.advanceTimersByTime(ms)
  await settled()
}

test('a job pauses after the end of a run, so that runs never overlap, and joins a run in progress', async () => {
  jest.useFakeTimers()
  const ends: PromiseWithResolvers<void>[] = []
  const task = () => {
    const end = Promise.withResolvers<void>()
    ends.push(end)
    return end.promise
  }
  const job = startJob(task, { firstMs: 0, everyMs: 100, onError: () => undefined })
  await settled()
  const joined = job.run()
  await pass(1000)
  expect(ends).toHaveLength(1)
  ends[0]?.resolve()
  await joined
  await pass(99)
  expect(ends).toHaveLength(1)
  await pass(1)
  expect(ends).toHaveLength(2)
})

test('a job reports what its task throws, synchronously or later, and tries again after its retry pause', async () => {
  jest.useFakeTimers()
  const errors: string[] = []
  const outcomes = [
    () => {
      throw new Error('at once')
    },
    async () => Promise.reject(new Error('later')),
    async () => false,
    async () => undefined,
  ]
  let runs = 0
  const job = startJob(async () => outcomes[runs++]?.(), {
    everyMs: 1000,
    retryMs: 10,
    onError: (error) => errors.push(String(error)),
  })
  await pass(1000)
  for (const expected of [1, 2, 3, 4]) {
    expect(runs).toBe(expected)
    await pass(10)
  }
  expect([runs, errors]).toEqual([4, ['Error: at once', 'Error: later']])
  await job.close()
})

test('a closed job aborts the signal of its run, waits for it, and never runs again', async () => {
  jest.useFakeTimers()
  let runs = 0
  let ended = false
  const job = startJob(
    async (signal) => {
      runs++
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      ended = true
    },
    { firstMs: 0, everyMs: 10, onError: () => undefined },
  )
  await settled()
  await job.close()
  expect(ended).toBe(true)
  await pass(1000)
  await job.run()
  expect(runs).toBe(1)
})
