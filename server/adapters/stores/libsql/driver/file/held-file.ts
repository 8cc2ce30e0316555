import { pathToFileURL } from 'node:url'
import { type Client, createClient } from '@libsql/client'
import { fileProblem } from './file-problem'

/** Another process has locked the file. */
class FileHeld extends Error {}

/** References that prevent garbage collection: the driver closes an unreachable connection, which would release the lock. */
const held = new Set<unknown>()

/**
 * Locks a small file for the life of this process: a database with a write transaction that is never committed. The operating system
 * releases the lock when the process ends in any way, so there are no stale locks. A frozen process keeps it.
 */
async function holdFile(path: string): Promise<{ release(): void }> {
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

/** Another process has locked the database file. */
class DatabaseFileInUse extends Error {}

/**
 * Locks a database file for the life of this process. Batches are fenced by the epoch, but the log next to the file is not: two
 * processes must never write it, whatever their data folders are.
 */
export async function lockDatabaseFile(file: string): Promise<{ release(): void }> {
  try {
    return await holdFile(`${file}.lock`)
  } catch (error) {
    if (!(error instanceof FileHeld)) throw error
    throw new DatabaseFileInUse(`the database ${file} is in use by another gateway; stop it first`)
  }
}

/** Another process holds the folder. */
export class DataFolderInUse extends Error {}

/** Holds a data folder for the life of this process. */
export async function lockDataFolder(folder: string): Promise<{ release(): void }> {
  try {
    return await holdFile(`${folder}/lock`)
  } catch (error) {
    if (!(error instanceof FileHeld)) throw error
    throw new DataFolderInUse(
      `${folder} is in use by another gateway; stop it first, or set DATA_DIR to another folder`,
    )
  }
}
