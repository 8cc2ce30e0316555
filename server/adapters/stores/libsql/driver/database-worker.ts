import { reasonOf } from '../../../../core/result'
import { LogDamaged } from '../journal/log-format'
import { TableFollower } from '../journal/table-follower'
import { databaseFile } from './database-file'
import { FileDatabase } from './file-database'
import type { NetworkDatabase } from './network-database'
import { type Packed, packedReply, unpacked } from './worker-message'
import { LOG_DAMAGED, type WireError, type WorkerReply, type WorkerRequest } from './worker-wire'

declare const self: {
  onmessage: ((event: MessageEvent<Packed<WorkerRequest>>) => void) | null
  postMessage(reply: Packed<WorkerReply>): void
}

let database: FileDatabase | NetworkDatabase | null = null
/** Set in the writer of a file. */
let follower: TableFollower | null = null
/** Runs requests one after another. */
let turn: Promise<void> = Promise.resolve()

self.onmessage = ({ data }) => {
  turn = turn.then(async () => self.postMessage(packedReply(await answer(unpacked(data)))))
}

async function answer(request: WorkerRequest): Promise<WorkerReply> {
  const { id } = request
  try {
    if (request.op !== 'apply') return { id, ok: true, results: await run(request) }
    if (!follower) throw new Error('this database has no log')
    return { id, ok: true, applied: follower.apply(request) }
  } catch (error) {
    return { id, ok: false, error: wireError(error) }
  }
}

async function run(request: Exclude<WorkerRequest, { op: 'apply' }>) {
  if (request.op === 'open') {
    await open(request)
    return []
  }
  if (!database) throw new Error('the database is not open')
  switch (request.op) {
    case 'batch':
      return database.batch(request.statements, request.mode)
    case 'migrate':
      return database.migrate(request.statements)
    case 'close':
      follower?.close()
      database.close()
      follower = null
      database = null
      return []
  }
}

/**
 * A single connection, so that its settings apply to every statement. The network client is loaded only if needed, because loading
 * it takes as long as everything that a file needs.
 */
async function open({ url, authToken, role, batchMs }: Extract<WorkerRequest, { op: 'open' }>): Promise<void> {
  if (!url.startsWith('file:')) {
    const { NetworkDatabase } = await import('./network-database')
    database = new NetworkDatabase({ url, authToken, role, batchMs })
    return
  }
  const path = databaseFile(url)
  if (path === null) throw new Error(`${url} is no file`)
  const file = new FileDatabase(path, role)
  database = file
  if (role === 'writer') follower = new TableFollower(file)
}

/** The driver has SQLite's extended code in `code`; the client has it in a separate property. */
function wireError(error: unknown): WireError {
  const message = reasonOf(error)
  if (error instanceof LogDamaged) return { message, code: LOG_DAMAGED }
  const { code, extendedCode } = Object(error) as { code?: unknown; extendedCode?: unknown }
  return { message, code: String(extendedCode ?? code ?? 'UNKNOWN') }
}
