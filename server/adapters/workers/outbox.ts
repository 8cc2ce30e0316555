import {
  type Frame,
  type FrameTarget,
  frameLength,
  frameNumber,
  frameTarget,
  HEADER_BYTES,
  KINDS,
  type Payload,
  payloadText,
  type SessionKind,
  writeFrame,
} from './frames'

/** Encoded ahead of the wire, and so no longer overtaken. */
const AHEAD_BYTES = 64 * 1024
const SMALL_BYTES = 2 * AHEAD_BYTES
/**
 * Requests of one order, other than the first, that are sent and not answered. What the other side has no time for waits here, where it
 * can be overtaken, and not in the connection, which takes megabytes. It also bounds one turn of the other side.
 */
const WINDOW = 256
/** A target that grew above this for a backlog is given up once it is empty. */
const LARGE_BYTES = 1024 * 1024

interface Waiting {
  readonly kind: SessionKind
  readonly request: number
  readonly text: string
  readonly size: number
}

/** What every frame says besides its payload. */
type Heading = Pick<Frame, 'epoch' | 'received'>

/**
 * The outgoing frames of a session: first those that wait, in the order of their kinds; then numbered and encoded, one after another
 * in one piece of memory, until the other side has acknowledged them.
 */
export class Outbox {
  private readonly waiting: readonly [Queue, Queue, Queue] = [new Queue(), new Queue(), new Queue()]
  /** Requests of the second and third order that are sent and not answered. */
  private readonly underWay: readonly [Set<number>, Set<number>] = [new Set(), new Set()]
  private target: FrameTarget = frameTarget(SMALL_BYTES)
  /** Places in the target: the first frame not acknowledged, the first byte not written, the end. */
  private first = 0
  private written = 0
  private end = 0
  private lastNumber = 0
  private acknowledgedNumber = 0
  private waitingFrames = 0
  private waitingBytes = 0

  /** Frames that are not acknowledged. */
  get frames(): number {
    return this.waitingFrames + this.lastNumber - this.acknowledgedNumber
  }

  get bytes(): number {
    return this.waitingBytes + this.end - this.first
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
    this.waiting[order].add({ kind, request, text, size })
    this.waitingFrames++
    this.waitingBytes += HEADER_BYTES + size
    return true
  }

  /** Encodes waiting frames, as many as may be ahead of the wire. Returns how many. */
  encode(heading: Heading): number {
    const before = this.lastNumber
    while (this.end - this.written < AHEAD_BYTES) {
      const next = this.waiting[0].take() ?? this.takeWithin(1) ?? this.takeWithin(2)
      if (next === undefined) break
      this.waitingFrames--
      this.waitingBytes -= HEADER_BYTES + next.size
      this.write({ ...heading, kind: next.kind, number: ++this.lastNumber, request: next.request }, next)
    }
    return this.lastNumber - before
  }

  private takeWithin(order: 1 | 2): Waiting | undefined {
    const underWay = this.underWay[order - 1]
    if (underWay === undefined || underWay.size >= WINDOW) return undefined
    const next = this.waiting[order].take()
    if (next !== undefined && next.request > 0) underWay.add(next.request)
    return next
  }

  /** A request was answered. Returns whether others may go now. */
  answered(request: number): boolean {
    const [holds, admits] = this.underWay
    if (!holds.delete(request)) admits.delete(request)
    return this.waitingFrames > 0
  }

  /** Adds a frame that says only what was received. */
  encodeAck(heading: Heading): void {
    this.write({ ...heading, kind: 'ack', number: 0, request: 0 }, { text: '', size: 0 })
  }

  /** The bytes to write. Valid until the next call of another method. */
  unwritten(): Uint8Array {
    return this.target.bytes.subarray(this.written, this.end)
  }

  /** The wire took so many of `unwritten`. */
  wrote(bytes: number): void {
    this.written += bytes
  }

  /** The other side received all up to this number. Returns false if it cannot have. */
  acknowledge(number: number): boolean {
    while (this.first < this.written) {
      const next = frameNumber(this.target, this.first)
      const length = frameLength(this.target, this.first)
      if (next > number || this.first + length > this.written) break
      this.first += length
      if (next > 0) this.acknowledgedNumber = next
    }
    if (this.first === this.end) this.empty()
    return number <= this.acknowledgedNumber
  }

  /** A new connection, whose other side received all up to this number: writes the rest again. Returns false if that cannot be. */
  rewind(number: number): boolean {
    if (number < this.acknowledgedNumber || !this.acknowledge(number)) return false
    this.written = this.first
    return true
  }

  private write(head: Parameters<typeof writeFrame>[2], { text, size }: Pick<Waiting, 'text' | 'size'>): void {
    const length = HEADER_BYTES + size
    if (this.end + length > this.target.bytes.length) this.makeRoom(length)
    writeFrame(this.target, this.end, head, text, size)
    this.end += length
  }

  /** Moves the frames to the front of the target, or to a larger one. */
  private makeRoom(more: number): void {
    const { first, end, target } = this
    const needed = end - first + more
    const isEnough = needed * 2 <= target.bytes.length
    if (!isEnough) this.target = frameTarget(2 * Math.max(needed, target.bytes.length))
    target.bytes.copy(this.target.bytes, 0, first, end)
    this.first = 0
    this.written -= first
    this.end -= first
  }

  private empty(): void {
    this.first = 0
    this.written = 0
    this.end = 0
    if (this.target.bytes.length > LARGE_BYTES) this.target = frameTarget(SMALL_BYTES)
  }
}

/** First in, first out. Taken places are freed when all are taken, or many. */
class Queue {
  private items: (Waiting | undefined)[] = []
  private at = 0

  add(item: Waiting): void {
    this.items.push(item)
  }

  take(): Waiting | undefined {
    const item = this.items[this.at]
    if (item === undefined) return undefined
    this.items[this.at++] = undefined
    if (this.at === this.items.length) {
      this.items.length = 0
      this.at = 0
    } else if (this.at >= 1024) {
      this.items.splice(0, this.at)
      this.at = 0
    }
    return item
  }
}
