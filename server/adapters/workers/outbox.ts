import { type Frame, HEADER_BYTES, KINDS, type Payload, payloadText, type SessionKind, writeFrame } from './frames'

/** Encoded ahead of the wire, and so no longer overtaken; a last frame may go over. */
const AHEAD_BYTES = 64 * 1024
/**
 * Requests of one order, other than the first, that are sent and not answered. What the other side has no time for waits here, where it
 * can be overtaken, and not in the connection, which takes megabytes. It also bounds one turn of the other side.
 */
const WINDOW = 256

interface Waiting {
  readonly kind: SessionKind
  readonly request: number
  readonly text: string
  readonly size: number
}

/** Frames of one order. */
interface Lane {
  readonly waiting: Waiting[]
  /** Requests that are sent and not answered; null in the first order, which also has answers. */
  readonly underWay: Set<number> | null
}

/** Frames in one piece of memory, the last of which has the number `last`. */
interface Batch {
  readonly bytes: Buffer
  readonly last: number
}

/** What every frame says besides its payload. */
type Heading = Pick<Frame, 'epoch' | 'received'>

const NO_BYTES = new Uint8Array()

/**
 * The outgoing frames of a session: first those that wait, in the order of their kinds; then numbered and encoded in batches, which are kept until the
 * other side has acknowledged them whole. After a break it may get frames again that it has: it tells them by their numbers.
 */
export class Outbox {
  private readonly lanes: readonly [Lane, Lane, Lane] = [
    { waiting: [], underWay: null },
    { waiting: [], underWay: new Set() },
    { waiting: [], underWay: new Set() },
  ]
  private readonly batches: Batch[] = []
  /** The first batch that is not written, and how much of it is. */
  private writing = 0
  private written = 0
  private lastNumber = 0
  private acknowledgedNumber = 0
  private waitingFrames = 0
  /** Of all frames that are kept. */
  private size = 0

  /** Frames that are not acknowledged. */
  get frames(): number {
    return this.waitingFrames + this.lastNumber - this.acknowledgedNumber
  }

  get bytes(): number {
    return this.size
  }

  /** The number of the last frame that was encoded. */
  get last(): number {
    return this.lastNumber
  }

  /** Queues a frame. Returns false if it is above the limit of its kind. */
  add(kind: SessionKind, request: number, payload: Payload): boolean {
    const text = payloadText(payload)
    const size = Buffer.byteLength(text)
    const { maxBytes, order } = KINDS[kind]
    if (size > maxBytes) return false
    this.lanes[order].waiting.push({ kind, request, text, size })
    this.waitingFrames++
    this.size += HEADER_BYTES + size
    return true
  }

  /** Encodes waiting frames, as many as may be ahead of the wire, once all before are written. Returns how many. */
  encode(heading: Heading): number {
    if (this.writing < this.batches.length) return 0
    const frames: Waiting[] = []
    let size = 0
    for (const { waiting, underWay } of this.lanes) {
      let taken = 0
      while (size < AHEAD_BYTES && (underWay === null || underWay.size < WINDOW)) {
        const next = waiting[taken]
        if (next === undefined) break
        taken++
        if (next.request > 0) underWay?.add(next.request)
        frames.push(next)
        size += HEADER_BYTES + next.size
      }
      if (taken === waiting.length) waiting.length = 0
      else if (taken > 0) waiting.splice(0, taken)
    }
    if (frames.length === 0) return 0
    const bytes = Buffer.allocUnsafe(size)
    let at = 0
    for (const { kind, request, text, size } of frames) {
      writeFrame(bytes, at, { ...heading, kind, request, number: ++this.lastNumber }, text, size)
      at += HEADER_BYTES + size
    }
    this.waitingFrames -= frames.length
    this.batches.push({ bytes, last: this.lastNumber })
    return frames.length
  }

  /** A request was answered. Returns whether others may go now. */
  answered(request: number): boolean {
    const [, holds, admits] = this.lanes
    if (!holds.underWay?.delete(request)) admits.underWay?.delete(request)
    return this.waitingFrames > 0
  }

  /** Adds a frame that says only what was received. */
  encodeAck(heading: Heading): void {
    const bytes = Buffer.allocUnsafe(HEADER_BYTES)
    writeFrame(bytes, 0, { ...heading, kind: 'ack', number: 0, request: 0 }, '', 0)
    this.batches.push({ bytes, last: this.lastNumber })
    this.size += HEADER_BYTES
  }

  /** The bytes to write next. */
  unwritten(): Uint8Array {
    const bytes = this.batches[this.writing]?.bytes ?? NO_BYTES
    return this.written === 0 ? bytes : bytes.subarray(this.written)
  }

  /** The wire took so many of `unwritten`. */
  wrote(bytes: number): void {
    this.written += bytes
    if (this.written !== this.batches[this.writing]?.bytes.length) return
    this.writing++
    this.written = 0
  }

  /** The other side received all up to this number. Returns false if it cannot have. */
  acknowledge(number: number): boolean {
    if (number > this.lastNumber) return false
    this.acknowledgedNumber = Math.max(this.acknowledgedNumber, number)
    let done = 0
    for (const { bytes, last } of this.batches) {
      if (done === this.writing || last > this.acknowledgedNumber) break
      this.size -= bytes.length
      done++
    }
    if (done > 0) this.batches.splice(0, done)
    this.writing -= done
    return true
  }

  /** A new connection, whose other side received all up to this number: writes the rest again. Returns false if that cannot be. */
  rewind(number: number): boolean {
    if (number < this.acknowledgedNumber || !this.acknowledge(number)) return false
    this.writing = 0
    this.written = 0
    return true
  }
}
