import { SECOND_MS } from '../core/clock'
import { reasonOf } from '../core/result'
import type { Log } from '../log'
import { type Job, startJob } from './job'

const ACTS_MS = 2 * SECOND_MS

/** Follows the audit log for the log of the process. */
export function startOperatorLog(follow: () => Promise<void>, log: Log): Job {
  return startJob(follow, {
    everyMs: ACTS_MS,
    onError: (error) => log.warn('the audit log could not be read for the log', { reason: reasonOf(error) }),
  })
}
