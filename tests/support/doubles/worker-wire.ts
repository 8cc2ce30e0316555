import { FrameDecoder, HEADER_BYTES } from '../../../server/adapters/workers/frames'
import type { Session, Wire } from '../../../server/adapters/workers/session'

/** One end of a connection. What it writes is in flight until it is delivered to the other end. */
export class WireEnd implements Wire {
  readonly session: Session
  /** Bytes that it takes before it is drained. */
  room: number
  isEnded = false
  private flight: Buffer = Buffer.alloc(0)
  private delivered: Buffer = Buffer.alloc(0)

  constructor(session: Session, room: number) {
    this.session = session
    this.room = room
  }

  get inFlight(): number {
    return this.flight.length
  }

  write(bytes: Uint8Array): number {
    if (this.isEnded) return -1
    const taken = Math.min(this.room, bytes.length)
    this.room -= taken
    this.flight = Buffer.concat([this.flight, bytes.subarray(0, taken)])
    return taken
  }

  end(): void {
    this.isEnded = true
  }

  drain(room: number): void {
    this.room += room
    if (!this.isEnded) this.session.drained(this)
  }

  /** Delivers the first bytes that are in flight. */
  deliver(to: WireEnd, most: number): void {
    const bytes = this.flight.subarray(0, most)
    this.flight = this.flight.subarray(bytes.length)
    this.delivered = Buffer.concat([this.delivered, bytes])
    if (!to.isEnded) to.session.receive(to, Buffer.from(bytes))
  }

  /** Delivers the last frame once more, unless the next is delivered in part. */
  repeat(to: WireEnd): void {
    let at = 0
    let last = 0
    while (this.delivered.length - at >= HEADER_BYTES) {
      last = at
      at += 4 + this.delivered.readUInt32BE(at)
    }
    if (at !== this.delivered.length || at === 0 || to.isEnded) return
    to.session.receive(to, Buffer.from(this.delivered.subarray(last)))
  }
}

/** A connection between two sessions. */
export class Cable {
  readonly worker: WireEnd
  readonly primary: WireEnd

  /** As after a handshake: each side says what it received, and begins. */
  constructor(worker: Session, primary: Session, room = Number.POSITIVE_INFINITY) {
    const ofWorker = worker.suspend()
    const ofPrimary = primary.suspend()
    this.worker = new WireEnd(worker, room)
    this.primary = new WireEnd(primary, room)
    primary.attach(this.primary, decoder(), ofWorker)
    worker.attach(this.worker, decoder(), ofPrimary)
  }

  deliver(from: 'worker' | 'primary', most = Number.POSITIVE_INFINITY): void {
    this[from].deliver(this.other(from), most)
  }

  other(from: 'worker' | 'primary'): WireEnd {
    return from === 'worker' ? this.primary : this.worker
  }

  /** What is in flight is lost. Only these sides notice now. */
  cut(noticedBy: readonly ('worker' | 'primary')[] = ['worker', 'primary']): void {
    const ends = [this.worker, this.primary]
    for (const end of ends) end.end()
    for (const side of noticedBy) this[side].session.closed(this[side])
  }
}

function decoder(): FrameDecoder {
  return new FrameDecoder(() => undefined)
}

/** The turns of one process: what runs later runs when it is told to. */
export class Turns {
  private runs: (() => void)[] = []

  readonly later = (run: () => void): void => void this.runs.push(run)

  run(): void {
    const { runs } = this
    this.runs = []
    for (const run of runs) run()
  }
}
