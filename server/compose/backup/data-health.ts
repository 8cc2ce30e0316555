import { stat } from 'node:fs/promises'
import { type DiskLeft, diskLeft } from '../../adapters/backup/files'
import { openTarget } from '../../adapters/backup/open-target'
import { readLog } from '../../adapters/stores/libsql/backup/read-log'
import { type CopyFacts, examineCopy } from '../../adapters/stores/libsql/backup/snapshot'
import { databaseFile } from '../../adapters/stores/libsql/driver/database-file'
import type { WorkerThreads } from '../../adapters/stores/libsql/driver/worker-threads'
import { SCHEMA_TIME } from '../../adapters/stores/libsql/upgrade'
import type { BackupSettings } from '../../config/backups'

/** What was found in the data, read beside a gateway that may be running. */
export interface DataHealth extends CopyFacts {
  readonly bytes: number
  /** Bytes of the log of charges. */
  readonly logBytes: number
  /** How the schema compares with the one of this version. */
  readonly age: 'older' | 'current' | 'newer'
}

/** The file of the database; null for a database server. */
export const databaseFileOf = (url: string): string | null => databaseFile(url)

/** What is left of the disk that a path is on. */
export const diskOf = (path: string): Promise<DiskLeft> => diskLeft(path)

/** Reads a database file: its schema, whether its books agree, and whether its log can be read. Changes nothing. */
export async function examineData(file: string, threads?: WorkerThreads): Promise<DataHealth> {
  const facts = await examineCopy(file, { everyPage: false, threads })
  const log = await readLog(`${file}.log`)
  const age = facts.schema === SCHEMA_TIME ? 'current' : facts.schema < SCHEMA_TIME ? 'older' : 'newer'
  return { ...facts, bytes: (await stat(file)).size, logBytes: log.length, age }
}

/** When the newest scheduled copy was taken. Null if there is none. */
export async function newestCopyAt({ to, access }: BackupSettings): Promise<number | null> {
  if (to === null) return null
  return (await openTarget(to, { access, workFolder: '' }).copies()).at(-1)?.takenAt ?? null
}
