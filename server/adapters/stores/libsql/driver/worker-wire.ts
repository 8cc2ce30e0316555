import type { InStatement, InValue, Value } from '@libsql/client'

/** Messages to a database worker. */
export type WorkerRequest = { readonly id: number } & (
  | {
      readonly op: 'open'
      readonly role: 'writer' | 'reader' | 'copier'
      readonly url: string
      readonly authToken: string | null
      /** How long a batch may take that a server runs, in milliseconds. */
    }
  | { readonly op: 'batch'; readonly statements: readonly InStatement[]; readonly mode: 'read' | 'write' }
  | { readonly op: 'migrate'; readonly statements: readonly InStatement[] }
  | ({ readonly op: 'apply' } & ApplyRequest)
  | { readonly op: 'close'; readonly endsProcess: boolean }
)

export interface SqlStatement {
  readonly sql: string
  readonly args: InValue[]
}

/** A range of whole lines of the log that are on disk, in bytes. */
export interface LogRange {
  readonly path: string
  readonly from: number
  readonly to: number
}

/** Groups of the log that are taken from memory, because the log is damaged. */
export interface UnappliedGroups {
  readonly groups: readonly UnappliedGroup[]
}

/** The records of one group, as JSON. */
export interface UnappliedGroup {
  readonly number: number
  readonly payload: string
}

/** Applies one batch of log records that the tables lack, together with best-effort writes. */
export interface ApplyRequest {
  readonly epoch: number
  /** Null if there is nothing but `bestEffort`. */
  readonly log: LogRange | UnappliedGroups | null
  /** The maximum number of records in the batch, and of bytes of the log. Groups are never split. */
  readonly maxRecords: number
  readonly maxBytes: number
  /** Notes and last uses of keys as JSON; null if there are none. */
  readonly bestEffort: string | null
}

/** How far the log is applied to the tables. */
export interface Applied {
  /** The last applied group. */
  readonly group: number
  /** The position in the log after it. Null if no log was applied. */
  readonly end: number | null
  /** Changes when a record gets stuck or is decided. */
  readonly stuck: string
}

export interface WireResult {
  readonly columns: string[]
  readonly columnTypes: string[]
  readonly rows: Value[][]
  readonly rowsAffected: number
  /** An integer in decimal digits. */
  readonly lastInsertRowid: string | undefined
}

/** The error code for a log that was written but cannot be read. */
export const LOG_DAMAGED = 'LOG_DAMAGED'

export interface WireError {
  readonly message: string
  /** SQLite's extended code if there is one, such as SQLITE_CONSTRAINT_CHECK. */
  readonly code: string
}

/** `results` for statements; `applied` for a batch of the log. */
export type WorkerReply =
  | { readonly id: number; readonly ok: true; readonly results: readonly WireResult[] }
  | { readonly id: number; readonly ok: true; readonly applied: Applied }
  | { readonly id: number; readonly ok: false; readonly error: WireError }
