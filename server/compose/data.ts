import { existsSync } from 'node:fs'
import { openBackupTarget } from '../adapters/backup/open-target'
import { DataFolderInUse, lockDataFolder } from '../adapters/stores/libsql/driver/file/held-file'
import { namedProblem } from '../adapters/stores/libsql/driver/named-problem'
import { Opened } from '../adapters/stores/libsql/driver/opened'
import { openDatabase } from '../adapters/stores/libsql/open-database'
import { openStores } from '../adapters/stores/libsql/stores'
import type { Config } from '../config'
import { isSold } from '../core/catalog/operations'
import { assertClock } from '../core/ledger/clock-check'
import type { RestorableCounters } from '../core/ledger/hold'
import { reasonOf } from '../core/result'
import type { Log } from '../log'
import { putBackNote } from './backup/after-restore'
import { databaseFileOf } from './backup/data-health'
import { Replication } from './backup/replication'
import { upgradeCopy } from './backup/upgrade-copy'
import { logCopyOf } from './log-copy'
import type { Surroundings } from './surroundings'
import { eventWriter } from './webhooks'

/** Locks the data folder for this process. Throws `DataFolderInUse` when another gateway uses it. */
export function takeDataFolder({ dataDir }: Pick<Config, 'dataDir'>): Promise<{ release(): void }> {
  return lockDataFolder(dataDir)
}

/** Whether another gateway has the data folder. */
export function isInUse(error: unknown): boolean {
  return error instanceof DataFolderInUse
}

/**
 * Refuses to begin a new gateway while `BACKUP_TO` has copies of this one (of its SECRET_KEY): its data is missing. A place that cannot be
 * read decides nothing.
 */
export async function refuseLostData(
  { databaseUrl, dataDir, backup, newDataDir }: Pick<Config, 'databaseUrl' | 'dataDir' | 'backup' | 'newDataDir'>,
  isNew: boolean,
  log: Log,
): Promise<void> {
  const file = databaseFileOf(databaseUrl)
  if (file === null) return
  if (existsSync(file)) {
    if (newDataDir) log.warn('NEW_DATA_DIR=true is for one start: unset it, or a missing volume starts a new gateway')
    return
  }
  if (newDataDir || isNew || backup.to === null) return
  const target = openBackupTarget(backup.to, { access: backup.access, workFolder: '' })
  const copies = await target.copies().catch(() => [])
  const newest = copies.filter(({ secretMark }) => secretMark === backup.secretMark).at(-1)
  if (newest)
    throw new Error(
      `${dataDir} has no database, but ${backup.to} has copies of this gateway, the newest ${newest.name}. Mount the volume of DATA_DIR, or run "gateway operator restore ${backup.to}". To begin a new gateway, start once with --new, or NEW_DATA_DIR=true`,
    )
}

/** How long a caller waits for the commit of its charge before it gets a 503. */
const COMMIT_PATIENCE_MS = 10_000

/**
 * Opens the database and its stores, which read counters into `counters`. Throws if the clock is far from the last entry. Whatever was opened is
 * closed if this fails.
 */
export async function openData(config: Config, surroundings: Surroundings, counters: RestorableCounters) {
  const { clock, log, onFatal, threads, acceptsClock } = surroundings
  const opened = new Opened()
  const onTrouble = (what: string, reason: string) => log.error(`database: ${what}`, { reason })
  const replication = await Replication.open(config, log)
  const openCopy = logCopyOf(config, { log, onFatal, onTrouble, replica: replication })
  const common = { clock, onFatal, onTrouble, ...(threads && { threads }) }
  try {
    const database = await openDatabase(
      {
        ...common,
        url: config.databaseUrl,
        authToken: config.databaseAuthToken,
        isSyncPromised: config.databaseSyncPromised,
        isReplicated: replication !== null,
        beforeUpgrade: upgradeCopy(config, surroundings),
        onPutBack: putBackNote(config, clock),
      },
      opened,
    )
    const stores = await openStores(
      database,
      {
        ...common,
        ...(openCopy && { openCopy }),
        counters,
        signupBrakes: config.signupBrakes,
        patienceMs: COMMIT_PATIENCE_MS,
        isCounted: isSold,
        reserveBytes: config.diskReserveBytes,
        onReserve: (reason) =>
          reason === null
            ? log.info('the disk has space again: new calls are served')
            : log.error('the disk is full: new calls are refused until it has space', { reason }),
        onStuck: (counts) => log.error('records of the ledger are stuck', counts),
      },
      opened,
    )
    if (!acceptsClock) assertClock(clock.now(), await stores.lastTimes())
    const writeEvent = eventWriter(stores.webhooks, clock, log)
    replication?.start({
      appliedGroup: stores.appliedGroup,
      onFailure: (to, reason) => writeEvent('backup.failed', String(clock.now()), { to, reason }),
    })
    const close = async () => {
      await opened.closeInTime(onTrouble)
      await replication?.stop()
    }
    return { stores, replication, close }
  } catch (error) {
    await opened.close()
    throw error
  }
}

/** Why a gateway did not start, in words for its operator: with the name of the database if that failed. */
export function startProblem({ databaseUrl }: Pick<Config, 'databaseUrl'>, error: unknown): string {
  return reasonOf(namedProblem(databaseUrl, error))
}
