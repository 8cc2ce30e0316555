import type { ProviderAnswer, UpstreamFailure } from '../../../core/providers/provider'
import { no, ok, type Result } from '../../../core/result'
import { brokenGoggle } from '../goggles/broken-goggle'
import type { FromWorker, Question, ToWorker } from './question'

export interface IndexClient {
  /** Asks the index on its own thread. Obeys `signal` at once, answering `timeout`; never throws for what goes wrong there. */
  ask(question: Question, signal: AbortSignal): Promise<Result<ProviderAnswer, UpstreamFailure>>
  /** Ends the thread. What is still asked, and what is asked later, is answered `unavailable`. */
  close(): Promise<void>
}

export interface IndexClientOptions {
  readonly indexPath: string
  /** The thread's script, where another one stands in for it. */
  readonly workerUrl?: URL
}

/**
 * The thread is started with the first question. When it dies, the questions it had are answered `unavailable` and the
 * next question starts a new one.
 */
export function openIndexClient(options: IndexClientOptions): IndexClient {
  return new WorkerIndexClient(options.indexPath, options.workerUrl ?? new URL('./worker.ts', import.meta.url))
}

type Answer = Result<ProviderAnswer, UpstreamFailure>

const TIMED_OUT: Answer = no({ kind: 'timeout', reason: 'the call was given up before the index answered' })
const CLOSED: Answer = no({ kind: 'unavailable', reason: 'the index is closed' })

class WorkerIndexClient implements IndexClient {
  readonly #indexPath: string
  readonly #workerUrl: URL
  readonly #pending = new Map<number, (answer: Answer) => void>()
  #worker: Worker | null = null
  #whenClosed: (() => void) | null = null
  #isClosed = false
  #lastId = 0

  constructor(indexPath: string, workerUrl: URL) {
    this.#indexPath = indexPath
    this.#workerUrl = workerUrl
  }

  ask(question: Question, signal: AbortSignal): Promise<Answer> {
    if (this.#isClosed) return Promise.resolve(CLOSED)
    if (signal.aborted) return Promise.resolve(TIMED_OUT)
    const worker = this.#started()
    const id = ++this.#lastId
    return new Promise((resolve) => {
      const onAbort = (): void => {
        send(worker, { cancel: id })
        this.#settle(id, TIMED_OUT)
      }
      signal.addEventListener('abort', onAbort, { once: true })
      this.#pending.set(id, (answer) => {
        signal.removeEventListener('abort', onAbort)
        resolve(answer)
      })
      send(worker, { id, question })
    })
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#failAll(CLOSED)
    const worker = this.#worker
    if (!worker) return
    await new Promise<void>((resolve) => {
      this.#whenClosed = resolve
      send(worker, { close: true })
    })
    worker.terminate()
    this.#worker = null
  }

  #started(): Worker {
    if (this.#worker) return this.#worker
    const worker = new Worker(this.#workerUrl)
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.#receive(data)
    worker.onerror = (event) => {
      event.preventDefault()
      this.#lost(worker, event.message)
    }
    worker.addEventListener('close', () => this.#lost(worker, 'the thread ended'))
    this.#worker = worker
    send(worker, { open: this.#indexPath })
    return worker
  }

  #receive(message: FromWorker): void {
    if ('closed' in message) this.#whenClosed?.()
    else if ('body' in message) this.#settle(message.id, ok({ body: message.body }))
    else if ('goggles' in message) this.#settle(message.id, no(brokenGoggle(message.goggles)))
    else this.#settle(message.id, no({ kind: 'unavailable', reason: `local index: ${message.problem}` }))
  }

  #lost(worker: Worker, reason: string): void {
    if (this.#worker !== worker) return
    this.#worker = null
    this.#whenClosed?.()
    worker.terminate()
    this.#failAll(no({ kind: 'unavailable', reason: `the index's thread was lost: ${reason}` }))
  }

  #failAll(answer: Answer): void {
    for (const id of [...this.#pending.keys()]) this.#settle(id, answer)
  }

  #settle(id: number, answer: Answer): void {
    const resolve = this.#pending.get(id)
    this.#pending.delete(id)
    resolve?.(answer)
  }
}

function send(worker: Worker, message: ToWorker): void {
  worker.postMessage(message)
}
