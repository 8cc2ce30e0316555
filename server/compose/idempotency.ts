import type { Clock } from '../core/clock'
import type { IdempotencyRecords } from '../core/idempotency/idempotency-record'
import type { Log } from '../log'
import { Idempotency } from '../pipeline/idempotency/idempotency'

const PRUNE_MS = 3_600_000

/** `Idempotency-Key`, and the hourly forgetting of what was kept long enough. */
export function composeIdempotency(kept: IdempotencyRecords, clock: Clock, log: Log) {
  const job = setInterval(() => {
    kept.prune(clock.now()).catch((error: unknown) => log.warn('kept answers', { reason: String(error) }))
  }, PRUNE_MS)
  job.unref()
  return { idempotency: new Idempotency(kept, clock), close: () => clearInterval(job) }
}
