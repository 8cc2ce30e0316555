import type { CardRefunds } from '../core/accounts/cards/card-refunds'
import { MINUTE_MS } from '../core/clock'
import { reasonOf } from '../core/result'
import type { Log } from '../log'
import { type Job, startJob } from './job'

const EVERY_MS = MINUTE_MS

/** Finishes refunds whose outcome is open: a crash or a silent processor came in between, or the bank takes its time. */
export function startCardRefunds(refunds: Pick<CardRefunds, 'finish'>, log: Log): Job {
  const finish = async () => {
    const ended = await refunds.finish()
    if (ended > 0) log.info('card refunds ended', { ended })
  }
  return startJob(finish, {
    everyMs: EVERY_MS,
    onError: (error) => log.warn('card refunds could not be followed', { reason: reasonOf(error) }),
  })
}
