import { createClient } from '@libsql/client'

/** Another process holds the folder. */
export class DataFolderInUse extends Error {}

/** Kept from the garbage collector: the driver closes a connection that nobody can reach, and the lock goes with it. */
const held = new Set<unknown>()

/**
 * Holds a data folder for the life of this process: a write transaction on a small database file that is never committed.
 * The operating system lets go of it when the process ends, however it ends, so there is no stale lock to clean up.
 */
export async function lockDataFolder(folder: string): Promise<{ release(): void }> {
  const client = createClient({ url: `file:${folder}/lock`, concurrency: 1, timeout: 0 })
  try {
    const transaction = await client.transaction('write')
    held.add(transaction)
    return {
      release() {
        held.delete(transaction)
        transaction.close()
        client.close()
      },
    }
  } catch (error) {
    client.close()
    if (error instanceof Error && /SQLITE_BUSY|locked/.test(error.message))
      throw new DataFolderInUse(
        `${folder} is in use by another gateway; stop it first, or set DATA_DIR to another folder`,
      )
    throw error
  }
}
