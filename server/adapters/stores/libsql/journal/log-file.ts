import type { AppendResult } from './log-appender'
import type { LogReply, LogRequest } from './log-wire'

/** The log of groups next to a database file. A worker thread writes it, because syncs on this thread would block every request. */
export class LogFile {
  private readonly worker: Worker
  private readonly waiting: ((reply: LogReply) => void)[] = []
  private readonly onFatal: (reason: string) => void
  private broken: string | null = null
  private bytes = 0
  private last: number

  private constructor(last: number, onFatal: (reason: string) => void) {
    this.last = last
    this.onFatal = onFatal
    this.worker = new Worker(new URL('./log-file-worker.ts', import.meta.url))
    this.worker.onmessage = ({ data }: MessageEvent<LogReply>) => this.waiting.shift()?.(data)
    this.worker.onerror = (event) => {
      this.fail(`log worker: ${event.message}`)
      for (const answer of this.waiting.splice(0)) answer({ op: 'failed', reason: `${this.broken}` })
    }
  }

  /** Opens and EMPTIES the file. `last`: the number of the last group there ever was. */
  static async open(path: string, last: number, onFatal: (reason: string) => void): Promise<LogFile> {
    const log = new LogFile(last, onFatal)
    const reply = await log.send({ op: 'open', path })
    if (reply.op !== 'failed') return log
    log.worker.terminate()
    throw new Error(`the log ${path} cannot be opened: ${reply.reason}`)
  }

  /** Its size in bytes. */
  get size(): number {
    return this.bytes
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
    if (reply.result.kind === 'written') {
      this.last = number
      this.bytes += reply.bytes
    }
    if (reply.result.kind === 'lost') this.fail(reply.result.reason)
    return { ...reply.result, number, bytes: reply.bytes }
  }

  /** Call only when all of it is applied and no append is running. */
  async empty(): Promise<void> {
    if (this.broken !== null || this.bytes === 0) return
    const reply = await this.send({ op: 'empty' })
    if (reply.op === 'failed') return this.fail(`the log cannot be emptied: ${reply.reason}`)
    this.bytes = 0
  }

  async close(): Promise<void> {
    if (this.broken === null) await this.send({ op: 'close' })
    this.worker.terminate()
  }

  private send(request: LogRequest): Promise<LogReply> {
    return new Promise((resolve) => {
      this.waiting.push(resolve)
      this.worker.postMessage(request)
    })
  }

  private fail(reason: string): void {
    if (this.broken !== null) return
    this.broken = reason
    this.onFatal(reason)
  }
}
