import type { InputTokens } from '../../../pipeline/models/model-call'
import type { FromTokenThread, ToTokenThread } from './token-worker'

/** Counting and, the first time, loading the vocabulary. */
const MAX_MS = 15_000

/** Counts tokens on a separate thread, started by the first count, which does not keep the process alive. */
export class TokenThread implements InputTokens {
  private worker: Worker | null = null
  private readonly waiting = new Map<number, (tokens: number | null) => void>()
  private lastId = 0

  async count(body: Uint8Array): Promise<number | null> {
    const id = ++this.lastId
    const counted = Promise.withResolvers<number | null>()
    this.waiting.set(id, counted.resolve)
    const timer = setTimeout(() => this.lost(), MAX_MS)
    try {
      this.thread().postMessage({ id, body } satisfies ToTokenThread)
      return await counted.promise
    } finally {
      clearTimeout(timer)
      this.waiting.delete(id)
    }
  }

  /** Ends the thread and drops the count in progress. */
  close(): void {
    this.lost()
  }

  private thread(): Worker {
    if (this.worker) return this.worker
    const worker = new Worker(new URL('./token-worker.ts', import.meta.url), { ref: false } as WorkerOptions)
    worker.onmessage = ({ data }: MessageEvent<FromTokenThread>) => this.waiting.get(data.id)?.(data.tokens)
    worker.onerror = (event) => {
      event.preventDefault()
      if (this.worker === worker) this.lost()
    }
    this.worker = worker
    return worker
  }

  private lost(): void {
    this.worker?.terminate()
    this.worker = null
    for (const settle of this.waiting.values()) settle(null)
  }
}
