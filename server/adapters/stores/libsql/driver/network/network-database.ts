import { type Client, createClient, type InStatement, type ResultSet } from '@libsql/client'
import { HOUR_MS } from '../../../../../core/clock'
import type { WireResult } from '../worker-wire'
import { boundedFetch } from './bounded-fetch'
import { KeptStream } from './kept-stream'
import { firstStepErrorOnly } from './step-errors'

const BATCH_MS = 30_000
const MIGRATION_MS = HOUR_MS

/** A database over the network. Responses have a time limit, which is longer for migrations because they may rebuild large tables. */
export class NetworkDatabase {
  private readonly client: Client
  /** Of its own: it changes settings of its stream. */
  private readonly migrating: Client

  constructor(address: DatabaseAddress) {
    this.client = serverClient(address, { deadlineMs: BATCH_MS, isKept: true })
    this.migrating = serverClient(address, { deadlineMs: MIGRATION_MS })
  }

  async batch(statements: readonly InStatement[], mode: 'read' | 'write'): Promise<WireResult[]> {
    const [only, ...others] = statements
    // It needs no transaction.
    if (mode === 'read' && only && others.length === 0) return [wireResult(await this.client.execute(only))]
    return (await this.client.batch(statements as InStatement[], mode)).map(wireResult)
  }

  async migrate(statements: readonly InStatement[]): Promise<WireResult[]> {
    return (await this.migrating.migrate(statements as InStatement[])).map(wireResult)
  }

  close(): void {
    this.client.close()
    this.migrating.close()
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

/** The address of a database server. */
interface DatabaseAddress {
  readonly url: string
  readonly authToken: string | null
}

interface ClientOptions {
  /** How long a request may take. */
  readonly deadlineMs: number
  /** Whether its stream stays open (`KeptStream`): not for what changes settings of its stream. */
  readonly isKept?: boolean
}

/** A client of a database server. Its requests have limits of time and size. */
function serverClient({ url, authToken }: DatabaseAddress, { deadlineMs, isKept = false }: ClientOptions): Client {
  const send = firstStepErrorOnly(boundedFetch({ deadlineMs }))
  const fetch = isKept ? new KeptStream(send, () => performance.now()).fetch : send
  return createClient({ url, ...(authToken && { authToken }), fetch })
}
