import { type Failure, uncharged } from '../../core/failure'
import { err, ok, type Result } from '../../core/result'
import {
  type BodyReader,
  type ReadModelBody,
  type ReceivedBody,
  SHORT_BODY_BYTES,
} from '../../pipeline/models/body-reader'
import type { ModelWire, WirePath } from '../../pipeline/models/wires/model-wire'
import type { FromBodyThread, ToBodyThread } from './body-wire'

/** Bodies with at most this many parts are parsed inline, which takes a few milliseconds. Property names are slow to parse, even short ones. */
const FEW_PARTS = 10_000
/** How many long bodies may wait for the thread. */
const MAX_WAITING = 16
/** Longer than parsing any 32 MiB body takes. */
const MAX_MS = 15_000
/** How long the thread may be idle before it ends and frees its memory. */
const IDLE_MS = 10_000

type Outcome = Result<ReadModelBody, Failure>

interface Waiting {
  readonly task: ToBodyThread
  readonly settle: (outcome: Outcome) => void
}

/**
 * Parses bodies of model calls: short ones inline, long ones and ones with many parts on a separate thread, one at a time. The body's
 * memory is transferred there and back, not copied; only a few facts about it are sent as a message.
 */
export class BodyParser implements BodyReader {
  private readonly workerUrl: URL
  private readonly waiting: Waiting[] = []
  private worker: Worker | null = null
  private current: Waiting | null = null
  private timer: ReturnType<typeof setTimeout> | null = null

  constructor(workerUrl = new URL('./body-worker.ts', import.meta.url)) {
    this.workerUrl = workerUrl
  }

  read(wire: ModelWire, { chunks, parts }: ReceivedBody, path: WirePath): Outcome | Promise<Outcome> {
    let length = 0
    for (const { byteLength } of chunks) length += byteLength
    if (length > SHORT_BODY_BYTES) return this.readBeside({ route: wire.route, path, chunks: chunks.map(alone) })
    const bytes = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, length)
    if (parts === null || parts > FEW_PARTS) return this.readBeside({ route: wire.route, path, chunks: [alone(bytes)] })
    const read = wire.read(bytes, path)
    return read.ok ? ok({ request: read.value, digest: null }) : read
  }

  private readBeside(task: ToBodyThread): Promise<Outcome> {
    if (this.waiting.length >= MAX_WAITING) return Promise.resolve(NO_ROOM)
    return new Promise((settle) => {
      this.waiting.push({ task, settle })
      this.next()
    })
  }

  private next(): void {
    if (this.current) return
    const next = this.waiting.shift()
    this.watch(next ? MAX_MS : IDLE_MS)
    if (!next) return
    this.worker ??= this.started()
    this.current = next
    this.worker.postMessage(
      next.task,
      next.task.chunks.map(({ buffer }) => buffer),
    )
  }

  private started(): Worker {
    const worker = new Worker(this.workerUrl)
    worker.onmessage = ({ data }: MessageEvent<FromBodyThread>) => {
      if (this.worker === worker) this.settle(outcomeOf(data))
    }
    worker.onerror = (event) => {
      event.preventDefault()
      if (this.worker === worker) this.end()
    }
    return worker
  }

  private settle(outcome: Outcome): void {
    const { current } = this
    this.current = null
    current?.settle(outcome)
    this.next()
  }

  /** Ends the thread after it was idle for a while. */
  private watch(ms: number): void {
    if (this.timer) clearTimeout(this.timer)
    this.timer = setTimeout(() => this.end(), ms)
    this.timer.unref()
  }

  /** Abandons the thread with its body. The next body starts a new one. */
  private end(): void {
    this.worker?.terminate()
    this.worker = null
    if (this.current) this.settle(NO_ROOM)
  }
}

function outcomeOf(read: FromBodyThread): Outcome {
  if (!read.ok) return read
  const { facts, digest, buffer } = read.value
  return ok({ request: { ...facts, bytes: new Uint8Array(buffer) }, digest })
}

/** A copy of the bytes in memory of its own, which can be transferred to another thread. */
function alone(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return bytes.byteLength === bytes.buffer.byteLength ? new Uint8Array(bytes.buffer) : new Uint8Array(bytes)
}

const NO_ROOM: Outcome = err(
  uncharged('service_unavailable', 'Too many large request bodies are waiting to be parsed. Try again.', {
    retryAfterSeconds: 1,
  }),
)
