import type { InStatement, InValue, Value } from '@libsql/client'
import Database from 'libsql'
import type { WireResult } from '../worker-wire'
import { fileProblem } from './file-problem'

/** How long a statement waits for a lock that another connection holds. */
const BUSY_TIMEOUT_MS = 5000
/** The maximum number of cached prepared statements. The program has fewer, but lists of varying length add more. */
const MAX_PREPARED = 256
/** The page cache of a connection in KiB. The pages of active accounts are written again and again. */
const CACHE = 16_000

interface Prepared {
  readonly statement: Database.Statement
  /** Null for a statement that returns no rows. */
  readonly columns: readonly Database.ColumnDefinition[] | null
}

/**
 * A synchronous connection to a database file, for a worker thread. Caches prepared statements, which the driver's client prepares
 * again for every call: a read by key takes a seventh of the time.
 */
export class FileDatabase {
  private readonly db: Database.Database
  private readonly role: 'writer' | 'reader' | 'copier'
  private readonly prepared = new Map<string, Prepared>()

  /**
   * WAL with synchronous=FULL for a writer: a commit is on disk before it is acknowledged, and survives a power loss. The settings are
   * read back, because charges would be lost if SQLite silently ignored one.
   */
  constructor(file: string, role: 'writer' | 'reader' | 'copier') {
    this.role = role
    this.db = opened(file)
    try {
      this.set(role)
    } catch (error) {
      this.db.close()
      throw fileProblem(file, error)
    }
  }

  private set(role: 'writer' | 'reader' | 'copier'): void {
    this.rows(`PRAGMA cache_size = -${CACHE}`)
    // SQLite takes VACUUM INTO, which only reads the database, for a write.
    if (role === 'copier') return
    if (role === 'reader') {
      this.rows('PRAGMA query_only = ON')
      return
    }
    this.rows('PRAGMA journal_mode = WAL')
    this.rows('PRAGMA synchronous = FULL')
    this.rows('PRAGMA foreign_keys = ON')
    const mode = this.rows('PRAGMA journal_mode')[0]?.[0]
    const sync = this.rows('PRAGMA synchronous')[0]?.[0]
    if (mode !== 'wal' || sync !== 2) throw new Error(`the database gives journal_mode=${mode}, synchronous=${sync}`)
  }

  /** Runs all statements or none. */
  batch(statements: readonly InStatement[], mode: 'read' | 'write'): WireResult[] {
    const work = () => statements.map((statement) => this.execute(statement))
    return mode === 'read' && statements.length === 1 ? work() : this.transaction(work, mode)
  }

  /** A batch without foreign key enforcement, so that tables can be rebuilt. */
  migrate(statements: readonly InStatement[]): WireResult[] {
    this.db.exec('PRAGMA foreign_keys = OFF')
    try {
      return this.transaction(() => statements.map((statement) => this.execute(statement)), 'write')
    } finally {
      this.db.exec('PRAGMA foreign_keys = ON')
      this.prepared.clear() // they were prepared for the old columns
    }
  }

  /** Runs `work` in a transaction. */
  transaction<T>(work: () => T, mode: 'read' | 'write' = 'write'): T {
    this.run(mode === 'write' ? 'BEGIN IMMEDIATE' : 'BEGIN DEFERRED', [])
    try {
      const result = work()
      this.run('COMMIT', [])
      return result
    } catch (error) {
      // A failure may have ended it already.
      if (this.db.inTransaction) this.run('ROLLBACK', [])
      throw error
    }
  }

  /** Runs a statement that returns no rows. Numbers are bound as REAL: columns convert them to integers again, arithmetic does not. */
  run(sql: string, values: readonly InValue[]): void {
    this.prepare(sql).statement.run(values as InValue[])
  }

  rows(sql: string, values: readonly InValue[] = []): Value[][] {
    return (this.prepare(sql).statement.all(values as InValue[]) as unknown[][]).map((row) => row.map(received))
  }

  /**
   * A writer first empties the write-ahead log into the file: the driver closes the file itself only once no statement is left, which the
   * garbage collector decides, and a log that stays would spoil a copy that is put in the place of the file. Not where Litestream does all
   * checkpoints.
   */
  close(): void {
    if (this.role === 'writer') this.emptyLog()
    this.prepared.clear()
    this.db.close()
  }

  private emptyLog(): void {
    try {
      if (this.rows('PRAGMA wal_autocheckpoint')[0]?.[0] === 0) return
      // A reader of another process would be waited for in vain.
      this.rows('PRAGMA busy_timeout = 100')
      this.rows('PRAGMA wal_checkpoint(TRUNCATE)')
    } catch {
      // The log stays, and is part of the database.
    }
  }

  private execute(given: InStatement): WireResult {
    const { sql, args } = typeof given === 'string' ? { sql: given, args: [] } : given
    if (args !== undefined && !Array.isArray(args)) throw new Error('named arguments are not used here')
    const values = (args ?? []).map(sent)
    const { statement, columns } = this.prepare(sql)
    if (columns === null) {
      const { changes, lastInsertRowid } = statement.run(values)
      return { columns: [], columnTypes: [], rows: [], rowsAffected: changes, lastInsertRowid: `${lastInsertRowid}` }
    }
    return {
      columns: columns.map(({ name }) => name),
      columnTypes: columns.map(({ type }) => type ?? ''),
      rows: (statement.all(values) as unknown[][]).map((row) => row.map(received)),
      rowsAffected: 0,
      lastInsertRowid: undefined,
    }
  }

  /** Evicts the least recently used one when there are too many. */
  private prepare(sql: string): Prepared {
    const known = this.prepared.get(sql)
    if (known) {
      this.prepared.delete(sql)
      this.prepared.set(sql, known)
      return known
    }
    const statement = this.db.prepare(sql)
    statement.safeIntegers(true)
    if (statement.reader) statement.raw(true)
    const made = { statement, columns: statement.reader ? statement.columns() : null }
    this.prepared.set(sql, made)
    const [oldest] = this.prepared.size > MAX_PREPARED ? this.prepared.keys() : []
    if (oldest !== undefined) this.prepared.delete(oldest)
    return made
  }
}

function opened(file: string): Database.Database {
  try {
    return new Database(file, { timeout: BUSY_TIMEOUT_MS })
  } catch (error) {
    throw fileProblem(file, error)
  }
}

function sent(value: InValue): InValue {
  if (typeof value === 'boolean') return value ? 1 : 0
  if (value instanceof Date) return value.valueOf()
  if (value instanceof ArrayBuffer) return Buffer.from(value)
  if (value === undefined) throw new TypeError('undefined is no value of the database')
  if (typeof value === 'number' && !Number.isFinite(value)) throw new RangeError(`${value} is no value of the database`)
  return value
}

function received(value: unknown): Value {
  if (typeof value === 'bigint') {
    const number = Number(value)
    if (!Number.isSafeInteger(number)) throw new RangeError('an integer of the database is too large for a number')
    return number
  }
  return value instanceof Buffer ? (value.buffer as ArrayBuffer) : (value as Value)
}
