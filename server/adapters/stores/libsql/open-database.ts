import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { drizzle } from 'drizzle-orm/libsql'
import type { Clock } from '../../../core/clock'
import { HAS_LEASE, liveOwner } from './cluster/lease-tables'
import { databaseFile } from './driver/database-file'
import { lockDatabaseFile } from './driver/database-file-lock'
import type { Opened } from './driver/opened'
import { sqlClient } from './driver/sql-client'
import { Connection, databaseError } from './driver/worker-connection'
import { OWN_THREADS, type WorkerThreads } from './driver/worker-threads'
import { WriteQueue } from './driver/write-queue'
import { TOKEN_TABLES, WriteWatch } from './driver/write-watch'
import { type UpgradeOptions, upgradeDatabase } from './upgrade'

export interface DatabaseOptions {
  /** `file:`, `libsql:` or `http(s):`. */
  readonly url: string
  readonly authToken: string | null
  readonly clock: Clock
  /** Called when the process must stop: another process owns the database, or a worker died. */
  readonly onFatal: (reason: string) => void
  readonly onTrouble: (what: string, reason: string) => void
  readonly beforeUpgrade?: UpgradeOptions['beforeUpgrade']
  /** The lease under which a node of many opens the database. */
  readonly lease?: HeldLease
  /** For tests, which open and close many stores in one process. */
  readonly threads?: WorkerThreads
}

/** A lease that this node took. Another node may have it by now. */
interface HeldLease {
  readonly nodeId: string
  readonly term: number
}

/** A database that this process owns: from the moment it is open, no older owner can commit. */
export interface Database {
  /** Null for a database over the network. */
  readonly file: string | null
  readonly db: LibSQLDatabase
  readonly reader: Connection
  readonly writes: WriteQueue
  /** A count that rises when a write that can change an access token begins, and again when it ends. */
  tokenChanges(): number
  /** Why the database does not respond now; null if it does. */
  problem(): Promise<string | null>
}

/** Locks a database file for this process alone, migrates the schema, and takes ownership by raising the epoch. */
export async function openDatabase(options: DatabaseOptions, opened: Opened): Promise<Database> {
  const { url, authToken, threads = OWN_THREADS } = options
  const file = databaseFile(url)
  const lock = file === null ? null : await lockDatabaseFile(file)
  if (lock) opened.add(() => lock.release())
  const connect = async (role: 'writer' | 'reader') => {
    const connection = await Connection.open({ role, url, authToken, threads }, (error) =>
      options.onFatal(error.message),
    )
    opened.addConnection(connection)
    return connection
  }
  const writer = await connect('writer')
  const reader = await connect('reader')
  if (file === null) await firstAnswer(reader, url)
  if (file === null && !options.lease) await refuseBesideNodes(reader)
  await upgradeDatabase(writer, { file, onTrouble: options.onTrouble, beforeUpgrade: options.beforeUpgrade })
  const epoch = await raiseEpoch(writer, options.clock.now(), options.lease)
  const writes = new WriteQueue(writer, epoch)
  opened.add(() => writes.drained())
  const tokenWrites = new WriteWatch(TOKEN_TABLES)
  return {
    ...{ file, reader, writes },
    db: drizzle({ client: sqlClient(reader, () => writes, writer, tokenWrites) }),
    tokenChanges: () => tokenWrites.count,
    problem: () =>
      reader.rows('SELECT 1').then(
        () => null,
        (error: unknown) => databaseError(error).message,
      ),
  }
}

/** A database that does not answer at the start is most often a wrong setting. */
async function firstAnswer(reader: Connection, url: string): Promise<void> {
  try {
    await reader.rows('SELECT 1')
  } catch (failure) {
    const reason = failure instanceof Error ? failure.message : String(failure)
    throw new Error(
      `The database at ${URL.parse(url)?.host ?? 'DATABASE_URL'} does not answer: ${reason}. Check DATABASE_URL, such as DATABASE_URL=libsql://db.example.com, and DATABASE_AUTH_TOKEN`,
    )
  }
}

/** A process that knows nothing of leases would take the database from the nodes that run on it, and they would take it back. */
async function refuseBesideNodes(reader: Connection): Promise<void> {
  const owner = await liveOwner((sql) => reader.rows(sql))
  if (owner === null) return
  throw new Error(
    `The node at ${owner} owns this database. Set NODE_URL to start another node, or stop all nodes and wait 10 seconds`,
  )
}

/**
 * Raises the epoch by one, and at least to the time in seconds: what is restored from an older copy begins above every epoch that the
 * original ever had. Throws if another node has the lease: one that froze while it opened the database must not fence its successor.
 */
async function raiseEpoch(writer: Connection, now: number, lease: HeldLease | undefined): Promise<number> {
  const sql = `UPDATE owner SET epoch = max(epoch + 1, ?1), asserted = max(epoch + 1, ?1), last_group = 0 WHERE id = 1 AND ${HAS_LEASE} RETURNING epoch`
  const args = [Math.max(0, Math.floor(now / 1000)), lease?.nodeId ?? null, lease?.term ?? null]
  const [result] = await writer.send({ op: 'batch', mode: 'write', statements: [{ sql, args }] })
  const epoch = Number(result?.rows[0]?.[0])
  if (Number.isSafeInteger(epoch)) return epoch
  throw new Error(lease ? 'another node took the lease meanwhile' : 'the database has no owner row')
}
