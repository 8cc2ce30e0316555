import { appendFile, writeFile } from 'node:fs/promises'
import { KeyRing } from '../adapters/sealing/key-ring'
import { withConnection } from '../adapters/stores/libsql/backup/snapshot'
import { lockDataFolder } from '../adapters/stores/libsql/driver/file/held-file'
import { OWN_THREADS } from '../adapters/stores/libsql/driver/worker/worker-threads'
import { encodeLine } from '../adapters/stores/libsql/journal/log-format'
import { LeaseFile, leaseText } from '../adapters/stores/postgres/lease-file'
import type { CopiedTables } from '../adapters/stores/postgres/postgres-log'
import type { Config } from '../config'
import { BackupProblem } from '../core/backup/target'
import type { LoggedGroup, OpenLogCopy } from '../core/ledger/log-copy'
import { reasonOf } from '../core/result'
import type { SealingKey } from '../core/sealing'
import type { Log } from '../log'
import { databaseFileOf } from './backup/data-health'
import type { FindLog } from './backup/restore'

interface Needs {
  readonly log: Log
  readonly onFatal: (reason: string) => void
  readonly onTrouble: (what: string, reason: string) => void
  readonly replica: CopiedTables | null
}

/** Opens the log's second place; null without one. Refuses to leave one that the data has behind: charges would be only here. */
export function logCopyOf(
  { databaseUrl, logCopy, sealingKeys }: Pick<Config, 'databaseUrl' | 'logCopy' | 'sealingKeys'>,
  { log, ...needs }: Needs,
): OpenLogCopy | null {
  const database = databaseFileOf(databaseUrl)
  if (database === null) return null
  const file = new LeaseFile(database)
  if (!logCopy) {
    if (file.read() === null) return null
    throw new Error(
      'this gateway has a second log in PostgreSQL, and LOG_URL is not set: set it, or end that log with "gateway log off"',
    )
  }
  return async (local) => {
    const { PostgresLog } = await import('../adapters/stores/postgres/postgres-log')
    const options = { ...logCopy, ...needs, file, sealing: new KeyRing(sealingKeys), onNote: log.info }
    try {
      return await PostgresLog.open(options, local)
    } catch (error) {
      const reason = reasonOf(error)
      throw new Error(reason.includes('LOG_URL') ? reason : `PostgreSQL at LOG_URL cannot be used: ${reason}`)
    }
  }
}

/**
 * Looks at the log in PostgreSQL for a restore. The restored gateway continues it; with `until`, it has the groups up to then in a log of its own, and
 * begins another one.
 */
export function logFinder({
  url,
  sealingKeys,
  acceptsFailover,
  until = null,
}: {
  readonly url: string
  readonly sealingKeys: readonly SealingKey[]
  readonly acceptsFailover: boolean
  readonly until?: Date | null
}): FindLog {
  return async (database, draft) => {
    const { examineLog } = await import('../adapters/stores/postgres/log-reader')
    try {
      const rows = await withConnection(database, 'reader', OWN_THREADS, (connection) =>
        connection.rows('SELECT applied_group, applied_chain FROM owner WHERE id = 1'),
      )
      const [[number, chain] = []] = rows
      const end = { number: Number(number), chain: String(chain) }
      const how = { url, sealing: new KeyRing(sealingKeys), acceptsFailover }
      if (until !== null) {
        await writeFile(draft, '')
        const take = (some: readonly LoggedGroup[]) => appendFile(draft, Buffer.concat(some.map(encodeLine)))
        return (await examineLog({ ...how, until, take }, end)).groups
      }
      const { installation, groups } = await examineLog(how, end)
      await writeFile(draft, leaseText({ installation, holder: null }))
      return groups
    } catch (error) {
      throw new BackupProblem(`the log at LOG_URL does not continue the copy: ${reasonOf(error)}`)
    }
  }
}

/** Ends the second log of a gateway that is stopped: its data is all that there is then. `isLost`: PostgreSQL is gone for good. */
export async function endLogCopy(
  { databaseUrl, dataDir, logCopy }: Pick<Config, 'databaseUrl' | 'dataDir' | 'logCopy'>,
  isLost: boolean,
): Promise<'ended' | 'none'> {
  const database = databaseFileOf(databaseUrl)
  const file = database === null ? null : new LeaseFile(database)
  const lock = await lockDataFolder(dataDir)
  try {
    const known = file?.read()
    if (!file || !known) return 'none'
    if (!isLost) {
      if (!logCopy) throw new Error('LOG_URL must be set to end its log; with --lost it may stay as it is')
      const { dropLog } = await import('../adapters/stores/postgres/log-reader')
      await dropLog(logCopy.url, known.installation)
    }
    file.remove()
    return 'ended'
  } finally {
    lock.release()
  }
}
