import { SECOND_MS } from '../core/clock'
import type { ControlCopies } from '../core/cluster/control-copies'
import type { DirectoryWitness } from '../core/cluster/directory-witness'
import { RENEW_MS } from '../core/cluster/leases'
import { reasonOf } from '../core/result'
import type { Log } from '../log'
import { type Job, startJob } from './job'

/** Writes of other processes are noticed within this time. */
const LOOK_MS = 5 * SECOND_MS
const ACTS_MS = 2 * SECOND_MS

/**
 * Keeps the in-memory copies of one of several gateways up to date with the control database. Every change is pushed; this finds changes that were
 * committed while the gateway started, and changes whose writer did not learn that they were committed.
 */
export function startControlReads(copies: Pick<ControlCopies, 'refresh'>, log: Log): Job {
  return startJob(() => copies.refresh(), {
    everyMs: LOOK_MS,
    onError: (error) => log.warn('changes in the control database could not be read', { reason: reasonOf(error) }),
  })
}

/**
 * Notices that lost keys were added to the directory again. Until then, requests with such a key get 503. Before the first node has created the tables
 * there is nothing to read; requests that are refused meanwhile log the reason.
 */
export function startDirectoryReads(router: { refresh(): Promise<void> }): Job {
  return startJob(() => router.refresh(), { everyMs: LOOK_MS, onError: () => undefined })
}

/** Lets the witness check as often as its node renews the leases. If the control database does not answer, the loop that reads the leases logs it. */
export function startWitness(witness: Pick<DirectoryWitness, 'look'>): Job {
  return startJob(() => witness.look(), { everyMs: RENEW_MS, firstMs: 0, onError: () => undefined })
}

/** Follows the audit log for the log of the process. */
export function startOperatorLog(follow: () => Promise<void>, log: Log): Job {
  return startJob(follow, {
    everyMs: ACTS_MS,
    onError: (error) => log.warn('the audit log could not be read for the log', { reason: reasonOf(error) }),
  })
}
