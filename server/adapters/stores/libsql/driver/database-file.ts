import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { FileHeld, holdFile } from './held-file'

/** Another process holds the database file. */
class DatabaseFileInUse extends Error {}

/**
 * The path of the database file that an address names, free of links, so that what stands beside it (the log, the lock) is one
 * for all who name it. Null for a database behind a network, and for one in memory.
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
 * Holds a database file for the life of this process. Batches are fenced by the epoch, but the log beside the file is not:
 * two processes must never write one, however their data folders are named.
 */
export async function lockDatabaseFile(file: string): Promise<{ release(): void }> {
  try {
    return await holdFile(`${file}.lock`)
  } catch (error) {
    if (!(error instanceof FileHeld)) throw error
    throw new DatabaseFileInUse(`the database ${file} is in use by another gateway; stop it first`)
  }
}
