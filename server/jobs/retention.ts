import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS } from '../core/clock'
import type { IdempotencyRecords } from '../core/idempotency/idempotency-record'
import { reasonOf } from '../core/result'
import type { PrunedTable, RetentionDays, RetentionStore } from '../core/usage/retention'
import type { Log } from '../log'
import { ClockWatch } from './clock-watch'
import { type Job, startJob } from './job'

/** The start has more urgent work. */
const FIRST_MS = MINUTE_MS
/** Rows per step: a commit of a few milliseconds. */
const STEP_ROWS = 200
/** A step is followed by a pause of this many times its own length, so that calls get the disk and the writer nearly always. */
const PAUSES = 15
const MIN_PAUSE_MS = 20
const MAX_PAUSE_MS = 2_000

interface Parts {
  readonly store: RetentionStore
  readonly days: RetentionDays
  readonly clock: Clock
  /** A clock that cannot be set. */
  readonly stopwatch: Clock
}

/**
 * Removes old rows every hour, in small steps. If the clock was set, it removes nothing for a day: one that is wrong would make
 * everything look old.
 */
export function startRetention(parts: Parts, log: Log): Job {
  const { store, clock } = parts
  const tables = tablesOf(parts.days)
  const watch = new ClockWatch(parts, (hours) => log.warn('the clock was set: nothing is removed for a day', { hours }))
  return startJob(
    async (signal) => {
      if (!watch.isTrusted()) return
      for (const [table, days] of tables) {
        const before = clock.now() - days * DAY_MS
        await pruneInSteps((maxRows) => store.prune(table, before, maxRows), signal)
      }
    },
    {
      everyMs: HOUR_MS,
      firstMs: FIRST_MS,
      onError: (error) =>
        log.warn('old rows could not be removed; the next round tries again', { reason: reasonOf(error) }),
    },
  )
}

function tablesOf({ requests, audit, events }: RetentionDays): readonly (readonly [PrunedTable, number])[] {
  const tables = [
    ['requests', requests],
    ['audit_log', audit],
    ['webhook_deliveries', events],
    ['events', events],
  ] as const
  return tables.filter(([, days]) => days > 0)
}

async function pruneInSteps(step: (maxRows: number) => Promise<boolean>, signal: AbortSignal): Promise<void> {
  for (let more = true; more && !signal.aborted; ) {
    const began = performance.now()
    more = await step(STEP_ROWS)
    if (more) await pausedAfter(performance.now() - began, PAUSES, signal)
  }
}

/** Pauses so many times as long as a step took, within bounds. */
export function pausedAfter(tookMs: number, times: number, signal: AbortSignal): Promise<void> {
  return paused(Math.min(Math.max(tookMs * times, MIN_PAUSE_MS), MAX_PAUSE_MS), signal)
}

/** Ends early when the job is stopped. */
function paused(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end, { once: true })
  })
}

/** Deletes expired idempotency records every hour. */
export function startIdempotencyPruning(records: Pick<IdempotencyRecords, 'prune'>, clock: Clock, log: Log): Job {
  return startJob(() => records.prune(clock.now()), {
    everyMs: HOUR_MS,
    onError: (error) => log.warn('expired idempotency records could not be deleted', { reason: reasonOf(error) }),
  })
}
