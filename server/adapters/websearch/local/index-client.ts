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

export interface IndexClientOptions {
  readonly indexPath: string
  readonly start?: StartThread
  /** The maximum number of threads. */
  readonly maxThreads?: number
}

/**
 * A caller's usual searches finish within a second or two. Of the slowest ones, this is more than can be answered before their
 * deadline.
 */
export const BOUNDS: QueueBounds = { perCaller: 128, inAll: 1024 }
/** A single core cannot use a second thread, and searches do not need a third. */
const MAX_THREADS = 2

/**
 * The first thread is started with the first question, a second one when a question has to wait and there is a core for it, because a
 * thread costs memory. If a thread dies, its question gets `unavailable`, and a new thread is started when needed.
 */
export function openIndexClient(options: IndexClientOptions): IndexClient {
  const script = new URL('./worker.ts', import.meta.url)
  return new FairIndexClient(
    options.start ?? ((events) => startIndexThread(script, options.indexPath, events)),
    options.maxThreads ?? Math.min(MAX_THREADS, availableParallelism()),
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
  private maxThreads: number
  private readonly waiting = new FairQueue<PendingQuery>(BOUNDS)
  /** Oldest first. The oldest is used first, so that a second thread stays idle if one is enough. */
  private readonly readers: Reader[] = []
  /** Threads that were told to end and are still running. */
  private readonly endings = new Set<Promise<void>>()
  private closed: Promise<void> | null = null

  constructor(start: StartThread, maxThreads: number) {
    this.start = start
    this.maxThreads = maxThreads
  }

  ask(question: IndexQuestion, caller: string, signal: AbortSignal): Promise<IndexAnswer> {
    if (this.closed !== null) return Promise.resolve(CLOSED)
    if (signal.aborted) return Promise.resolve(TIMED_OUT)
    return new Promise((resolve) => {
      const giveUp = (): void => {
        this.waiting.remove(caller, pending)
        pending.settle(TIMED_OUT)
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
    await Promise.all(this.endings)
  }

  /** Assigns waiting searches to idle threads. */
  private serve(): void {
    for (const reader of this.readers) if (reader.isOpen && !reader.working) this.serveAt(reader)
    const areOpen = this.readers.every(({ isOpen }) => isOpen)
    if (this.waiting.size > 0 && areOpen && this.readers.length < this.maxThreads) this.startOne()
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
    else if (!reader.isOpen) this.maxThreads = 1 // a second one cannot start
    this.serve()
  }

  private end({ thread }: Reader): void {
    const ending = thread.close().finally(() => this.endings.delete(ending))
    this.endings.add(ending)
  }
}

const READY_MS = 2_000
/** The check queues as a separate caller, so that a flood of searches cannot block it. */
const CALLER = 'readiness'

/** Whether the index answers a real search in time. */
export async function isIndexReady(client: IndexClient): Promise<boolean> {
  return (await client.ask({ kind: 'ready' }, CALLER, AbortSignal.timeout(READY_MS))).ok
}
