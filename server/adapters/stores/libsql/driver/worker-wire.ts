import type { InStatement, InValue, Value } from '@libsql/client'

/** What crosses to a database worker. */
export type WorkerRequest = { readonly id: number } & (
  | {
      readonly op: 'open'
      readonly role: 'writer' | 'reader'
      readonly url: string
      readonly authToken: string | null
    }
  | { readonly op: 'batch'; readonly statements: readonly InStatement[]; readonly mode: 'read' | 'write' }
  | { readonly op: 'migrate'; readonly statements: readonly InStatement[] }
  | ({ readonly op: 'apply' } & ApplyRequest)
  | { readonly op: 'close' }
)

export interface Statement {
  readonly sql: string
  readonly args: InValue[]
}

/** A part of the log: bytes that are on the disk, from the beginning of a line to the end of one. */
export interface LogRange {
  readonly path: string
  readonly from: number
  readonly to: number
}

/** One batch of what the log has and the tables have not, with what goes along best effort. */
export interface ApplyRequest {
  readonly epoch: number
  /** Null when there is nothing but `asides`. */
  readonly log: LogRange | null
  /** Most records of the batch; a group is never divided. */
  readonly maxRecords: number
  /** Notes and uses of keys, as JSON; null when there are none. */
  readonly asides: string | null
}

/** How far the tables are. */
export interface Applied {
  /** The last group that they have. */
  readonly group: number
  /** Where the log goes on behind it. Null when no log was asked for. */
  readonly end: number | null
}

export interface WireResult {
  readonly columns: string[]
  readonly columnTypes: string[]
  readonly rows: Value[][]
  readonly rowsAffected: number
  readonly lastInsertRowid: bigint | undefined
}

/** The code of a log that cannot be read, though it was written. */
export const LOG_DAMAGED = 'LOG_DAMAGED'

export interface WireError {
  readonly message: string
  /** SQLite's extended code where there is one, such as SQLITE_CONSTRAINT_CHECK. */
  readonly code: string
}

/** `results` of statements; `applied` of a batch of the log. */
export type WorkerReply =
  | { readonly id: number; readonly ok: true; readonly results: readonly WireResult[] }
  | { readonly id: number; readonly ok: true; readonly applied: Applied }
  | { readonly id: number; readonly ok: false; readonly error: WireError }
