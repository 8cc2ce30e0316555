import type { Reconciliation } from '../core/accounts/cards/reconciliation'
import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS } from '../core/clock'
import { reasonOf } from '../core/result'
import type { Log } from '../log'
import { type Job, startJob } from './job'

/** Startup has enough to do. */
const FIRST_MS = 15 * MINUTE_MS
/** After a comparison that could not be completed. */
const RETRY_MS = HOUR_MS
/** More than a day, so that a day that was missed is made up for. */
const DAYS = 3

/** Compares the books with themselves, the card processor and the chains every day, and reports what does not agree. Books nothing. */
export function startReconciliations(reconciliation: Pick<Reconciliation, 'run'>, clock: Clock, log: Log): Job {
  const compare = async () => {
    // Payment pages live for half an hour: what is younger may still be on its way.
    const to = clock.now() - HOUR_MS
    const period = { from: to - DAYS * DAY_MS, to }
    const { id, problems, isComplete } = await reconciliation.run({ actor: 'job', period, apply: false })
    const found = { reconciliation: id, problems, complete: isComplete }
    if (problems === 0) log.info('the books were compared', found)
    else log.error('the books do not agree; run "gateway operator reconcile"', found)
    return isComplete
  }
  return startJob(compare, {
    firstMs: FIRST_MS,
    everyMs: DAY_MS,
    retryMs: RETRY_MS,
    onError: (error) => log.error('the books could not be compared', { reason: reasonOf(error) }),
  })
}
