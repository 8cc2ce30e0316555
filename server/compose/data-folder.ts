import { DataFolderInUse, lockDataFolder } from '../adapters/stores/libsql/driver/file/data-folder-lock'
import type { Config } from '../config'

/** Locks the data folder for this process. Throws `DataFolderInUse` when another gateway uses it. */
export function takeDataFolder({ dataDir }: Pick<Config, 'dataDir'>): Promise<{ release(): void }> {
  return lockDataFolder(dataDir)
}

/** Whether another gateway has the data folder. */
export function isInUse(error: unknown): boolean {
  return error instanceof DataFolderInUse
}
