import { type Client, createClient, type InStatement, type ResultSet } from '@libsql/client'
import { boundedFetch } from './bounded-fetch'
import type { WireResult } from './worker-wire'

const BATCH_MS = 30_000
const MIGRATION_MS = 60 * 60_000

/** A database over the network. Responses have a time limit, which is longer for migrations because they may rebuild large tables. */
export class NetworkDatabase {
  private readonly client: Client
  private deadlineMs = BATCH_MS

  constructor(url: string, authToken: string | null) {
    const fetch = boundedFetch({ deadlineMs: () => this.deadlineMs })
    this.client = createClient({ url, ...(authToken && { authToken }), fetch })
  }

  async batch(statements: readonly InStatement[], mode: 'read' | 'write'): Promise<WireResult[]> {
    this.deadlineMs = BATCH_MS
    return (await this.client.batch(statements as InStatement[], mode)).map(wireResult)
  }

  async migrate(statements: readonly InStatement[]): Promise<WireResult[]> {
    this.deadlineMs = MIGRATION_MS
    return (await this.client.migrate(statements as InStatement[])).map(wireResult)
  }

  close(): void {
    this.client.close()
  }
}

function wireResult(result: ResultSet): WireResult {
  return {
    columns: result.columns,
    columnTypes: result.columnTypes,
    rows: result.rows.map((row) => Array.from(row)),
    rowsAffected: result.rowsAffected,
    lastInsertRowid: result.lastInsertRowid,
  }
}
