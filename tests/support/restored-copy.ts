import { join } from 'node:path'
import { type RestoreOptions, restoreCopy } from '../../server/compose/backup/restore'
import { POOLED_THREADS } from './pooled-threads'

/** Restores a copy into a data folder, as the command does. Returns the database file. */
export async function restoredCopy(options: Pick<RestoreOptions, 'target' | 'copy' | 'dataDir' | 'now'>) {
  const file = join(options.dataDir, 'gateway.db')
  await restoreCopy({ ...options, databaseUrl: `file:${file}`, threads: POOLED_THREADS, onProgress: () => undefined })
  return file
}
