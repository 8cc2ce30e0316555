import type { DiskReserve } from '../../../../core/ledger/journal'
import type { WorkerThreads } from '../driver/worker/worker-threads'
import type { AppendResult } from './log-appender'
import type { LogReply, LogRequest } from './log-wire'

export interface LogFileOptions {
  readonly path: string
  /** The number of the last group there ever was. */
  readonly last: number
  readonly threads: WorkerThreads
  /** How many bytes of its disk are kept for charges of calls in progress; 0 keeps none. */
  readonly reserveBytes: number
  /** The disk is full and the reserve was given up, or, with null, it was taken back. */
  readonly onReserve: (problem: string | null) => void
  readonly onFatal: (reason: string) => void
  /** Another hand changed the file. */
  readonly onDamage: (reason: string) => void
}

/** The log of groups next to a database file, and the reserve of its disk. A worker thread writes it, because syncs on this thread would block every request. */
export class LogFile implements DiskReserve {
  private readonly worker: Worker
  private readonly waiting: ((reply: LogReply) => void)[] = []
  private readonly options: LogFileOptions
  private broken: string | null = null
  private full: string | null = null
  private bytes = 0
  private last: number

  private constructor(options: LogFileOptions) {
    this.last = options.last
    this.options = options
    this.worker = options.threads.start(new URL('./log-file-worker.ts', import.meta.url))
    this.worker.onmessage = ({ data }: MessageEvent<LogReply>) => this.waiting.shift()?.(data)
    this.worker.onerror = (event) => {
      this.fail(`log worker: ${event.message}`)
      for (const answer of this.waiting.splice(0)) answer({ op: 'failed', reason: `${this.broken}` })
    }
  }

  /** Opens and EMPTIES the file. */
  static async open(options: LogFileOptions): Promise<LogFile> {
    const { path, reserveBytes } = options
    const log = new LogFile(options)
    const reply = await log.send({ op: 'open', path, reserve: reserveBytes })
    if (reply.op === 'failed') {
      log.worker.terminate()
      throw new Error(`the log ${path} cannot be opened: ${reply.reason}`)
    }
    log.noteReserve(reply)
    return log
  }

  /** Its size in bytes. */
  get size(): number {
    return this.bytes
  }

  get problem(): string | null {
    return this.full
  }

  async take(): Promise<string | null> {
    if (this.broken === null) this.noteReserve(await this.send({ op: 'reserve' }))
    return this.full
  }

  /** Whether it takes no more groups, ever. */
  get isBroken(): boolean {
    return this.broken !== null
  }

  /** The number of the last group written to it, even if it was emptied since. */
  get lastNumber(): number {
    return this.last
  }

  /** Appends one line, which is on disk if the result is `written`. One at a time: the number of a refused line is used again. */
  async append(payload: string): Promise<AppendResult & { readonly number: number; readonly bytes: number }> {
    const number = this.last + 1
    if (this.broken !== null) return { kind: 'refused', reason: this.broken, number, bytes: 0 }
    const reply = await this.send({ op: 'append', number, payload })
    if (reply.op !== 'append') {
      const reason = reply.op === 'failed' ? reply.reason : 'no answer to an append'
      this.fail(reason)
      return { kind: 'lost', reason, number, bytes: 0 }
    }
    this.noteReserve(reply)
    if (reply.result.kind === 'written') {
      this.last = number
      this.bytes += reply.bytes
    }
    if (reply.result.kind === 'lost') this.fail(reply.result.reason)
    if (reply.result.kind === 'refused' && reply.result.isDamage) this.options.onDamage(reply.result.reason)
    return { ...reply.result, number, bytes: reply.bytes }
  }

  /** Call only when all of it is applied and no append is running. */
  async empty(): Promise<void> {
    if (this.broken !== null || this.bytes === 0) return
    const reply = await this.send({ op: 'empty' })
    if (reply.op === 'failed') return this.fail(`the log cannot be emptied: ${reply.reason}`)
    this.bytes = 0
  }

  /** Takes no more appends. Resolves when the one under way has ended. */
  async halt(reason: string): Promise<void> {
    this.broken ??= reason
    await this.send({ op: 'ping' })
  }

  /** Keeps a copy of the damaged file and empties it. Only when all that it should have is applied. Gives the copy's path. */
  async setAside(): Promise<string> {
    const to = `${this.options.path}.damaged`
    const reply = await this.send({ op: 'set_aside', to })
    if (reply.op === 'failed') throw new Error(reply.reason)
    this.bytes = 0
    return to
  }

  async close(): Promise<void> {
    const isClosed = this.broken === null && (await this.send({ op: 'close' })).op === 'done'
    if (isClosed) this.options.threads.end(this.worker)
    else this.worker.terminate()
  }

  private send(request: LogRequest): Promise<LogReply> {
    return new Promise((resolve) => {
      this.waiting.push(resolve)
      this.worker.postMessage(request)
    })
  }

  private noteReserve(reply: LogReply): void {
    if (!('full' in reply) || reply.full === this.full) return
    const isNews = (reply.full === null) !== (this.full === null)
    this.full = reply.full
    if (isNews) this.options.onReserve(this.full)
  }

  private fail(reason: string): void {
    if (this.broken !== null) return
    this.broken = reason
    this.options.onFatal(reason)
  }
}
