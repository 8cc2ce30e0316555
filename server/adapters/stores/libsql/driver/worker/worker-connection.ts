import {
  type Applied,
  type ApplyRequest,
  LOG_DAMAGED,
  type WireError,
  type WireResult,
  type WorkerReply,
  type WorkerRequest,
} from '../worker-wire'
import { type Packed, packedRequest, unpacked } from './worker-message'
import { OWN_THREADS, type WorkerThreads } from './worker-threads'

/** The code of what a closed or cut connection refuses. */
export const ABANDONED = 'ABANDONED'

/** A statement failed. `isConstraint`: it violates a constraint of the schema, so retrying it unchanged cannot succeed. */
export class DatabaseError extends Error {
  readonly code: string

  constructor({ message, code }: WireError) {
    super(message)
    this.code = code
  }

  /** Read by core/unavailable.ts: a violated constraint is a bug or a refusal; anything else means that the database cannot answer. */
  get unavailable(): boolean {
    return !this.isConstraint
  }

  get isConstraint(): boolean {
    return this.code.startsWith('SQLITE_CONSTRAINT') && !this.isLostOwnership
  }

  /** The ledger already has an entry with this reference. */
  get isTakenReference(): boolean {
    return this.isConstraint && this.message.includes('entries.reference')
  }

  /** The request was abandoned because the process is shutting down. */
  get isAbandoned(): boolean {
    return this.code === ABANDONED
  }

  /** The database itself refused. After any other failure it may have received the request, or still receive it. */
  get isAnswer(): boolean {
    return this.code.startsWith('SQLITE_')
  }

  /** The log cannot be read. */
  get isLogDamaged(): boolean {
    return this.code === LOG_DAMAGED
  }

  get isLostOwnership(): boolean {
    return this.message.includes('owner_epoch_is_current')
  }
}

/** Converts an exception of a write to a database error. */
export function databaseError(error: unknown): DatabaseError {
  return error instanceof DatabaseError ? error : new DatabaseError({ message: String(error), code: 'UNKNOWN' })
}

type Reply = Extract<WorkerReply, { ok: true }>
type Without<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never

interface ConnectionOptions {
  readonly role: 'writer' | 'reader' | 'copier'
  readonly url: string
  readonly authToken: string | null
  readonly threads?: WorkerThreads
}

/**
 * A connection in its own worker thread. The driver is synchronous native code, so an fsync or a long query on this thread would block
 * every request. Requests are answered in the order in which they were sent.
 */
export class Connection {
  private readonly threads: WorkerThreads
  private readonly worker: Worker
  private readonly waiting = new Map<number, { resolve(reply: Reply): void; reject(e: Error): void }>()
  private nextId = 1
  private broken: Error | null = null

  private constructor(threads: WorkerThreads, onCrash: (error: Error) => void) {
    this.threads = threads
    this.worker = threads.start(new URL('./database-worker.ts', import.meta.url))
    this.worker.onmessage = ({ data: packed }: MessageEvent<Packed<WorkerReply>>) => {
      const data = unpacked(packed)
      const call = this.waiting.get(data.id)
      this.waiting.delete(data.id)
      if (data.ok) call?.resolve(data)
      else call?.reject(new DatabaseError(data.error))
    }
    this.worker.onerror = (event) => {
      this.broken = new Error(`database worker: ${event.message}`)
      for (const call of this.waiting.values()) call.reject(this.broken)
      this.waiting.clear()
      onCrash(this.broken)
    }
  }

  static async open(
    { threads = OWN_THREADS, ...database }: ConnectionOptions,
    onCrash: (error: Error) => void,
  ): Promise<Connection> {
    const connection = new Connection(threads, onCrash)
    try {
      await connection.send({ op: 'open', ...database })
      return connection
    } catch (error) {
      connection.abandon()
      throw error
    }
  }

  async send(request: Exclude<Without<WorkerRequest, 'id'>, { op: 'apply' }>): Promise<readonly WireResult[]> {
    const reply = await this.ask(request)
    return 'results' in reply ? reply.results : []
  }

  /** The rows of one statement. */
  async rows(sql: string): Promise<WireResult['rows']> {
    const [result] = await this.send({ op: 'batch', mode: 'read', statements: [{ sql, args: [] }] })
    return result?.rows ?? []
  }

  /** Applies one batch of the log to the tables. */
  async apply(request: ApplyRequest): Promise<Applied> {
    const reply = await this.ask({ op: 'apply', ...request })
    if ('applied' in reply) return reply.applied
    throw new Error('the database worker gave another answer')
  }

  private ask(request: Without<WorkerRequest, 'id'>): Promise<Reply> {
    if (this.broken) return Promise.reject(this.broken)
    const id = this.nextId++
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject })
      this.worker.postMessage(packedRequest({ id, ...request } as WorkerRequest))
    })
  }

  /**
   * Ends the worker after the requests before this one. All later ones reject. The files are closed then; with `endsProcess` that is left to the end
   * of the process, because it takes 10 ms of work.
   */
  async close({ endsProcess = false } = {}): Promise<void> {
    const closing = this.send({ op: 'close', endsProcess })
    this.refuse('the connection is closed')
    const isClosed = await closing.then(
      () => true,
      () => false,
    )
    if (isClosed) this.threads.end(this.worker)
    else this.worker.terminate()
  }

  /** Terminates the worker without waiting for pending requests. They, and all later ones, reject with `reason`. */
  abandon(reason = 'the connection was cut'): void {
    const refused = this.refuse(reason)
    for (const call of this.waiting.values()) call.reject(refused)
    this.waiting.clear()
    this.worker.terminate()
  }

  /** No worker would answer what is sent from here on. */
  private refuse(reason: string): Error {
    this.broken ??= new DatabaseError({ message: reason, code: ABANDONED })
    return this.broken
  }
}

/** A connection that is opened when it is first used: a thread costs memory, and not every process needs it. */
export class LateConnection implements Pick<Connection, 'send' | 'close' | 'abandon'> {
  private readonly open: () => Promise<Connection>
  private opening: Promise<Connection> | null = null
  private connection: Connection | null = null
  private refused: string | null = null
  private isCut = false

  constructor(open: () => Promise<Connection>) {
    this.open = open
  }

  async send(request: Parameters<Connection['send']>[0]): ReturnType<Connection['send']> {
    return (this.connection ?? (await this.opened())).send(request)
  }

  async close(how: { readonly endsProcess?: boolean } = {}): Promise<void> {
    this.refused ??= 'the connection is closed'
    const opened = await this.opening?.catch(() => null)
    await opened?.close(how)
  }

  abandon(reason = 'the connection was cut'): void {
    this.refused ??= reason
    this.isCut = true
    this.connection?.abandon(reason)
  }

  /** Opens it once. If that fails, the next use tries again. */
  private opened(): Promise<Connection> {
    if (this.refused !== null) return Promise.reject(new DatabaseError({ message: this.refused, code: ABANDONED }))
    this.opening ??= this.open().then(
      (connection) => {
        this.connection = connection
        if (this.isCut) connection.abandon(this.refused ?? undefined)
        return connection
      },
      (error: unknown) => {
        this.opening = null
        throw error
      },
    )
    return this.opening
  }
}
