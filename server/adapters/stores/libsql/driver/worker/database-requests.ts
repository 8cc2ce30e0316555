import { reasonOf } from '../../../../../core/result'
import { LogDamaged } from '../../journal/log-format'
import { TableFollower } from '../../journal/table-follower'
import { databaseFile } from '../file/database-file'
import { FileDatabase } from '../file/file-database'
import type { NetworkDatabase } from '../network/network-database'
import { LOG_DAMAGED, type WireError, type WorkerReply, type WorkerRequest } from '../worker-wire'
import { type Packed, packedReply, unpacked } from './worker-message'

/**
 * Serves one database to its connection: gives the function that takes a request, whose reply goes to `reply`. Runs requests one after
 * another, whether in a thread of its own or in that of its caller. `afterFile` runs after a file was closed in a process that goes on,
 * before that is answered.
 */
export function serveDatabase(
  reply: (packed: Packed<WorkerReply>) => void,
  afterFile: () => Promise<void> = async () => undefined,
): (request: Packed<WorkerRequest>) => void {
  const served = new ServedDatabase(afterFile)
  let last: Promise<void> = Promise.resolve()
  return (request) => {
    last = last.then(async () => reply(packedReply(await served.answer(unpacked(request)))))
  }
}

class ServedDatabase {
  private readonly afterFile: () => Promise<void>
  private database: FileDatabase | NetworkDatabase | null = null
  /** Set in the writer of a file. */
  private follower: TableFollower | null = null

  constructor(afterFile: () => Promise<void>) {
    this.afterFile = afterFile
  }

  async answer(request: WorkerRequest): Promise<WorkerReply> {
    const { id } = request
    try {
      if (request.op !== 'apply') return { id, ok: true, results: await this.run(request) }
      if (!this.follower) throw new Error('this database has no log')
      return { id, ok: true, applied: this.follower.apply(request) }
    } catch (error) {
      return { id, ok: false, error: wireError(error) }
    }
  }

  private async run(request: Exclude<WorkerRequest, { op: 'apply' }>) {
    if (request.op === 'open') {
      await this.open(request)
      return []
    }
    if (!this.database) throw new Error('the database is not open')
    switch (request.op) {
      case 'batch':
        return this.database.batch(request.statements, request.mode)
      case 'migrate':
        return this.database.migrate(request.statements)
      case 'close':
        await this.close(this.database, request.endsProcess)
        return []
    }
  }

  private async close(database: FileDatabase | NetworkDatabase, endsProcess: boolean): Promise<void> {
    this.follower?.close()
    database.close()
    this.follower = null
    this.database = null
    if (database instanceof FileDatabase && !endsProcess) await this.afterFile()
  }

  /**
   * A single connection, so that its settings apply to every statement. The network client is loaded only if needed, because loading
   * it takes as long as everything that a file needs.
   */
  private async open({ url, authToken, role }: Extract<WorkerRequest, { op: 'open' }>): Promise<void> {
    if (!url.startsWith('file:')) {
      const { NetworkDatabase } = await import('../network/network-database')
      this.database = new NetworkDatabase({ url, authToken })
      return
    }
    const path = databaseFile(url)
    if (path === null) throw new Error(`${url} is no file`)
    const file = new FileDatabase(path, role)
    this.database = file
    if (role === 'writer') this.follower = new TableFollower(file)
  }
}

/** The driver has SQLite's extended code in `code`; the client has it in a separate property. */
function wireError(error: unknown): WireError {
  const message = reasonOf(error)
  if (error instanceof LogDamaged) return { message, code: LOG_DAMAGED }
  const { code, extendedCode } = Object(error) as { code?: unknown; extendedCode?: unknown }
  return { message, code: String(extendedCode ?? code ?? 'UNKNOWN') }
}
