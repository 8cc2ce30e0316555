import { type Client, createClient, type InStatement, type ResultSet } from '@libsql/client'
import type { WireResult } from '../worker-wire'
import { boundedFetch } from './bounded-fetch'
import { KeptStream } from './kept-stream'

const BATCH_MS = 30_000
const MIGRATION_MS = 60 * 60_000

interface NetworkOptions {
  readonly url: string
  readonly authToken: string | null
  /** How long a batch may take. */
  readonly batchMs?: number | undefined
  readonly role: 'writer' | 'reader' | 'copier'
}

/** A database over the network. Responses have a time limit, which is longer for migrations because they may rebuild large tables. */
export class NetworkDatabase {
  private readonly client: Client
  private readonly batchMs: number
  private deadlineMs: number

  constructor({ url, authToken, batchMs = BATCH_MS, role }: NetworkOptions) {
    this.batchMs = batchMs
    this.deadlineMs = batchMs
    const bounded = boundedFetch({ deadlineMs: () => this.deadlineMs })
    const fetch = role === 'reader' ? new KeptStream(bounded, () => performance.now()).fetch : bounded
    this.client = createClient({ url, ...(authToken && { authToken }), fetch })
  }

  async batch(statements: readonly InStatement[], mode: 'read' | 'write'): Promise<WireResult[]> {
    this.deadlineMs = this.batchMs
    const [only, ...others] = statements
    // It needs no transaction.
    if (mode === 'read' && only && others.length === 0) return [wireResult(await this.client.execute(only))]
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
    lastInsertRowid: result.lastInsertRowid?.toString(),
  }
}
