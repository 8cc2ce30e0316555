import { availableParallelism } from 'node:os'
import { failure } from '../../../core/failure'
import { err } from '../../../core/result'
import { FairQueue, type QueueBounds } from './fair-queue'
import { type Answer, type IndexThread, type StartThread, startIndexThread } from './index-thread'
import type { Question } from './query/question'

export interface IndexClient {
  /**
   * Asks the index on a thread of its own, when it is the caller's turn. Obeys `signal` at once, answering `timeout`; never
   * throws for what goes wrong there.
   */
  ask(question: Question, caller: string, signal: AbortSignal): Promise<Answer>
  /** Ends the threads. Pending and later searches get `unavailable`. */
  close(): Promise<void>
}

/** Runs a callback after a delay; the returned function cancels it. */
export type After = (ms: number, run: () => void) => () => void

export interface IndexClientOptions {
  readonly indexPath: string
  readonly start?: StartThread
  /** Most threads at once. */
  readonly maxThreads?: number
  readonly after?: After
}

/**
 * Of the usual searches, a caller's are through within a second or two; of those that take longest, these are more than can be
 * answered before their deadline.
 */
export const BOUNDS: QueueBounds = { perCaller: 128, inAll: 1024 }
/** A single core cannot use a second thread, and searches do not need a third. */
const MAX_THREADS = 2
/** Searches wait for this long, without a pause, before a second thread is started: it costs memory and a start. */
export const BACKLOG_MS = 200
/** A second thread that is idle for this long is ended. */
export const IDLE_MS = 30_000

/**
 * The first thread is started with the first question; a second one only while questions wait and there is a core for it. When
 * a thread dies, the question that it worked on is answered `unavailable`, and another thread takes its place when it is needed.
 */
export function openIndexClient(options: IndexClientOptions): IndexClient {
  const script = new URL('./worker.ts', import.meta.url)
  return new TurnTakingClient(
    options.start ?? ((events) => startIndexThread(script, options.indexPath, events)),
    options.maxThreads ?? Math.min(MAX_THREADS, availableParallelism()),
    options.after ?? afterMs,
  )
}

interface Asked {
  readonly question: Question
  /** Answers it; only the first answer counts. */
  readonly settle: (answer: Answer) => void
}

/** A thread and what it does. */
interface Place {
  readonly thread: IndexThread
  isOpen: boolean
  working: Asked | null
}

const TIMED_OUT: Answer = err({ kind: 'timeout', reason: 'the call was canceled before the index responded' })
const CLOSED: Answer = err({ kind: 'unavailable', reason: 'the index is closed' })
const FULL: Readonly<Record<keyof QueueBounds, Answer>> = {
  perCaller: err({
    kind: 'rate_limited',
    reason: `local index: this caller already has ${BOUNDS.perCaller} searches waiting`,
    failure: failure(
      'upstream_rate_limit',
      `You have ${BOUNDS.perCaller} searches waiting, as many as one caller may. Wait for one to end, then try again. You were not charged.`,
      { retryAfterSeconds: 1, limitSource: 'upstream' },
    ),
  }),
  inAll: err({ kind: 'rate_limited', reason: `local index: the queue is full with ${BOUNDS.inAll} searches` }),
}

class TurnTakingClient implements IndexClient {
  private readonly start: StartThread
  private readonly maxThreads: number
  private readonly after: After
  private readonly waiting = new FairQueue<Asked>(BOUNDS)
  /** Oldest first, which is also used first, so that a second thread stays idle when one is enough. */
  private readonly places: Place[] = []
  /** Threads that were told to end and are still running. */
  private readonly endings = new Set<Promise<void>>()
  private stopStart: (() => void) | null = null
  private stopEnd: (() => void) | null = null
  /** A second thread died before it could be asked: none is tried again in this backlog. */
  private hasFailedSecond = false
  private closed: Promise<void> | null = null

  constructor(start: StartThread, maxThreads: number, after: After) {
    this.start = start
    this.maxThreads = maxThreads
    this.after = after
  }

  ask(question: Question, caller: string, signal: AbortSignal): Promise<Answer> {
    if (this.closed !== null) return Promise.resolve(CLOSED)
    if (signal.aborted) return Promise.resolve(TIMED_OUT)
    return new Promise((resolve) => {
      const giveUp = (): void => {
        this.waiting.remove(caller, asked)
        asked.settle(TIMED_OUT)
        this.plan()
      }
      const asked: Asked = {
        question,
        settle(answer) {
          signal.removeEventListener('abort', giveUp)
          resolve(answer)
        },
      }
      signal.addEventListener('abort', giveUp, { once: true })
      const turnedAway = this.waiting.add(caller, asked)
      turnedAway?.item.settle(FULL[turnedAway.by])
      this.serve()
    })
  }

  close(): Promise<void> {
    this.closed ??= this.closeAll()
    return this.closed
  }

  private async closeAll(): Promise<void> {
    for (let asked = this.waiting.take(); asked; asked = this.waiting.take()) asked.settle(CLOSED)
    for (const place of this.places.splice(0)) {
      place.working?.settle(CLOSED)
      this.end(place)
    }
    this.plan()
    await Promise.all(this.endings)
  }

  /** Assigns waiting searches to idle threads. */
  private serve(): void {
    if (this.places.length === 0 && this.waiting.size > 0) this.startOne()
    for (const place of this.places) if (place.isOpen && !place.working) this.serveAt(place)
    this.plan()
  }

  private serveAt(place: Place): void {
    place.working = this.waiting.take()
    if (place.working) place.thread.ask(place.working.question)
  }

  private startOne(): void {
    const place: Place = {
      isOpen: false,
      working: null,
      thread: this.start({
        opened: () => {
          place.isOpen = true
          this.serve()
        },
        answered: (answer) => {
          place.working?.settle(answer)
          place.working = null
          this.serve()
        },
        lost: (reason) =>
          this.lose(place, err({ kind: 'unavailable', reason: `the index's thread was lost: ${reason}` })),
      }),
    }
    this.places.push(place)
  }

  private lose(place: Place, answer: Answer): void {
    const at = this.places.indexOf(place)
    if (at < 0) return
    this.places.splice(at, 1)
    place.working?.settle(answer)
    // One that cannot even begin answers for a question where there is no other thread, so that nothing waits for ever.
    if (!place.isOpen && this.places.length === 0) this.waiting.take()?.settle(answer)
    if (!place.isOpen && this.places.length > 0) this.hasFailedSecond = true
    this.serve()
  }

  /** Sets, or calls off, the start of a second thread and its end. */
  private plan(): void {
    const isBacklog = this.waiting.size > 0
    if (!isBacklog) this.hasFailedSecond = false
    const mayStart = this.places.length > 0 && this.places.length < this.maxThreads && !this.hasFailedSecond
    if (isBacklog && mayStart && this.places.every(({ isOpen }) => isOpen)) {
      this.stopStart ??= this.after(BACKLOG_MS, () => {
        this.stopStart = null
        this.startOne()
      })
    } else {
      this.stopStart?.()
      this.stopStart = null
    }
    const second = this.places[1]
    if (second?.isOpen && !second.working) {
      this.stopEnd ??= this.after(IDLE_MS, () => {
        this.stopEnd = null
        this.places.splice(1, 1)
        this.end(second)
      })
    } else {
      this.stopEnd?.()
      this.stopEnd = null
    }
  }

  private end({ thread }: Place): void {
    const ending = thread.close().finally(() => this.endings.delete(ending))
    this.endings.add(ending)
  }
}

function afterMs(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms)
  return () => clearTimeout(timer)
}
