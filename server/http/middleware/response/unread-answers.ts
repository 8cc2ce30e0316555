import type { Clock } from '../../../core/clock'
import { Pace } from '../../../core/limits/pace'

/** Shorter answers are sent whole: the kernel takes them, and they are too small to add up. */
const WHOLE_BYTES = 64 * 1024
const PIECE_BYTES = 64 * 1024
const PERIOD_MS = 30_000
const CHECK_MS = 1000

/** The most bytes of answers that wait for their readers, per owner and in total. */
export interface UnreadCaps {
  readonly owner: number
  readonly all: number
}

/**
 * Sends large answers in pieces, each once the reader took the one before, and bounds what waits in memory. An answer ends whose reader takes less than 4
 * KiB/s within 30 s. Where the bytes of an owner or of the process are at their cap, the answer ends that was not read for the longest time. The connection
 * of an answer that ended closes without the end of its body, at the latest with the idle timeout.
 */
export class UnreadAnswers {
  private readonly caps: UnreadCaps
  private readonly clock: Clock
  private readonly open = new Set<Pieces>()
  private readonly byOwner = new Map<string, number>()
  private total = 0
  private timer: ReturnType<typeof setInterval> | null = null

  /** `clock` must be monotonic. */
  constructor(caps: UnreadCaps, clock: Clock) {
    this.caps = caps
    this.clock = clock
  }

  /** The bytes that wait, and of how many answers. */
  get waiting(): { readonly bytes: number; readonly answers: number } {
    return { bytes: this.total, answers: this.open.size }
  }

  waitingOf(owner: string): number {
    return this.byOwner.get(owner) ?? 0
  }

  static isLarge(body: string | Uint8Array): boolean {
    return body.length > WHOLE_BYTES
  }

  /** The stream of a body that `isLarge`. `owner`: the account, or what else its bytes count against. */
  inPieces(body: string | Uint8Array<ArrayBuffer>, owner: string): ReadableStream<Uint8Array> {
    const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
    const pieces = new Pieces(bytes, owner, this.clock.now())
    this.open.add(pieces)
    this.count(owner, bytes.byteLength)
    while (this.overfull(owner) && this.open.size > 1) this.end(this.stalest(this.isOver(owner) ? owner : null))
    this.timer ??= setInterval(() => this.endSlow(), CHECK_MS)
    this.timer.unref()
    return new ReadableStream(
      {
        pull: (controller) => {
          const piece = pieces.next(this.clock.now())
          if (piece) return controller.enqueue(piece)
          // A body that was cut off must not look whole, so it has no end.
          if (!this.open.has(pieces)) return new Promise<void>(() => undefined)
          this.end(pieces)
          controller.close()
        },
        cancel: () => this.end(pieces),
      },
      { highWaterMark: 0 },
    )
  }

  /** Ends the answers of readers that are too slow. Runs once a second. */
  endSlow(): void {
    const now = this.clock.now()
    for (const pieces of this.open) if (pieces.isSlow(now)) this.end(pieces)
  }

  private isOver(owner: string): boolean {
    return this.waitingOf(owner) > this.caps.owner
  }

  private overfull(owner: string): boolean {
    return this.isOver(owner) || this.total > this.caps.all
  }

  private stalest(owner: string | null): Pieces {
    let stalest: Pieces | null = null
    for (const pieces of this.open)
      if ((owner === null || pieces.owner === owner) && (!stalest || pieces.takenAt < stalest.takenAt)) stalest = pieces
    if (!stalest) throw new Error('no answer waits')
    return stalest
  }

  /** Idempotent. */
  private end(pieces: Pieces): void {
    if (!this.open.delete(pieces)) return
    this.count(pieces.owner, -pieces.drop())
    if (this.open.size > 0 || !this.timer) return
    clearInterval(this.timer)
    this.timer = null
  }

  private count(owner: string, bytes: number): void {
    this.total += bytes
    const left = (this.byOwner.get(owner) ?? 0) + bytes
    if (left > 0) this.byOwner.set(owner, left)
    else this.byOwner.delete(owner)
  }
}

class Pieces {
  readonly owner: string
  /** When the reader last took a piece. */
  takenAt: number
  private bytes: Uint8Array<ArrayBuffer>
  private readonly size: number
  private taken = 0
  private readonly pace: Pace

  constructor(bytes: Uint8Array<ArrayBuffer>, owner: string, now: number) {
    this.bytes = bytes
    this.size = bytes.byteLength
    this.owner = owner
    this.takenAt = now
    this.pace = new Pace(PERIOD_MS, now)
  }

  /** The next piece; null after the last one. */
  next(now: number): Uint8Array<ArrayBuffer> | null {
    const piece = this.bytes.subarray(this.taken, this.taken + PIECE_BYTES)
    this.taken += piece.byteLength
    this.pace.moved(piece.byteLength)
    this.takenAt = now
    return piece.byteLength === 0 ? null : piece
  }

  isSlow(now: number): boolean {
    return this.pace.isTooSlow(now)
  }

  /** Frees the memory. Returns how many bytes it was. */
  drop(): number {
    this.bytes = new Uint8Array()
    return this.size
  }
}
