import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { FileHeld, holdFile } from './held-file'

/** Another process has locked the database file. */
class DatabaseFileInUse extends Error {}

/**
 * The path of the database file in a URL, with links resolved, so that the files next to it (log, lock) are the same for everyone who
 * opens it. Null for a database over the network or in memory.
 */
export function databaseFile(url: string): string | null {
  const path = /^file:(?:\/\/[^/?#]*)?([^?#]+)/.exec(url)?.[1]
  if (!path || path.startsWith(':memory:')) return null
  const file = decodeURIComponent(path)
  if (existsSync(file)) return realpathSync(file)
  const folder = dirname(file)
  return existsSync(folder) ? join(realpathSync(folder), basename(file)) : file
}

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
