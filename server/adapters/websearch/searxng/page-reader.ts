import type { UpstreamFailure } from '../../../core/providers/provider'
import { err, ok, type Result } from '../../../core/result'
import { brokenGoggle } from '../goggles/broken-goggle'
import { RULES_NOT_BUILT } from '../goggles/build-allowance'
import type { AnswerTask, FoundPage, FromPageThread, OrderTask, PageTask, ReadPage, ToPageThread } from './page-wire'

/** The thread's result for one task; null if it failed or took too long. */
type Outcome = Exclude<FromPageThread, { ready: true } | { problem: string }> | null

interface Waiting {
  readonly id: number
  readonly task: PageTask
  readonly settle: (outcome: Outcome) => void
}

export interface PageReaderOptions {
  /** How long one page may take before its thread is ended. */
  readonly maxMs?: number
  /** Replaces the thread's script in tests. */
  readonly workerUrl?: URL
}

const MAX_MS = 1_500
/** The thread loads a vocabulary first. */
const START_MS = 15_000

/**
 * Reads pages and builds responses from them, on a separate thread and one at a time. A page that takes too long, whatever
 * the reason, ends the thread: that page is dropped and the next one starts a new thread.
 */
export class PageReader {
  private readonly maxMs: number
  private readonly workerUrl: URL
  private readonly waiting: Waiting[] = []
  private worker: Worker | null = null
  private isReady = false
  private current: Waiting | null = null
  private timer: ReturnType<typeof setTimeout> | null = null
  private isClosed = false
  private lastId = 0

  constructor({ maxMs = MAX_MS, workerUrl = new URL('./page-worker.ts', import.meta.url) }: PageReaderOptions = {}) {
    this.maxMs = maxMs
    this.workerUrl = workerUrl
  }

  /** Starts the thread early, so that it is ready when pages arrive. */
  warm(): void {
    if (this.worker || this.isClosed) return
    const worker = new Worker(this.workerUrl)
    this.worker = worker
    this.isReady = false
    worker.onmessage = ({ data }: MessageEvent<FromPageThread>) => this.receive(worker, data)
    worker.onerror = (event) => {
      event.preventDefault()
      this.lost(worker)
    }
    worker.addEventListener('close', () => this.lost(worker))
    this.watch(worker, START_MS)
  }

  /** Splits a page into passages; null when it cannot be read or the call has ended. */
  async read(page: FoundPage, signal: AbortSignal): Promise<ReadPage | null> {
    const outcome = await this.do({ read: page }, signal)
    return outcome && 'page' in outcome ? outcome.page : null
  }

  /** The indexes of the results that goggles keep, in their new order; `RULES_NOT_BUILT` while the goggles are being compiled. */
  async order(task: OrderTask, signal: AbortSignal): Promise<Result<readonly number[], UpstreamFailure>> {
    const outcome = await this.do({ order: task }, signal)
    return outcome && 'order' in outcome ? ok(outcome.order) : failureOf(outcome, signal)
  }

  /** The body of an answer; `RULES_NOT_BUILT` while its goggles are being compiled. */
  async answer(task: AnswerTask, signal: AbortSignal): Promise<Result<string, UpstreamFailure>> {
    const outcome = await this.do({ answer: task }, signal)
    return outcome && 'body' in outcome ? ok(outcome.body) : failureOf(outcome, signal)
  }

  /** Ends the thread. Pending and later tasks fail. */
  close(): void {
    this.isClosed = true
    this.end()
    for (const one of this.waiting.splice(0)) one.settle(null)
  }

  private do(task: PageTask, signal: AbortSignal): Promise<Outcome> {
    if (this.isClosed || signal.aborted) return Promise.resolve(null)
    return new Promise((resolve) => {
      const giveUp = () => {
        const at = this.waiting.indexOf(one)
        if (at >= 0) this.waiting.splice(at, 1)
        resolve(null)
      }
      const one: Waiting = {
        id: ++this.lastId,
        task,
        settle: (outcome) => {
          signal.removeEventListener('abort', giveUp)
          resolve(outcome)
        },
      }
      signal.addEventListener('abort', giveUp, { once: true })
      this.waiting.push(one)
      this.next()
    })
  }

  private next(): void {
    if (this.current || this.isClosed || this.waiting.length === 0) return
    this.warm()
    if (!this.worker || !this.isReady) return
    const one = this.waiting.shift()
    if (!one) return
    this.current = one
    this.watch(this.worker, this.maxMs)
    this.worker.postMessage({ id: one.id, task: one.task } satisfies ToPageThread)
  }

  private receive(worker: Worker, message: FromPageThread): void {
    if (this.worker !== worker) return
    this.unwatch()
    if ('ready' in message) this.isReady = true
    else this.settle('problem' in message ? null : message)
    this.next()
  }

  private settle(outcome: Outcome): void {
    const current = this.current
    this.current = null
    current?.settle(outcome)
  }

  private watch(worker: Worker, ms: number): void {
    this.unwatch()
    this.timer = setTimeout(() => this.lost(worker), ms)
  }

  private unwatch(): void {
    if (this.timer) clearTimeout(this.timer)
    this.timer = null
  }

  /** The thread ended or must end: its task fails. If it did not even start, all waiting tasks fail too. */
  private lost(worker: Worker): void {
    if (this.worker !== worker) return
    const hadStarted = this.isReady
    this.end()
    if (!hadStarted) for (const one of this.waiting.splice(0)) one.settle(null)
    this.next()
  }

  private end(): void {
    this.unwatch()
    this.worker?.terminate()
    this.worker = null
    this.isReady = false
    this.settle(null)
  }
}

/** Why a task failed: its goggles, or not finished in time. */
function failureOf(outcome: Outcome, signal: AbortSignal): Result<never, UpstreamFailure> {
  if (outcome && 'unbuilt' in outcome) return RULES_NOT_BUILT
  if (outcome && 'goggles' in outcome) return err(brokenGoggle(outcome.goggles))
  return err({
    kind: signal.aborted ? 'timeout' : 'error',
    reason: 'searxng: the response could not be prepared in time',
  })
}
