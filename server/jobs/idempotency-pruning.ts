import { type Clock, HOUR_MS } from '../core/clock'
import type { IdempotencyRecords } from '../core/idempotency/idempotency-record'
import { reasonOf } from '../core/result'
import type { Log } from '../log'
import { type Job, startJob } from './job'

/** Deletes expired idempotency records every hour. */
export function startIdempotencyPruning(records: Pick<IdempotencyRecords, 'prune'>, clock: Clock, log: Log): Job {
  return startJob(() => records.prune(clock.now()), {
    everyMs: HOUR_MS,
    onError: (error) => log.warn('expired idempotency records could not be deleted', { reason: reasonOf(error) }),
  })
}
