import { existsSync } from 'node:fs'
import { openBackupTarget } from '../adapters/backup/open-target'
import { DataFolderInUse, lockDataFolder } from '../adapters/stores/libsql/driver/file/data-folder-lock'
import type { Config } from '../config'
import type { Log } from '../log'
import { databaseFileOf } from './backup/data-health'

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
