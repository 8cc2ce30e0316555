import { drizzle, type LibSQLDatabase } from 'drizzle-orm/libsql'
import type { Clock } from '../../../core/clock'
import { Copies } from '../../../core/copies'
import type { LastTimes } from '../../../core/ledger/clock-check'
import { VERSION } from '../../../core/version'
import { databaseFile } from './driver/file/database-file'
import { EpochMark } from './driver/file/epoch-mark'
import { lockDatabaseFile } from './driver/file/held-file'
import { databaseName, namedProblem, shownReason } from './driver/named-problem'
import type { Opened } from './driver/opened'
import { sqlClient } from './driver/sql-client'
import { assertSyncedCommits } from './driver/synced-commits'
import { Connection, databaseError, LateConnection } from './driver/worker/worker-connection'
import { OWN_THREADS, type WorkerThreads } from './driver/worker/worker-threads'
import type { SqlStatement, WireResult } from './driver/worker-wire'
import { WriteQueue } from './driver/write-queue'
import { TOKEN_TABLES, WriteWatch } from './driver/write-watch'
import { lastTimes } from './last-times'
import { type UpgradeOptions, upgradeDatabase } from './upgrade'

export interface DatabaseOptions {
  /** `file:`, `libsql:` or `http(s):`. */
  readonly url: string
  readonly authToken: string | null
  /** Whether the operator promises that a server's disk has what the server acknowledges. */
  readonly isSyncPromised: boolean
  /** Whether Litestream follows the file: it alone checkpoints, since two that do at the same moment can damage its copy. */
  readonly isReplicated?: boolean
  readonly clock: Clock
  /** Called when it cannot be used any more: another process owns the database, or a worker died. */
  readonly onFatal: (reason: string) => void
  readonly onTrouble: (what: string, reason: string) => void
  readonly beforeUpgrade?: UpgradeOptions['beforeUpgrade']
  readonly migrations?: UpgradeOptions['migrations']
  /**
   * Called before it is served when a database file is not the one that its folder served last, with when it was last written to.
   * `isNewHere`: the folder never served any.
   */
  readonly onPutBack?: (last: LastTimes, isNewHere: boolean) => Promise<void>
  /** For tests, which open and close many stores in one process. */
  readonly threads?: WorkerThreads
}

/** A database that this process owns: from the moment it is open, no older owner can commit. */
export interface Database {
  /** Null for a database over the network. */
  readonly file: string | null
  /** Which owner this process is: each has a higher number than the one before. */
  readonly epoch: number
  readonly db: LibSQLDatabase
  /** The same over a connection of its own, opened at its first use, for what may read for seconds: it keeps no call waiting. */
  readonly reports: LibSQLDatabase
  readonly reader: Connection
  readonly writes: WriteQueue
  /** The tables that are in memory as a whole. */
  readonly copies: Copies
  /** A count that rises when a write that can change an access token begins, and again when it ends. */
  tokenChanges(): number
  /** Why the database does not respond now; null if it does. */
  problem(): Promise<string | null>
}

/** Locks a database file for this process alone, migrates the schema and takes ownership by raising the epoch. */
export function openDatabase(options: DatabaseOptions, opened: Opened): Promise<Database> {
  return owned(options, opened).catch((error: unknown) => {
    throw namedProblem(options.url, error)
  })
}

async function owned(options: DatabaseOptions, opened: Opened): Promise<Database> {
  const { url, authToken, threads = OWN_THREADS } = options
  const file = databaseFile(url)
  const lock = file === null ? null : await lockDatabaseFile(file)
  if (lock) opened.add(() => lock.release())
  const open = (role: 'writer' | 'reader') =>
    Connection.open({ role, url, authToken, threads }, (error) => options.onFatal(error.message))
  const connect = async (role: 'writer' | 'reader') => {
    const connection = await open(role)
    opened.addConnection(connection)
    return connection
  }
  // A file is made by the writer; over the network both threads start at once, which a take-over waits for.
  const writing = connect('writer')
  if (file !== null) await writing
  const [writer, reader] = await both(writing, connect('reader'))
  if (options.isReplicated) await writer.rows('PRAGMA wal_autocheckpoint = 0')
  const reports = new LateConnection(() => open('reader'))
  opened.addConnection(reports)
  if (file === null) {
    await firstAnswer(reader, url)
    await assertSyncedCommits(reader, { url, isPromised: options.isSyncPromised, onTrouble: options.onTrouble })
  }
  const { onTrouble, beforeUpgrade, migrations, clock } = options
  await upgradeDatabase({ writer, reader }, { file, beforeUpgrade, migrations })
  const mark = file === null ? null : new EpochMark(file)
  if (mark) await comparedWithMark(mark, { writer, reader }, options)
  const epoch = await raiseEpoch(writer, clock.now())
  const writes = new WriteQueue(writer, epoch)
  try {
    mark?.write(epoch)
  } catch (error) {
    // A full disk, most often. The mark of the last start stays, which is below every later epoch.
    onTrouble('mark', shownReason(error))
  }
  if (mark) opened.add(() => raiseAtEnd(mark, writes))
  opened.add(() => writes.drained())
  const tokenWrites = new WriteWatch(TOKEN_TABLES)
  const copies = new Copies(() => writes.settled())
  opened.add(() => copies.close())
  const doubtful = doubtfulWrites(writes, copies)
  const over = (reads: Pick<Connection, 'send'>) => drizzle({ client: sqlClient(reads, doubtful, writer, tokenWrites) })
  return {
    file,
    epoch,
    reader,
    writes,
    copies,
    db: over(reader),
    reports: over(reports),
    tokenChanges: () => tokenWrites.count,
    problem: () => databaseProblem(reader),
  }
}

const NO_WRITES = { batch: () => Promise.reject(new Error('this process does not own the database yet')) }

/** Reports data that somebody put in the place of what this folder served. */
async function comparedWithMark(
  mark: EpochMark,
  { writer, reader }: { readonly writer: Connection; readonly reader: Connection },
  { onPutBack }: Pick<DatabaseOptions, 'onPutBack'>,
): Promise<void> {
  const [[epoch, version] = []] = await reader.rows('SELECT epoch, version FROM owner WHERE id = 1')
  const origin = mark.originOf(Number(epoch), version !== null)
  if (origin === 'same') return
  const last = await lastTimes(drizzle({ client: sqlClient(reader, NO_WRITES, writer) }))
  await onPutBack?.(last, origin === 'new')
}

/** A copy that was made before this end has a lower epoch than the mark. A process that lost the database changes nothing. */
async function raiseAtEnd(mark: EpochMark, writes: WriteQueue): Promise<void> {
  try {
    const sql = 'UPDATE owner SET epoch = epoch + 1, asserted = epoch + 1 WHERE id = 1 RETURNING epoch'
    const [raised] = await writes.batch([{ sql, args: [] }])
    mark.write(Number(raised?.rows[0]?.[0]))
  } catch {
    // The next start knows this one by the epoch with which it began.
  }
}

/** Waits until both have ended, so that all openings are known. */
async function both<A, B>(first: Promise<A>, second: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([first, second])
  return [await first, await second]
}

/** Why the database does not respond now; null if it does. */
function databaseProblem(reader: Connection): Promise<string | null> {
  return reader.rows('SELECT 1').then(
    () => null,
    (error: unknown) => databaseError(error).message,
  )
}

/** A database that does not answer at the start is most often a wrong setting. */
async function firstAnswer(reader: Connection, url: string): Promise<void> {
  try {
    await reader.rows('SELECT 1')
  } catch (failure) {
    const reason = shownReason(failure)
    throw new Error(
      `The database at ${databaseName(url)} does not answer: ${reason} Check DATABASE_URL, such as DATABASE_URL=libsql://db.example.com, and DATABASE_AUTH_TOKEN`,
    )
  }
}

/** Writes to tables that are in memory as a whole. Roles change by an update; new accounts are not in memory. */
const COPIED =
  /^\s*(?:(?:insert(?:\s+or\s+\w+)?\s+into|update(?:\s+or\s+\w+)?|delete\s+from)\s+["`]?(?:models|prices|apis|api_operations|api_prices|api_tools|removed_apis|api_closings)\b|update\s+["`]?account_directory\b)/i

interface Writes {
  batch(statements: readonly SqlStatement[]): Promise<readonly WireResult[]>
}

/** Has the copies read again when a write to them failed: it may have been committed nevertheless. */
function doubtfulWrites(writes: Writes, copies: Pick<Copies, 'doubt'>): Writes {
  return {
    batch(statements) {
      const written = writes.batch(statements)
      if (statements.some(({ sql }) => COPIED.test(sql))) written.catch(() => copies.doubt())
      return written
    },
  }
}

const RAISE = `UPDATE owner SET epoch = max(epoch + 1, ?1), asserted = max(epoch + 1, ?1), last_group = 0, version = ?2
  WHERE id = 1 RETURNING epoch`

/**
 * Raises the epoch by one, and at least to the time in seconds: what is restored from an older copy begins above every epoch that the
 * original ever had. Resolves to the new epoch; from then on no older process commits anything.
 */
async function raiseEpoch(writer: Connection, now: number): Promise<number> {
  const statements = [{ sql: RAISE, args: [Math.max(0, Math.floor(now / 1000)), VERSION] }]
  const [raised] = await writer.send({ op: 'batch', mode: 'write', statements })
  const epoch = Number(raised?.rows[0]?.[0])
  if (!Number.isSafeInteger(epoch)) throw new Error('the database has no owner row')
  return epoch
}
