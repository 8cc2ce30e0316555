import { SECOND_MS } from '../../core/clock'
import type { Frame, FrameDecoder, FrameFault, Payload, SessionKind, Side } from './frames'
import { Outbox } from './outbox'

/** One connection, as a session needs it: a socket of Bun, which buffers nothing. */
export interface Wire {
  /** Takes the first of these bytes, and returns how many; below zero if it is closed. After fewer than all, call `drained` later. */
  write(bytes: Uint8Array): number
  end(): void
}

/** A worker that had no acknowledgement of anything that it sent within this time acts for no caller, and its session is over. */
export const LEASE_MS = 5 * SECOND_MS
/** So long after its last word to a worker that does not answer, a primary settles that worker's calls: the worker's lease is over by then. */
export const SETTLE_AFTER_MS = 8 * SECOND_MS

/** Why a connection ended. Its session waits for the next one. */
type BreakReason = FrameFault | 'closed' | 'older_epoch' | 'newer_epoch' | 'missing_frame' | 'bad_acknowledgement'

export type RequestKind = 'claim' | 'capture' | 'keep' | 'abandoned' | 'hold' | 'release' | 'admit' | 'recall' | 'push'
export type NoticeKind = Exclude<SessionKind, RequestKind | 'ack' | 'beat' | 'answer'>

/** Takes the answer to a request; null if the session ended without one, or the request was too large to be sent. */
type Answered = (payload: Payload | null) => void

interface SessionParts {
  /** The side of this process. */
  readonly side: Side
  /** The epoch of the primary. A session does not outlive it. */
  readonly epoch: number
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
  /** Takes a request or a notice. It may answer at once. If it throws, the connection is broken and the frame counts as received. */
  readonly onFrame: (frame: Frame) => void
  readonly onBreak: (reason: BreakReason) => void
  /**
   * It ended, for this reason. Of itself for `backlog` (too much is queued or not acknowledged), `unanswered` (too much was asked and not answered),
   * `repeated_request` and `cannot_resume`.
   */
  readonly onCutOff: (reason: string) => void
  /** Runs at the end of the turn, so that its frames are written in one piece. */
  readonly later?: (run: () => void) => void
  readonly limits?: SessionLimits
}

/** What may be queued or not acknowledged, and as much again asked and not answered. */
interface SessionLimits {
  readonly frames: number
  readonly bytes: number
}

const LIMITS: SessionLimits = { frames: 10_000, bytes: 10 * 1024 * 1024 }
/** Frames that are received before an acknowledgement is sent without being asked for. */
const ACK_EVERY = 256

/**
 * A session of numbered frames between a primary and a worker, over one connection after another. Each frame arrives once, and frames
 * of one order arrive in the order in which they were sent. What was not acknowledged when a connection broke is sent again over the
 * next. A session that falls too far behind is cut off, and must not be used again.
 */
export class Session {
  private readonly parts: SessionParts
  private readonly limits: SessionLimits
  private readonly outbox = new Outbox()
  private readonly waiting = new Map<number, Answered>()
  /** Requests of the other side that are not answered, with their sizes. */
  private readonly unanswered = new Map<number, number>()
  private unansweredBytes = 0
  private wire: Wire | null = null
  private decoder: FrameDecoder | null = null
  /** Nothing more is taken or sent. */
  isOver = false
  private isBlocked = false
  private isFlushing = false
  private isAckDue = false
  private lastRequest = 0
  private lastReceived = 0
  private lastReceivedSaid = 0
  /** A frame that is not acknowledged, and a time before it was sent. */
  private probe: { readonly number: number; readonly at: number } | null = null
  private confirmed = Number.NEGATIVE_INFINITY
  private sent = Number.NEGATIVE_INFINITY
  private heard: number

  constructor(parts: SessionParts) {
    this.parts = parts
    this.heard = parts.now()
    this.limits = parts.limits ?? LIMITS
  }

  /** Something sent at this time or later was acknowledged. A worker's lease counts from here. */
  get confirmedAt(): number {
    return this.confirmed
  }

  /** Nothing was acknowledged to the other side after this time. The other side's lease began no later. */
  get sentAt(): number {
    return this.sent
  }

  get epoch(): number {
    return this.parts.epoch
  }

  /** When something last came from the other side. */
  get heardAt(): number {
    return this.heard
  }

  get isAttached(): boolean {
    return this.wire !== null
  }

  /** Frames that the other side has not acknowledged. */
  get pending(): number {
    return this.outbox.frames
  }

  /**
   * Gives up its connection, if it has one, because another comes. Returns the number of the last frame that it received, which the
   * other side needs to resume.
   */
  suspend(): number {
    const { wire } = this
    this.wire = null
    wire?.end()
    return this.lastReceived
  }

  /**
   * Goes on over a new connection, whose other side has received all frames up to `received`. The decoder has read the handshake from
   * it, and reads the rest. Call `suspend` before. Returns false, and ends the session, if frames that the other side lacks are gone.
   */
  attach(wire: Wire, decoder: FrameDecoder, received: number): boolean {
    if (this.isOver) return false
    this.suspend()
    if (!this.outbox.rewind(received)) return this.cutOff('cannot_resume')
    this.wire = wire
    this.decoder = decoder
    // The handshake has acknowledged what was received.
    this.sent = this.heard = this.parts.now()
    this.isBlocked = false
    this.isAckDue = true
    decoder.beginSession(this.parts.side === 'worker' ? 'primary' : 'worker', (frame) => {
      if (this.wire === wire) this.take(frame)
    })
    this.flushLater()
    return true
  }

  /** The connection has these bytes. */
  receive(wire: Wire, chunk: Uint8Array): void {
    if (this.wire !== wire || this.decoder === null) return
    this.heard = this.parts.now()
    try {
      const fault = this.decoder.push(chunk)
      if (fault !== null) this.break(fault)
    } catch (error) {
      this.break('closed')
      throw error
    }
  }

  /** The connection takes bytes again. */
  drained(wire: Wire): void {
    if (this.wire !== wire) return
    this.isBlocked = false
    this.flush()
  }

  /** The connection ended. */
  closed(wire: Wire): void {
    if (this.wire === wire) this.break('closed')
  }

  /** Sends a request. */
  ask(kind: RequestKind, payload: Payload, answered: Answered): void {
    const request = ++this.lastRequest
    this.waiting.set(request, answered)
    if (!this.send(kind, request, payload) && this.waiting.delete(request)) answered(null)
  }

  /** Sends what needs no answer. Returns false without a session, or if it is too large. */
  tell(kind: NoticeKind, payload: Payload): boolean {
    return this.send(kind, 0, payload)
  }

  /**
   * Answers a request of the other side, once. Returns false if it does not wait for an answer, or there is no session. An answer that
   * is too large is sent empty.
   */
  answer(request: number, payload: Payload): boolean {
    const size = this.unanswered.get(request)
    if (size === undefined) return false
    this.unanswered.delete(request)
    this.unansweredBytes -= size
    return this.send('answer', request, payload) || this.send('answer', request, [])
  }

  /** Asks for an acknowledgement. Does nothing without a connection. */
  beat(): boolean {
    return this.wire !== null && this.send('beat', 0, [])
  }

  /** Ends the session. Requests that were not answered get null. */
  end(): void {
    if (this.isOver) return
    this.isOver = true
    const { wire, waiting } = this
    this.wire = null
    wire?.end()
    for (const answered of waiting.values()) answered(null)
    waiting.clear()
    this.unanswered.clear()
  }

  /** Ends the session because of the other side. */
  cutOff(reason: string): false {
    if (this.isOver) return false
    this.end()
    this.parts.onCutOff(reason)
    return false
  }

  private send(kind: SessionKind, request: number, payload: Payload): boolean {
    const { outbox, limits } = this
    if (this.isOver) return false
    if (!outbox.add(kind, request, payload)) return false
    if (outbox.frames > limits.frames || outbox.bytes > limits.bytes) return this.cutOff('backlog')
    this.flushLater()
    return true
  }

  private take(frame: Frame): void {
    const wrong = this.check(frame)
    if (wrong !== null) this.break(wrong)
    if (wrong !== null || frame.number <= this.lastReceived) return
    this.lastReceived = frame.number
    if (frame.kind === 'beat' || this.lastReceived - this.lastReceivedSaid >= ACK_EVERY) {
      this.isAckDue = true
      this.flushLater()
    }
    if (frame.kind === 'answer') this.takeAnswer(frame)
    else if (frame.kind !== 'beat' && this.isNew(frame)) this.parts.onFrame(frame)
  }

  /** Reads what all frames say, and what is wrong with it. A number that was received is fine: it was sent again after a break. */
  private check({ epoch, received, number }: Frame): BreakReason | null {
    const own = this.parts.epoch
    if (epoch !== own) return epoch < own ? 'older_epoch' : 'newer_epoch'
    if (!this.outbox.acknowledge(received)) return 'bad_acknowledgement'
    if (this.probe !== null && received >= this.probe.number) {
      this.confirmed = this.probe.at
      this.probe = null
    }
    return number > this.lastReceived + 1 ? 'missing_frame' : null
  }

  private takeAnswer({ request, payload }: Frame): void {
    if (this.outbox.answered(request)) this.flushLater()
    const answered = this.waiting.get(request)
    this.waiting.delete(request)
    answered?.(payload)
  }

  /** Counts a request as unanswered. */
  private isNew({ request, size }: Frame): boolean {
    if (request === 0) return true
    const { unanswered, limits } = this
    if (unanswered.has(request)) return this.cutOff('repeated_request')
    unanswered.set(request, size)
    this.unansweredBytes += size
    const isFull = unanswered.size > limits.frames || this.unansweredBytes > limits.bytes
    return !isFull || this.cutOff('unanswered')
  }

  private flushLater(): void {
    if (this.isFlushing || this.wire === null) return
    this.isFlushing = true
    const { later = setImmediate } = this.parts
    later(() => {
      this.isFlushing = false
      this.flush()
    })
  }

  private flush(): void {
    const { wire, outbox } = this
    while (wire !== null && this.wire === wire && !this.isBlocked) {
      this.encode()
      const bytes = outbox.unwritten()
      if (bytes.length === 0) return
      this.sent = this.parts.now()
      const taken = wire.write(bytes)
      if (taken < 0) this.break('closed')
      else {
        outbox.wrote(taken)
        this.isBlocked = taken < bytes.length
      }
    }
  }

  private encode(): void {
    const { outbox, parts, lastReceived } = this
    const heading = { epoch: parts.epoch, received: lastReceived }
    const encoded = outbox.encode(heading)
    if (encoded > 0) this.probe ??= { number: outbox.last, at: parts.now() }
    else if (this.isAckDue) outbox.encodeAck(heading)
    else return
    this.isAckDue = false
    this.lastReceivedSaid = lastReceived
  }

  /** Gives up the connection. */
  private break(reason: BreakReason): void {
    const { wire } = this
    if (wire === null) return
    this.wire = null
    wire.end()
    this.parts.onBreak(reason)
  }
}
