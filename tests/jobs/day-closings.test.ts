import { expect, test } from 'bun:test'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../server/core/clock'
import { startDayClosings } from '../../server/jobs/day-closings'
import type { Log } from '../../server/log'

const MIDNIGHT = Date.UTC(2026, 10, 21)

function started() {
  const asked: number[] = []
  const lines: string[] = []
  const say = (line: string) => void lines.push(line)
  const times = { clock: MIDNIGHT, stopwatch: 0 }
  let steps = 0
  const job = startDayClosings(
    {
      closing: {
        async *close(before) {
          asked.push(before)
          for (let step = 0; step < steps; step++) yield
        },
      },
      clock: { now: () => times.clock },
      stopwatch: { now: () => times.stopwatch },
    },
    { info: say, warn: say, error: say } as unknown as Log, // it has no other use here
  )
  const pass = (ms: number) => {
    times.clock += ms
    times.stopwatch += ms
  }
  return { asked, lines, job, times, pass, setSteps: (count: number) => (steps = count) }
}

test('a day is closed an hour after its end', async () => {
  const { asked, lines, job, pass, setSteps } = started()
  await job.run()
  pass(59 * MINUTE_MS)
  setSteps(2)
  await job.run()
  pass(MINUTE_MS)
  await job.run()
  expect(asked.map((before) => before - MIDNIGHT)).toEqual([-HOUR_MS, -MINUTE_MS, 0])
  expect(lines).toEqual(['days were closed', 'days were closed'])
  await job.close()
})

test('no day is closed for a day after the clock was set, forward or back', async () => {
  for (const hours of [40 * 24, -3]) {
    const { asked, lines, job, times, pass } = started()
    times.clock += hours * HOUR_MS
    await job.run()
    pass(DAY_MS - 1)
    await job.run()
    expect([asked, lines]).toEqual([[], ['the clock was set: no day is closed for a day']])
    pass(1)
    await job.run()
    expect(asked).toEqual([times.clock - HOUR_MS])
    await job.close()
  }
})
