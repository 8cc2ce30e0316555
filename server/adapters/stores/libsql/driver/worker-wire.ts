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
  | { readonly op: 'close' }
)

export interface Statement {
  readonly sql: string
  readonly args: InValue[]
}

export interface WireResult {
  readonly columns: string[]
  readonly columnTypes: string[]
  readonly rows: Value[][]
  readonly rowsAffected: number
  readonly lastInsertRowid: bigint | undefined
}

export interface WireError {
  readonly message: string
  /** SQLite's extended code where there is one, such as SQLITE_CONSTRAINT_CHECK. */
  readonly code: string
}

export type WorkerReply =
  | { readonly id: number; readonly ok: true; readonly results: readonly WireResult[] }
  | { readonly id: number; readonly ok: false; readonly error: WireError }
