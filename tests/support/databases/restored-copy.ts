import { join } from 'node:path'
import { type RestoreOptions, restoreCopy } from '../../../server/compose/backup/restore'
import { TEST_THREADS } from '../test-threads'

/** Restores a copy into a data folder, as the command does. Returns the database file. */
export async function restoredCopy(options: Pick<RestoreOptions, 'target' | 'copy' | 'dataDir' | 'now'>) {
  const file = join(options.dataDir, 'gateway.db')
  await restoreCopy({ ...options, databaseUrl: `file:${file}`, threads: TEST_THREADS, onProgress: () => undefined })
  return file
}
