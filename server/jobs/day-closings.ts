import { type Clock, DAY_MS, HOUR_MS, isoDay, MINUTE_MS } from '../core/clock'
import type { DayClosing } from '../core/ledger/day-closing'
import { reasonOf } from '../core/result'
import type { Log } from '../log'
import { ClockWatch } from './clock-watch'
import { type Job, startJob } from './job'
import { pausedAfter } from './retention'

/** The start has more urgent work, and a clock that is wrong at the start is corrected soon. */
const FIRST_MS = 15 * MINUTE_MS
/** How long after its end a day is closed: charges that were begun before it may be written after it. */
const MARGIN_MS = HOUR_MS
/** A write is followed by a pause of this many times its own length. */
const PAUSES = 3

interface Parts {
  readonly closing: DayClosing
  readonly clock: Clock
  /** A clock that cannot be set. */
  readonly stopwatch: Clock
}

/** Closes the days that ended more than an hour ago, every hour, in small steps. If the clock was set, it closes nothing for a day. */
export function startDayClosings({ closing, ...clocks }: Parts, log: Log): Job {
  const watch = new ClockWatch(clocks, (hours) => log.warn('the clock was set: no day is closed for a day', { hours }))
  return startJob(
    async (signal) => {
      if (!watch.isTrusted()) return
      const before = clocks.clock.now() - MARGIN_MS
      let steps = 0
      let began = performance.now()
      for await (const _ of closing.close(before)) {
        steps++
        await pausedAfter(performance.now() - began, PAUSES, signal)
        if (signal.aborted) return
        began = performance.now()
      }
      if (steps > 0) log.info('days were closed', { until: isoDay(before - DAY_MS) })
    },
    {
      everyMs: HOUR_MS,
      firstMs: FIRST_MS,
      onError: (error) =>
        log.error('a day could not be closed; the next round tries again', { reason: reasonOf(error) }),
    },
  )
}
