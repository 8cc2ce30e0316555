import { describe, expect, test } from 'bun:test'
import type { PrunedTable } from '../../server/core/usage/retention'
import { startRetention } from '../../server/jobs/retention'
import { openLog } from '../../server/log'

const DAY = 86_400_000
const HOUR = DAY / 24
const LONG = { requests: 30, audit: 90, events: 7 }

/** A job over a store that has this many steps of old rows in each table. */
function opened(days = LONG, steps = 2) {
  let [now, passed] = [100 * DAY, 0]
  const asked: [PrunedTable, number][] = []
  const logged: string[] = []
  const left = new Map<string, number>()
  const store = {
    async prune(table: PrunedTable, before: number) {
      asked.push([table, before])
      const more = (left.get(table) ?? steps) - 1
      left.set(table, more)
      return more > 0
    },
  }
  const clock = { now: () => now }
  const stopwatch = { now: () => passed }
  const job = startRetention(
    { store, days, clock, stopwatch },
    openLog('info', (line) => logged.push(line)),
  )
  const pass = (ms: number, set = 0) => {
    passed += ms
    now += ms + set
  }
  return { job, asked, logged, pass }
}

describe('the job that removes old rows', () => {
  test('removes from each table what is older than its days, step by step', async () => {
    const { job, asked } = opened()
    await job.run()
    expect(asked).toEqual([
      ['requests', 70 * DAY],
      ['requests', 70 * DAY],
      ['audit_log', 10 * DAY],
      ['audit_log', 10 * DAY],
      ['webhook_deliveries', 93 * DAY],
      ['webhook_deliveries', 93 * DAY],
      ['events', 93 * DAY],
      ['events', 93 * DAY],
    ])
    await job.close()
  })

  test('keeps everything by default', async () => {
    const { job, asked } = opened({ requests: 0, audit: 0, events: 0 })
    await job.run()
    expect(asked).toEqual([])
    await job.close()
  })

  test('removes nothing for a day after the clock was set, in whichever direction', async () => {
    const { job, asked, logged, pass } = opened(LONG, 1)
    pass(HOUR, 365 * DAY)
    await job.run()
    pass(23 * HOUR)
    await job.run()
    expect(asked).toEqual([])
    expect(logged.filter((line) => line.includes('the clock was set'))).toHaveLength(1)
    // It was set back before the day was over: the day begins again.
    pass(HOUR / 2, -365 * DAY)
    await job.run()
    pass(23 * HOUR)
    await job.run()
    expect(asked).toEqual([])
    pass(HOUR)
    await job.run()
    expect(asked[0]).toEqual(['requests', 72 * DAY + HOUR / 2])
    await job.close()
  })

  test('stops between two steps when the gateway stops', async () => {
    const { job, asked } = opened(LONG, 1_000_000)
    void job.run()
    await job.close()
    expect(asked.length).toBeLessThanOrEqual(1)
  })
})
