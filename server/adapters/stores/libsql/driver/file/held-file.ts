import { pathToFileURL } from 'node:url'
import { type Client, createClient } from '@libsql/client'
import { fileProblem } from './file-problem'

/** Another process has locked the file. */
export class FileHeld extends Error {}

/** References that prevent garbage collection: the driver closes an unreachable connection, which would release the lock. */
const held = new Set<unknown>()

/**
 * Locks a small file for the life of this process: a database with a write transaction that is never committed. The operating system
 * releases the lock when the process ends in any way, so there are no stale locks. A frozen process keeps it.
 */
export async function holdFile(path: string): Promise<{ release(): void }> {
  const client = opened(path)
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
    throw fileProblem(path, error)
  }
}

function opened(path: string): Client {
  try {
    return createClient({ url: pathToFileURL(path).href, concurrency: 1, timeout: 0 })
  } catch (error) {
    throw fileProblem(path, error)
  }
}
