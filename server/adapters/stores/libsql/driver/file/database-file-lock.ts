import { FileHeld, holdFile } from './held-file'

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
