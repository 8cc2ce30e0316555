import { createClient } from '@libsql/client'

/** Another process holds the file. */
export class FileHeld extends Error {}

/** Kept from the garbage collector: the driver closes a connection that nobody can reach, and the lock goes with it. */
const held = new Set<unknown>()

/**
 * Holds a small file for the life of this process: a database with a write transaction that is never committed. The operating
 * system lets go of it when the process ends, however it ends, so there is no stale lock to clean up; a frozen one keeps it.
 */
export async function holdFile(path: string): Promise<{ release(): void }> {
  const client = createClient({ url: `file:${path}`, concurrency: 1, timeout: 0 })
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
    if (error instanceof Error && /SQLITE_BUSY|locked/.test(error.message)) throw new FileHeld(path)
    throw error
  }
}
