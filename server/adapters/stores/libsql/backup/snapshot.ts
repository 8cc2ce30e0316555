import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { drizzle } from 'drizzle-orm/libsql'
import { DATABASE } from '../../../../core/backup/copy'
import type { LastTimes } from '../../../../core/ledger/clock-check'
import type { LedgerProblem } from '../../../../core/ledger/ledger-check'
import { writeFlushed } from '../../../backup/files'
import { sqlClient } from '../driver/sql-client'
import { Connection } from '../driver/worker/worker-connection'
import { OWN_THREADS, type WorkerThreads } from '../driver/worker/worker-threads'
import { MAX_GROUP_BYTES } from '../journal/group-size'
import { logExtent } from '../journal/log-format'
import { lastTimes } from '../last-times'
import { libsqlLedgerCheck } from '../ledger/ledger-check'
import { SCHEMA_TIME } from '../upgrade'
import { readLog } from './read-log'

interface CopyOptions {
  readonly from: string
  readonly to: string
  /** Called with the bytes that were written and their number in the end, which is an estimate. */
  readonly onProgress: (bytes: number, total: number) => void
  readonly threads?: WorkerThreads | undefined
}

const MAX_BATCH = 4096
const NEVER: LastTimes = { entry: null, audit: null }
const LOG_SUFFIX = '.log'

/**
 * Copies a database file that a gateway may be writing, with every charge that was acknowledged before the call. The log is read first: what is
 * removed from it afterwards is in the tables, which are copied next (ADR 10). Then the copy gets what the log has more. The copy
 * is one file, without a log.
 */
export async function copyDatabase(options: CopyOptions): Promise<void> {
  const log = await readLog(options.from + LOG_SUFFIX)
  await vacuumInto(options)
  if (log.length > 0) await applyLog(options, log)
}

/** Copies the database of an older gateway, and its log if there is one. Nothing else may write them. Returns the paths. */
export async function copyUnchanged({
  from,
  folder,
  threads = OWN_THREADS,
}: Pick<CopyOptions, 'from' | 'threads'> & { readonly folder: string }): Promise<readonly string[]> {
  const to = join(folder, DATABASE)
  const log = await readLog(from + LOG_SUFFIX)
  await vacuumInto({ from, to, threads, onProgress: () => undefined })
  if (log.length === 0) return [to]
  await writeFile(to + LOG_SUFFIX, log, { mode: 0o600 })
  return [to, to + LOG_SUFFIX]
}

/**
 * Copies one SQLite file as it is at one moment. In a thread and connection of its own: neither the writer nor the readers of the gateway
 * wait for it.
 */
async function vacuumInto({ from, to, onProgress, threads = OWN_THREADS }: CopyOptions): Promise<void> {
  await withConnection(from, 'copier', threads, async (source) => {
    const [row] = await source.rows('SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()')
    const total = Number(row?.[0] ?? 0)
    await writeFlushed(
      to,
      () => source.send({ op: 'batch', mode: 'read', statements: [{ sql: 'VACUUM INTO ?', args: [to] }] }),
      (bytes) => onProgress(bytes, total),
    )
  })
}

async function applyLog({ to, threads = OWN_THREADS }: CopyOptions, bytes: Uint8Array): Promise<void> {
  const { last, goodLength } = logExtent(bytes)
  const path = to + LOG_SUFFIX
  await withConnection(to, 'writer', threads, async (copy) => {
    const [row] = await copy.rows('SELECT epoch, applied_group FROM owner WHERE id = 1')
    const [epoch = 0, applied = 0] = (row ?? []).map(Number)
    if (last !== null && last > applied) {
      await writeFile(path, bytes, { mode: 0o600 })
      for (let from = 0; from < goodLength; ) {
        const { end } = await copy.apply({
          epoch,
          log: { path, from, to: goodLength },
          maxRecords: MAX_BATCH,
          maxBytes: MAX_GROUP_BYTES,
          bestEffort: null,
        })
        from = end ?? goodLength
      }
    }
    // One file: SQLite's own log does not stay.
    await copy.rows('PRAGMA wal_checkpoint(TRUNCATE)')
    await copy.rows('PRAGMA journal_mode = DELETE')
  })
  await Bun.file(path)
    .delete()
    .catch(() => undefined)
}

/** The findings in a copy. */
export interface CopyFacts {
  /** The time of the last migration; 0 for a database without any. */
  readonly schema: number
  /** Figures of the books that do not agree. Empty is good; null if an older gateway made the copy, whose tables are others. */
  readonly problems: readonly LedgerProblem[] | null
  /** The variables with keys of upstreams that operators' models name. */
  readonly keyVariables: readonly string[]
  readonly last: LastTimes
}

/**
 * Reads a copy: its schema, and whether its books agree. With `everyPage`, every page too, but not each row in each index: that takes ten
 * minutes at ten million calls, and the checksums tell a copy from its original. Throws when it is damaged.
 */
export async function examineCopy(
  file: string,
  { everyPage, threads = OWN_THREADS }: { readonly everyPage: boolean; readonly threads?: WorkerThreads | undefined },
): Promise<CopyFacts> {
  return withConnection(file, 'reader', threads, async (copy) => {
    if (everyPage) {
      const found = (await copy.rows('PRAGMA quick_check(5)')).map(([text]) => String(text))
      if (found.join() !== 'ok') throw new Error(`the database is damaged: ${found.join('; ')}`)
    }
    const schema = Number((await copy.rows('SELECT max(created_at) FROM __drizzle_migrations'))[0]?.[0] ?? 0)
    if (schema !== SCHEMA_TIME) return { schema, problems: null, keyVariables: [], last: NEVER }
    return { schema, ...(await booksOf(copy)) }
  })
}

/** The books of a database of this version without a writer. */
export async function booksOf(connection: Connection) {
  const models = await connection.rows("SELECT DISTINCT json_extract(entry, '$.key_env') FROM models")
  const db = readerOf(connection)
  const problems = await libsqlLedgerCheck(db, async () => undefined)()
  const keyVariables = models.flatMap(([name]) => (typeof name === 'string' ? [name] : []))
  return { problems, keyVariables, last: await lastTimes(db) }
}

/** Statements that read, for a database that others may write. */
export function readerOf(connection: Connection) {
  const noWrites = { batch: () => Promise.reject(new Error('this connection only reads')) }
  return drizzle({ client: sqlClient(connection, noWrites, connection) })
}

/** Opens one database file while `use` runs, in a thread of its own. */
export async function withConnection<T>(
  file: string,
  role: 'copier' | 'writer' | 'reader',
  threads: WorkerThreads,
  use: (connection: Connection) => Promise<T>,
): Promise<T> {
  const url = pathToFileURL(file).href
  const connection = await Connection.open({ role, url, authToken: null, threads }, () => undefined)
  try {
    return await use(connection)
  } finally {
    await connection.close()
  }
}
