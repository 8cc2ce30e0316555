import { drizzle } from 'drizzle-orm/libsql'
import type { ControlChanges } from '../../../core/cluster/control-changes'
import { inTime } from '../../../core/in-time'
import { reasonOf } from '../../../core/result'
import { WriteLock } from './cluster/write-lock'
import { announcingWrites } from './control-version'
import type { Opened } from './driver/opened'
import { sqlClient } from './driver/sql-client'
import { Connection } from './driver/worker/worker-connection'
import type { WorkerThreads } from './driver/worker/worker-threads'
import type { SqlStatement, WireResult } from './driver/worker-wire'
import { type Database, databaseProblem } from './open-database'

/** What stores of the control database need of it, whether this process owns it or not. */
export type ControlDatabase = Pick<Database, 'db' | 'tokenChanges' | 'problem'>

export interface SharedDatabaseOptions {
  readonly url: string
  readonly authToken: string | null
  readonly changes: ControlChanges
  /** Called when the process must stop: a worker died. */
  readonly onFatal: (reason: string) => void
  readonly threads?: WorkerThreads | undefined
  /** For tests. */
  readonly maxWaitMs?: number
}

/** How long an answer may take, and how long a write waits for those before it. A gateway that loses its cell must close within seconds. */
const MAX_WAIT_MS = 5_000
/** What gateways that do not own the control database write there. All else is read before it is written, by its owner alone (ADR 52). */
const WRITABLE =
  /^(?:identity_\w+|oauth_\w+|account_directory|key_directory|payment_directory|unknown_checkouts|api_closings|cells|audit_log|events)$/
const WRITTEN = /^\s*(?:insert(?:\s+or\s+\w+)?\s+into|update(?:\s+or\s+\w+)?|delete\s+from)\s+["`]?(\w+)/i

/**
 * Opens a database that another process owns, for all cells of this process together: no lock, no upgrade, no epoch. It is read as usual. Writes
 * are not fenced, so each must be right whenever it arrives; one to a table that only the owner writes throws.
 */
export async function openSharedDatabase(options: SharedDatabaseOptions, opened: Opened): Promise<ControlDatabase> {
  const { url, authToken, threads, changes, maxWaitMs = MAX_WAIT_MS } = options
  const connect = async (role: 'writer' | 'reader') => {
    // What nobody waits for any more does not keep the next one waiting.
    const server = { role, url, authToken, batchMs: maxWaitMs, ...(threads && { threads }) }
    const connection = await Connection.open(server, (error) => options.onFatal(error.message))
    opened.addConnection(connection)
    return connection
  }
  const [writer, connected] = [await connect('writer'), await connect('reader')]
  const reader: Pick<Connection, 'send'> = { send: (request) => answeredInTime(connected.send(request), maxWaitMs) }
  const writes = announcingWrites(new SharedWrites(writer, maxWaitMs), changes)
  let reads = 0
  return {
    db: drizzle({ client: sqlClient(reader, () => writes, writer) }),
    // Others write tokens, too: what was read is not remembered.
    tokenChanges: () => ++reads,
    problem: () => answeredInTime(databaseProblem(connected), maxWaitMs).catch(reasonOf),
  }
}

class SharedWrites {
  private readonly connection: Pick<Connection, 'send'>
  private readonly writeLock: WriteLock
  private readonly maxWaitMs: number

  constructor(connection: Pick<Connection, 'send'>, maxWaitMs: number) {
    this.connection = connection
    this.maxWaitMs = maxWaitMs
    this.writeLock = new WriteLock(maxWaitMs)
  }

  async batch(statements: readonly SqlStatement[]): Promise<readonly WireResult[]> {
    for (const { sql } of statements) assertWritable(sql)
    return this.writeLock.take(() =>
      answeredInTime(this.connection.send({ op: 'batch', mode: 'write', statements }), this.maxWaitMs),
    )
  }
}

function answeredInTime<T>(answer: Promise<T>, maxWaitMs: number): Promise<T> {
  return inTime(answer, maxWaitMs, () => new ControlSilent('the control database did not answer in time'))
}

/** The outcome of a write is unknown. */
class ControlSilent extends Error {
  readonly unavailable = true
}

function assertWritable(sql: string): void {
  const table = WRITTEN.exec(sql)?.[1]
  if (table !== undefined && (WRITABLE.test(table) || table === 'control_version')) return
  if (table === undefined && /^\s*(?:select|with)\b/i.test(sql) && !/\b(?:insert|update|delete)\b/i.test(sql)) return
  throw new Error(
    `only the owner of the control database writes ${table ? `the table ${table}` : 'such a statement'}: send the request to its gateway`,
  )
}
