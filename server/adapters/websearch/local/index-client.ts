import { availableParallelism } from 'node:os'
import { uncharged } from '../../../core/failure'
import { FairQueue, type QueueBounds } from '../../../core/fair-queue'
import { err } from '../../../core/result'
import { type IndexAnswer, type IndexThread, type StartThread, startIndexThread } from './index-thread'
import type { IndexQuestion } from './query/question'

export interface IndexClient {
  /**
   * Queries the index on a separate thread when it is the caller's turn. Returns `timeout` as soon as `signal` aborts. Never throws for
   * failures of the thread.
   */
  ask(question: IndexQuestion, caller: string, signal: AbortSignal): Promise<IndexAnswer>
  /** Ends the threads. Pending and later searches get `unavailable`. */
  close(): Promise<void>
}

/** Runs a callback after a delay; the returned function cancels it. */
export type After = (ms: number, run: () => void) => () => void

export interface IndexClientOptions {
  readonly indexPath: string
  readonly start?: StartThread
  /** The maximum number of threads. */
  readonly maxThreads?: number
  readonly after?: After
}

/**
 * A caller's usual searches finish within a second or two. Of the slowest ones, this is more than can be answered before their
 * deadline.
 */
export const BOUNDS: QueueBounds = { perCaller: 128, inAll: 1024 }
/** A single core cannot use a second thread, and searches do not need a third. */
const MAX_THREADS = 2
/** A second thread is started after searches have waited continuously for this long, because a thread costs memory. */
export const BACKLOG_MS = 200
/** A second thread that is idle for this long is ended. */
export const IDLE_MS = 30_000

/**
 * The first thread is started with the first question, a second one only while questions wait and there is a core for it. If a thread
 * dies, its question gets `unavailable`, and a new thread is started when needed.
 */
export function openIndexClient(options: IndexClientOptions): IndexClient {
  const script = new URL('./worker.ts', import.meta.url)
  return new FairIndexClient(
    options.start ?? ((events) => startIndexThread(script, options.indexPath, events)),
    options.maxThreads ?? Math.min(MAX_THREADS, availableParallelism()),
    options.after ?? afterMs,
  )
}

interface PendingQuery {
  readonly question: IndexQuestion
  /** Answers the question. Only the first answer counts. */
  readonly settle: (answer: IndexAnswer) => void
}

/** A thread and its current question. */
interface Reader {
  readonly thread: IndexThread
  isOpen: boolean
  working: PendingQuery | null
}

const TIMED_OUT: IndexAnswer = err({ kind: 'timeout', reason: 'the call was canceled before the index responded' })
const CLOSED: IndexAnswer = err({ kind: 'unavailable', reason: 'the index is closed' })
const FULL: Readonly<Record<keyof QueueBounds, IndexAnswer>> = {
  perCaller: err({
    kind: 'rate_limited',
    reason: `local index: this caller already has ${BOUNDS.perCaller} searches waiting`,
    failure: uncharged(
      'upstream_rate_limit',
      `You have ${BOUNDS.perCaller} searches waiting, as many as one caller may. Wait for one to end, then try again.`,
      { retryAfterSeconds: 1, limitSource: 'upstream' },
    ),
  }),
  inAll: err({ kind: 'rate_limited', reason: `local index: the queue is full with ${BOUNDS.inAll} searches` }),
}

class FairIndexClient implements IndexClient {
  private readonly start: StartThread
  private readonly maxThreads: number
  private readonly after: After
  private readonly waiting = new FairQueue<PendingQuery>(BOUNDS)
  /** Oldest first. The oldest is used first, so that a second thread stays idle if one is enough. */
  private readonly readers: Reader[] = []
  /** Threads that were told to end and are still running. */
  private readonly endings = new Set<Promise<void>>()
  private stopStart: (() => void) | null = null
  private stopEnd: (() => void) | null = null
  /** A second thread died before its first question, so none is started again for this backlog. */
  private hasFailedSecond = false
  private closed: Promise<void> | null = null

  constructor(start: StartThread, maxThreads: number, after: After) {
    this.start = start
    this.maxThreads = maxThreads
    this.after = after
  }

  ask(question: IndexQuestion, caller: string, signal: AbortSignal): Promise<IndexAnswer> {
    if (this.closed !== null) return Promise.resolve(CLOSED)
    if (signal.aborted) return Promise.resolve(TIMED_OUT)
    return new Promise((resolve) => {
      const giveUp = (): void => {
        this.waiting.remove(caller, pending)
        pending.settle(TIMED_OUT)
        this.plan()
      }
      const pending: PendingQuery = {
        question,
        settle(answer) {
          signal.removeEventListener('abort', giveUp)
          resolve(answer)
        },
      }
      signal.addEventListener('abort', giveUp, { once: true })
      const dropped = this.waiting.add(caller, pending)
      dropped?.item.settle(FULL[dropped.by])
      this.serve()
    })
  }

  close(): Promise<void> {
    this.closed ??= this.closeAll()
    return this.closed
  }

  private async closeAll(): Promise<void> {
    for (let pending = this.waiting.take(); pending; pending = this.waiting.take()) pending.settle(CLOSED)
    for (const reader of this.readers.splice(0)) {
      reader.working?.settle(CLOSED)
      this.end(reader)
    }
    this.plan()
    await Promise.all(this.endings)
  }

  /** Assigns waiting searches to idle threads. */
  private serve(): void {
    if (this.readers.length === 0 && this.waiting.size > 0) this.startOne()
    for (const reader of this.readers) if (reader.isOpen && !reader.working) this.serveAt(reader)
    this.plan()
  }

  private serveAt(reader: Reader): void {
    reader.working = this.waiting.take()
    if (reader.working) reader.thread.ask(reader.working.question)
  }

  private startOne(): void {
    const reader: Reader = {
      isOpen: false,
      working: null,
      thread: this.start({
        opened: () => {
          reader.isOpen = true
          this.serve()
        },
        answered: (answer) => {
          reader.working?.settle(answer)
          reader.working = null
          this.serve()
        },
        lost: (reason) =>
          this.lose(reader, err({ kind: 'unavailable', reason: `the index's thread was lost: ${reason}` })),
      }),
    }
    this.readers.push(reader)
  }

  private lose(reader: Reader, answer: IndexAnswer): void {
    const at = this.readers.indexOf(reader)
    if (at < 0) return
    this.readers.splice(at, 1)
    reader.working?.settle(answer)
    // If the only thread cannot start, fail a waiting question, so that nothing waits forever.
    if (!reader.isOpen && this.readers.length === 0) this.waiting.take()?.settle(answer)
    if (!reader.isOpen && this.readers.length > 0) this.hasFailedSecond = true
    this.serve()
  }

  /** Schedules or cancels the start and the end of a second thread. */
  private plan(): void {
    const isBacklog = this.waiting.size > 0
    if (!isBacklog) this.hasFailedSecond = false
    const mayStart = this.readers.length > 0 && this.readers.length < this.maxThreads && !this.hasFailedSecond
    if (isBacklog && mayStart && this.readers.every(({ isOpen }) => isOpen)) {
      this.stopStart ??= this.after(BACKLOG_MS, () => {
        this.stopStart = null
        this.startOne()
      })
    } else {
      this.stopStart?.()
      this.stopStart = null
    }
    const second = this.readers[1]
    if (second?.isOpen && !second.working) {
      this.stopEnd ??= this.after(IDLE_MS, () => {
        this.stopEnd = null
        this.readers.splice(1, 1)
        this.end(second)
      })
    } else {
      this.stopEnd?.()
      this.stopEnd = null
    }
  }

  private end({ thread }: Reader): void {
    const ending = thread.close().finally(() => this.endings.delete(ending))
    this.endings.add(ending)
  }
}

function afterMs(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms)
  return () => clearTimeout(timer)
}
