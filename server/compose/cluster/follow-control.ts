import type { ControlCopies } from '../../core/cluster/control-copies'
import { reasonOf } from '../../core/result'
import { type Job, startJob } from '../../jobs/job'
import type { Log } from '../../log'

const LOOK_MS = 5_000

/**
 * Keeps the in-memory copies of one of several gateways up to date with the control database. Every change is pushed; this finds changes that were
 * committed while the gateway started, and changes whose writer did not learn that they were committed.
 */
export async function followControl(copies: Pick<ControlCopies, 'refresh'>, log: Log): Promise<Job> {
  await copies.refresh()
  return startJob(() => copies.refresh(), {
    everyMs: LOOK_MS,
    onError: (error) => log.warn('changes in the control database could not be read', { reason: reasonOf(error) }),
  })
}
