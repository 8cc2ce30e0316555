import type { Client, Config, InStatement, ResultSet } from '@libsql/client'
import { LibsqlError, createClient as openFile } from '@libsql/client/sqlite3'
import { boundedFetch } from './bounded-fetch'
import type { WireError, WireResult, WorkerReply, WorkerRequest } from './worker-wire'

declare const self: {
  onmessage: ((event: MessageEvent<WorkerRequest>) => void) | null
  postMessage(reply: WorkerReply): void
}

/** How long a statement waits for a lock that another connection holds. */
const BUSY_TIMEOUT_MS = 5000
const BATCH_MS = 30_000
const MIGRATION_MS = 60 * 60_000

let client: Client | null = null
/** How long an answer over a network may take. Migrations of large tables take longer. */
let deadlineMs = BATCH_MS
/** One request after the other: the next one starts when the one before has ended. */
let turn: Promise<void> = Promise.resolve()

self.onmessage = ({ data }) => {
  turn = turn.then(async () => self.postMessage(await answer(data)))
}

async function answer(request: WorkerRequest): Promise<WorkerReply> {
  try {
    return { id: request.id, ok: true, results: (await run(request)).map(wireResult) }
  } catch (error) {
    return { id: request.id, ok: false, error: wireError(error) }
  }
}

async function run(request: WorkerRequest): Promise<ResultSet[]> {
  if (request.op === 'open') {
    client = await open(request)
    return []
  }
  if (!client) throw new Error('the database is not open')
  deadlineMs = request.op === 'migrate' ? MIGRATION_MS : BATCH_MS
  switch (request.op) {
    case 'batch':
      return client.batch(request.statements as InStatement[], request.mode)
    case 'migrate':
      return client.migrate(request.statements as InStatement[])
    case 'close':
      client.close()
      return []
  }
}

/**
 * One connection, so that its settings hold for every statement. WAL with synchronous=FULL: a commit is on the disk before
 * it is acknowledged, and survives a power loss. The settings are read back, for a silent "no" would lose charges.
 */
async function open(request: Extract<WorkerRequest, { op: 'open' }>): Promise<Client> {
  const isFile = request.url.startsWith('file:')
  const opened = await createClient({
    url: request.url,
    ...(request.authToken && { authToken: request.authToken }),
    ...(!isFile && { fetch: boundedFetch({ deadlineMs: () => deadlineMs }) }),
    ...(isFile && { concurrency: 1, timeout: BUSY_TIMEOUT_MS }),
  })
  if (!isFile) return opened
  if (request.role === 'reader') {
    await opened.execute('PRAGMA query_only = ON')
    await opened.execute('PRAGMA cache_size = -16000')
    return opened
  }
  await opened.execute('PRAGMA journal_mode = WAL')
  await opened.execute('PRAGMA synchronous = FULL')
  await opened.execute('PRAGMA foreign_keys = ON')
  const mode = (await opened.execute('PRAGMA journal_mode')).rows[0]?.[0]
  const sync = (await opened.execute('PRAGMA synchronous')).rows[0]?.[0]
  if (mode !== 'wal' || sync !== 2) throw new Error(`the database gives journal_mode=${mode}, synchronous=${sync}`)
  return opened
}

/** The clients of a database over the network are loaded only for one: they take as long to load as the file's own. */
async function createClient(config: Config): Promise<Client> {
  return config.url.startsWith('file:') ? openFile(config) : (await import('@libsql/client')).createClient(config)
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

function wireError(error: unknown): WireError {
  const message = error instanceof Error ? error.message : String(error)
  const code = error instanceof LibsqlError ? (error.extendedCode ?? error.code) : 'UNKNOWN'
  return { message, code }
}
