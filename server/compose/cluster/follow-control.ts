import type { ControlCopies } from '../../core/cluster/control-copies'
import { reasonOf } from '../../core/result'
import { type Job, startJob } from '../../jobs/job'
import type { Log } from '../../log'

const LOOK_MS = 5_000

/**
 * Keeps the copies of a gateway beside others as new as the control database. Every change is pushed; this finds the one that was committed while the
 * gateway started, and one whose writer never learnt that it was.
 */
export async function followControl(copies: Pick<ControlCopies, 'refresh'>, log: Log): Promise<Job> {
  await copies.refresh()
  return startJob(() => copies.refresh(), {
    everyMs: LOOK_MS,
    onError: (error) => log.warn('changes in the control database could not be read', { reason: reasonOf(error) }),
  })
}
