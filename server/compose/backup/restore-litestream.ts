import { existsSync } from 'node:fs'
import { copyFile, rename, writeFile } from 'node:fs/promises'
import { readLog } from '../../adapters/stores/libsql/backup/read-log'
import { joinProblem } from '../../adapters/stores/libsql/backup/restored-log'
import { OWN_THREADS, type WorkerThreads } from '../../adapters/stores/libsql/driver/worker/worker-threads'
import type { OnProgress } from '../../core/backup/backups'
import { DATABASE, DATABASE_LEASE, DATABASE_LOG } from '../../core/backup/copy'
import { BackupProblem } from '../../core/backup/target'
import { isoTime } from '../../core/clock'
import { requireSound } from './backups'
import { type Litestream, requireLitestream, restoreReplica } from './litestream'
import { type FindLog, intoEmptyFolder, publish, RESTORED } from './restore'

export interface LitestreamRestore {
  readonly litestream: Litestream
  /** A URL of Litestream, or a folder. */
  readonly replica: string
  /** Its state at this time; null: the newest. */
  readonly until: Date | null
  /** What a standby followed it with, which is moved; absent: it is fetched. */
  readonly followed?: string
  /** The log of charges of the lost gateway, `gateway.db.log`; null if it is lost too. */
  readonly log: string | null
  /** The log in PostgreSQL, in its place. */
  readonly findLog: FindLog | null
  readonly dataDir: string
  /** Whether the folder may have other files than data. */
  readonly isShared?: boolean
  readonly databaseUrl: string
  readonly now: number
  readonly threads?: WorkerThreads | undefined
  readonly onProgress: OnProgress
}

export interface LitestreamRestored {
  /** How many groups of charges the log has that the replica lacks. */
  readonly groups: number
  /** In how many places the books of the replica disagree. */
  readonly problems: number
}

/**
 * Puts what Litestream copied into an empty data folder, with the log of charges, which the first start applies. Nothing is there until both were
 * read and fit each other; the database appears last, so that no gateway starts without the log.
 */
export async function restoreLitestream(options: LitestreamRestore): Promise<LitestreamRestored> {
  const { litestream, replica, until, followed, log, findLog, now, threads = OWN_THREADS, onProgress } = options
  requireLitestream(litestream)
  if (log !== null && !existsSync(log)) throw new BackupProblem(`there is no log of charges at ${log}`)
  // Up to a time it is a gateway of its own, which does not continue the log of the other one.
  const ofPostgres = findLog && (until === null ? DATABASE_LEASE : DATABASE_LOG)
  const logFile = log === null ? ofPostgres : DATABASE_LOG
  const names = [RESTORED, ...(logFile ? [logFile] : []), DATABASE]
  return intoEmptyFolder(options, names, async (draftOf, targets) => {
    onProgress({ step: 'copying', bytes: 0, total: 0 })
    if (followed === undefined) await restoreReplica(litestream, replica, draftOf(DATABASE), until)
    else await rename(followed, draftOf(DATABASE))
    onProgress({ step: 'checking', bytes: 0, total: 0 })
    // A disagreement in the original must not keep its data from being restored.
    const { last, problems } = await requireSound(draftOf(DATABASE), { problems: Number.MAX_SAFE_INTEGER }, threads)
    let groups = findLog && logFile ? await findLog(draftOf(DATABASE), draftOf(logFile)) : 0
    if (log !== null) {
      await copyFile(log, draftOf(DATABASE_LOG))
      const found = await joinProblem(draftOf(DATABASE), await readLog(draftOf(DATABASE_LOG)), threads)
      if (found.problem !== null) throw new BackupProblem(`${log} does not continue ${replica}: ${found.problem}`)
      groups = found.groups
    }
    const takenAt = Math.min(now, Math.max(last.entry ?? 0, last.audit ?? 0) || now)
    const times = { taken_at: isoTime(takenAt), restored_at: isoTime(now) }
    const note = { copy: null, ...times, from: replica, taken_over: options.isShared === true }
    await writeFile(draftOf(RESTORED), `${JSON.stringify(note, null, 2)}\n`)
    await publish(targets, draftOf)
    return { groups, problems: problems?.length ?? 0 }
  })
}
