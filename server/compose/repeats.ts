import type { Clock } from '../core/clock'
import type { KeptAnswers } from '../core/idempotency/kept-answer'
import type { Log } from '../log'
import { Repeats } from '../pipeline/idempotency/idempotency'

const PRUNE_MS = 3_600_000

/** `Idempotency-Key`, and the hourly forgetting of what was kept long enough. */
export function composeRepeats(kept: KeptAnswers, clock: Clock, log: Log) {
  const job = setInterval(() => {
    kept.prune(clock.now()).catch((error: unknown) => log.warn('kept answers', { reason: String(error) }))
  }, PRUNE_MS)
  job.unref()
  return { repeats: new Repeats(kept, clock), close: () => clearInterval(job) }
}
