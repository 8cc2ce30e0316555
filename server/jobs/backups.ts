import type { Backups } from '../core/backup/backups'
import { copySize } from '../core/backup/copy'
import type { BackupTarget } from '../core/backup/target'
import { type Clock, MINUTE_MS } from '../core/clock'
import { reasonOf } from '../core/result'
import type { Log } from '../log'
import { type Job, startJob } from './job'

const RETRY_MS = 15 * MINUTE_MS
const LOCATION_CHECK_MS = 10 * MINUTE_MS
const MAX_LOOK_MS = 1_500

interface Parts {
  readonly backups: Backups
  readonly target: BackupTarget
  readonly everyMs: number
  readonly keep: number
  readonly clock: Clock
  /** Called for each backup that failed. */
  readonly onFailure: (reason: string) => void
}

/** Makes a backup when the newest copy of any origin is old enough: a restart makes none. */
export function startBackups({ backups, target, everyMs, keep, clock, onFailure }: Parts, log: Log): Job {
  let dueAt: number | null = null
  const run = async () => {
    const now = clock.now()
    if (dueAt === null) {
      const copies = await target.copies()
      backups.found(copies)
      dueAt = (copies.at(-1)?.takenAt ?? Number.NEGATIVE_INFINITY) + everyMs
    }
    // The clock may have been set back since.
    if (now < dueAt && dueAt <= now + everyMs) return
    dueAt = now + everyMs
    const { copy, removed } = await backups.start({ target, verify: false, keep }).result
    log.info('a backup was made', {
      copy: copy.name,
      to: target.location,
      bytes: copySize(copy),
      removed: removed.length,
    })
    if (copy.problems > 0)
      log.error('the books of the copy disagree; run "gateway operator reconcile"', { problems: copy.problems })
  }
  return startJob(run, {
    everyMs: MINUTE_MS,
    onError(error) {
      dueAt = clock.now() + Math.min(RETRY_MS, everyMs)
      const reason = reasonOf(error)
      log.error('the backup failed; the older copies are still there', { to: target.location, reason })
      onFailure(reason)
    },
  })
}

/** Looks at the start and every ten minutes whether a copy could be written: the next one may be due only in a day. */
export function startLocationCheck(target: BackupTarget, log: Log) {
  let problem: string | null = null
  const set = (found: string | null) => {
    const to = target.location
    if (found !== null && problem === null) log.warn('no copy can be written to BACKUP_TO', { to, reason: found })
    if (found === null && problem !== null) log.info('copies can be written to BACKUP_TO again', { to })
    problem = found
  }
  const job = startJob(async () => set(await target.writeProblem()), {
    everyMs: LOCATION_CHECK_MS,
    onError: (error) => set(reasonOf(error)),
  })
  let isKnown = false
  const first = job.run().then(() => {
    isKnown = true
  })
  return {
    ...job,
    /** Why no copy could be written when it was last looked at; null if one could. A disk of the network may never answer. */
    async problem(): Promise<string | null> {
      const late = Promise.withResolvers<void>()
      const timer = setTimeout(late.resolve, MAX_LOOK_MS)
      await Promise.race([first, late.promise])
      clearTimeout(timer)
      return isKnown ? problem : `${target.location} does not respond`
    },
  }
}
