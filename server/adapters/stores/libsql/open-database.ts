import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { drizzle } from 'drizzle-orm/libsql'
import type { Clock } from '../../../core/clock'
import { MAIN_CELL } from '../../../core/cluster/cells'
import { type ControlChanges, NO_OTHER_COPIES } from '../../../core/cluster/control-changes'
import { AT_ONCE, type Opening } from '../../../core/cluster/opening'
import type { LastTimes } from '../../../core/ledger/clock-check'
import { type CellOfAll, refuseOtherCell } from './cluster/cell-database'
import { liveOwner } from './cluster/lease-tables'
import { announcingWrites } from './control-version'
import { databaseFile } from './driver/file/database-file'
import { lockDatabaseFile } from './driver/file/database-file-lock'
import { EpochMark } from './driver/file/epoch-mark'
import { databaseName, namedProblem, shownReason } from './driver/named-problem'
import { problemOfServer } from './driver/network/problem-of-server'
import type { Opened } from './driver/opened'
import { type HeldLease, raiseEpoch } from './driver/raise-epoch'
import { SilenceWatch } from './driver/silence-watch'
import { sqlClient } from './driver/sql-client'
import { assertSyncedCommits } from './driver/synced-commits'
import { LateConnection } from './driver/worker/late-connection'
import { Connection, databaseError } from './driver/worker/worker-connection'
import { OWN_THREADS, type WorkerThreads } from './driver/worker/worker-threads'
import { WriteQueue } from './driver/write-queue'
import { TOKEN_TABLES, WriteWatch } from './driver/write-watch'
import { lastTimes } from './last-times'
import { refuseMoved, refuseWhileMoving } from './move/move-mark'
import { refuseOtherSchema, type UpgradeOptions, upgradeDatabase } from './upgrade'

const ONLY_CELL: CellOfAll = { name: MAIN_CELL, all: [MAIN_CELL] }

export interface DatabaseOptions {
  /** `file:`, `libsql:` or `http(s):`. */
  readonly url: string
  readonly authToken: string | null
  /** Whether the operator promises that a server's disk has what the server acknowledges. */
  readonly isSyncPromised: boolean
  readonly clock: Clock
  /** Called when it cannot be used any more: another process owns the database, a worker died, or the database of a node is silent. */
  readonly onFatal: (reason: string) => void
  readonly onTrouble: (what: string, reason: string) => void
  readonly beforeUpgrade?: UpgradeOptions['beforeUpgrade']
  /**
   * Called before it is served when a database file is not the one that its folder served last, with when it was last written to.
   * `isNewHere`: the folder never served any.
   */
  readonly onPutBack?: (last: LastTimes, isNewHere: boolean) => Promise<void>
  /** The lease under which a node of many opens the database. */
  readonly lease?: HeldLease
  /** Writes are refused until it owns the database. */
  readonly opening?: Opening | undefined
  /** With several cells, which of them it is. */
  readonly cell?: CellOfAll | undefined
  /** With several cells, of the control database: tells their gateways what changed. */
  readonly changes?: ControlChanges | undefined
  /** For tests, which open and close many stores in one process. */
  readonly threads?: WorkerThreads
}

/** A database that this process owns: from the moment it is open, or `Opening` has begun, no older owner can commit. */
export interface Database {
  /** Null for a database over the network. */
  readonly file: string | null
  readonly db: LibSQLDatabase
  /** The same over a connection of its own, opened at its first use, for what may read for seconds: it keeps no call waiting. */
  readonly reports: LibSQLDatabase
  readonly reader: Connection
  readonly writes: WriteQueue
  /** A count that rises when a write that can change an access token begins, and again when it ends. */
  tokenChanges(): number
  /** Why the database does not respond now; null if it does. */
  problem(): Promise<string | null>
}

/** Locks a database file for this process alone; when owned, migrates the schema and takes ownership by raising the epoch. */
export function openDatabase(options: DatabaseOptions, opened: Opened): Promise<Database> {
  return owned(options, opened).catch((error: unknown) => {
    throw namedProblem(options.url, error)
  })
}

async function owned(options: DatabaseOptions, opened: Opened): Promise<Database> {
  const { url, authToken, threads = OWN_THREADS, opening = AT_ONCE } = options
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
  const reports = new LateConnection(() => open('reader'))
  opened.addConnection(reports)
  if (file === null && options.lease) endWhenSilent(options, { writer, readers: [reader, reports] }, opened)
  if (file === null) {
    await firstAnswer(reader, url)
    await assertSyncedCommits(reader, { url, isPromised: options.isSyncPromised, onTrouble: options.onTrouble })
  }
  await refuseTaken(reader, { isServer: file === null, isNode: options.lease !== undefined })
  await refuseOtherCell((sql) => reader.rows(sql), options.cell ?? ONLY_CELL)
  if (opening.isAhead) await refuseOtherSchema(reader)
  const writes = new WriteQueue(writer)
  const mark = file === null ? null : new EpochMark(file)
  await opening.own(async () => {
    const { onTrouble, beforeUpgrade, clock, lease = null } = options
    // An upgrade since this was prepared is refused, whatever the epoch is by then.
    const current = opening.isAhead
      ? refuseOtherSchema(reader)
      : upgradeDatabase({ writer, reader }, { file, onTrouble, beforeUpgrade })
    if (!opening.isAhead) await current
    if (mark) await comparedWithMark(mark, { writer, reader, writes }, options)
    const [, epoch] = await both(current, raiseEpoch(writer, clock.now(), lease))
    writes.begin(epoch)
    try {
      mark?.write(epoch)
    } catch (error) {
      // A full disk, most often. The mark of the last start stays, which is below every later epoch.
      options.onTrouble('mark', shownReason(error))
    }
  })
  if (mark) opened.add(() => raiseAtEnd(mark, writes))
  opened.add(() => writes.drained())
  const tokenWrites = new WriteWatch(TOKEN_TABLES)
  const announcing = announcingWrites(writes, options.changes ?? NO_OTHER_COPIES)
  const over = (reads: Pick<Connection, 'send'>) =>
    drizzle({ client: sqlClient(reads, () => announcing, writer, tokenWrites) })
  return {
    ...{ file, reader, writes },
    ...{ db: over(reader), reports: over(reports) },
    tokenChanges: () => tokenWrites.count,
    problem: () => databaseProblem(reader),
  }
}

/** Reports data that somebody put in the place of what this folder served. */
async function comparedWithMark(
  mark: EpochMark,
  { writer, reader, writes }: { readonly writer: Connection; readonly reader: Connection; readonly writes: WriteQueue },
  { onPutBack }: Pick<DatabaseOptions, 'onPutBack'>,
): Promise<void> {
  const [[epoch, version] = []] = await reader.rows('SELECT epoch, version FROM owner WHERE id = 1')
  const origin = mark.originOf(Number(epoch), version !== null)
  if (origin === 'same') return
  const last = await lastTimes(drizzle({ client: sqlClient(reader, () => writes, writer) }))
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

/**
 * Cuts the connections of a node to a database that answers nothing any more: what waits fails at once, and what is sent later is refused by the
 * fence. A process alone has no successor and waits for its database.
 */
function endWhenSilent(
  { url, authToken, onFatal }: DatabaseOptions,
  connections: { readonly writer: Connection; readonly readers: readonly (Connection | LateConnection)[] },
  opened: Opened,
): void {
  const watch = new SilenceWatch({
    ...connections,
    ask: (maxMs) => problemOfServer({ url, authToken }, maxMs),
    now: () => performance.now(),
    onSilent(reason) {
      for (const connection of [connections.writer, ...connections.readers]) connection.abandon(reason)
      onFatal(reason)
    },
  })
  watch.start()
  opened.add(() => watch.stop())
}

/** Why the database does not respond now; null if it does. */
export function databaseProblem(reader: Connection): Promise<string | null> {
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

/**
 * Refuses a database that is not this process's to open: its data is elsewhere, or nodes run on it. A process that knows nothing of leases
 * would take the database from them, and they would take it back.
 */
async function refuseTaken(
  reader: Connection,
  { isServer, isNode }: { readonly isServer: boolean; readonly isNode: boolean },
): Promise<void> {
  const rows = (sql: string) => reader.rows(sql)
  await refuseMoved(rows)
  if (!isServer) return
  await refuseWhileMoving(rows)
  const owner = isNode ? null : await liveOwner(rows)
  if (owner === null) return
  throw new Error(
    `The node at ${owner} owns this database. Set NODE_URL to start another node, or stop all nodes and wait 10 seconds`,
  )
}
