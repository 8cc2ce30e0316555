import { stat } from 'node:fs/promises'
import { type DiskLeft, diskLeft } from '../../adapters/backup/files'
import { openBackupTarget } from '../../adapters/backup/open-target'
import { examineServer, type ServerFacts } from '../../adapters/stores/libsql/backup/examine-server'
import { readLog } from '../../adapters/stores/libsql/backup/read-log'
import { type CopyFacts, examineCopy } from '../../adapters/stores/libsql/backup/snapshot'
import { databaseFile } from '../../adapters/stores/libsql/driver/file/database-file'
import { OWN_THREADS, type WorkerThreads } from '../../adapters/stores/libsql/driver/worker/worker-threads'
import { SCHEMA_TIME } from '../../adapters/stores/libsql/upgrade'
import type { BackupSettings } from '../../config/backups'

/** Findings about the data, read while a gateway may be running. */
export interface DataHealth extends CopyFacts {
  readonly bytes: number
  /** Bytes of the log of charges. */
  readonly logBytes: number
  /** How the schema compares with the one of this version. */
  readonly age: 'older' | 'current' | 'newer'
}

/** The file of the database; null for a database server. */
export const databaseFileOf = (url: string): string | null => databaseFile(url)

/** The free space of the disk that a path is on. */
export const diskOf = (path: string): Promise<DiskLeft> => diskLeft(path)

/**
 * Reads a database file: its schema, whether its books agree, and whether its log can be read. Changes nothing.
 */
export async function examineData(file: string, threads: WorkerThreads = OWN_THREADS): Promise<DataHealth> {
  const facts = await examineCopy(file, { everyPage: false, threads })
  const log = await readLog(`${file}.log`)
  const age = facts.schema === SCHEMA_TIME ? 'current' : facts.schema < SCHEMA_TIME ? 'older' : 'newer'
  return { ...facts, bytes: (await stat(file)).size, logBytes: log.length, age }
}

export type { ServerFacts }

/** Reads a database server. Changes nothing. Throws if it does not answer. */
export function examineDatabase(
  place: { readonly url: string; readonly authToken: string | null },
  isSyncPromised: boolean,
): Promise<ServerFacts> {
  return examineServer(place, isSyncPromised)
}

/** Where scheduled copies go: why none could be written there (null if one could), and when the newest was taken (null for none). */
export async function examineCopies(to: string, { access }: Pick<BackupSettings, 'access'>) {
  const target = openBackupTarget(to, { access, workFolder: '' })
  const writeProblem = await target.writeProblem()
  return { writeProblem, newestAt: (await target.copies()).at(-1)?.takenAt ?? null }
}
