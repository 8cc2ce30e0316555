import { SECOND_MS } from '../../core/clock'
import { reasonOf } from '../../core/result'
import type { Frame, Payload } from './frames'
import { HANDSHAKE_MS, handshakeFrame, WorkerHandshake } from './handshake'
import { connectTo, type PrimaryAddress, passOnOrigin } from './primary-address'
import type { Warn } from './served-worker'
import { LEASE_MS, type NoticeKind, type RequestKind, Session } from './session'
import { SocketWire } from './socket-wire'

/** Often enough to notice the end of a lease; every fourth time it beats. */
const TICK_MS = SECOND_MS / 4
const TICKS_TO_BEAT = 4
const FIRST_PAUSE_MS = 50
/** Where nobody listens, which costs little to ask: a primary that takes over is noticed within this time. */
const MAX_DIAL_PAUSE_MS = SECOND_MS / 4
/** Where somebody refused this worker, or is the primary that it has. */
const MAX_PAUSE_MS = 5 * SECOND_MS

export interface ConnectionParts {
  /** Where the primary may be: each is tried all the time, side by side. */
  readonly addresses: readonly PrimaryAddress[]
  /** Certificates to trust in place of the system's. */
  readonly ca?: string | null
  /** Name and key of the credential, and the id of this process: 32 hex digits. */
  readonly credential: string
  readonly key: Uint8Array
  readonly instance: string
  readonly version: string
  /** Takes a push. If it throws, the primary cuts this worker off. */
  readonly onPush: (payload: Payload) => void | Promise<void>
  /** The session ended, and with it what this worker may do for its callers. */
  readonly onLost?: () => void
  /** Within the lease of the last primary another one began a session: what is open can be claimed. */
  readonly onReplaced?: () => void
  readonly warn: Warn
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number
}

/** Where the primary takes what is passed on, and the token that proves where it comes from. */
export interface PassOnTarget {
  readonly origin: string
  readonly token: string
}

/**
 * The worker's side of its session with the primary. It tries each candidate again and again, also while it has a primary, and goes over to one of a
 * higher epoch as soon as that has proved itself.
 */
export class Connection {
  /** Of the session, or of the next one. With another number, the primary no longer knows what it was told before. */
  sessionNumber = 1
  private readonly parts: ConnectionParts
  private readonly now: () => number
  private session: Session | null = null
  private readonly candidates: readonly Candidate[]
  /** The connection to the primary of the highest epoch that proved itself. */
  private chosen: Attempt | null = null
  /** Those that wait for a session. */
  private readonly waiting = new Set<() => void>()
  /** A primary was there after this time, but for what the session says. */
  private provedAt = Number.NEGATIVE_INFINITY
  /** Another primary than that of the last session was there, which has not let this worker in yet. */
  private isReplaced = false
  private highestEpoch = 0
  private target: PassOnTarget | null = null
  private readonly timer: ReturnType<typeof setInterval>
  private ticks = 0
  private isClosed = false
  private isLast = false

  constructor(parts: ConnectionParts) {
    this.parts = parts
    this.now = parts.now ?? (() => performance.now())
    this.timer = setInterval(() => this.tick(), TICK_MS)
    this.candidates = parts.addresses.map((address) => ({
      address,
      attempt: null,
      pausing: null,
      pauseMs: 0,
      told: '',
    }))
    for (const candidate of this.candidates) void this.connect(candidate)
  }

  /** Connected, and the lease is valid. */
  get isReady(): boolean {
    return this.isAttached && this.hasLease
  }

  private get isAttached(): boolean {
    return this.session?.isAttached ?? false
  }

  /** Whether this worker may act for callers. Ask before each write to one. */
  get hasLease(): boolean {
    const confirmedAt = this.session?.confirmedAt ?? Number.NEGATIVE_INFINITY
    return this.now() < Math.max(this.provedAt, confirmedAt) + LEASE_MS
  }

  /** Resolves to true once there is a session, and to false after `maxMs`. At once for a primary of this machine: its workers end with it. */
  async back(maxMs: number): Promise<boolean> {
    const isLocal = this.parts.addresses.some((address) => 'unix' in address)
    if (this.isReady || isLocal || this.isClosed || maxMs <= 0) return this.isReady
    const { promise, resolve } = Promise.withResolvers<void>()
    this.waiting.add(resolve)
    const late = setTimeout(resolve, maxMs)
    await promise
    clearTimeout(late)
    this.waiting.delete(resolve)
    return this.isReady
  }

  /** Null if no primary comes within this time: one that takes over is there within seconds. */
  async passOn(maxMs = LEASE_MS): Promise<PassOnTarget | null> {
    return (await this.back(maxMs)) ? this.target : null
  }

  /** The answer; null at once without a session, and when it ends before there is one. Empty: the primary refused it. */
  ask(kind: RequestKind, payload: Payload): Promise<Payload | null> {
    const { session } = this
    if (session === null || !this.hasLease) return Promise.resolve(null)
    const { promise, resolve } = Promise.withResolvers<Payload | null>()
    session.ask(kind, payload, resolve)
    return promise
  }

  /** Says what needs no answer. Without a session it is lost. */
  tell(kind: NoticeKind, payload: Payload): void {
    this.session?.tell(kind, payload)
  }

  /** Resolves once the primary has received all that was said, or after `maxMs`. Call it before the process ends. */
  async flush(maxMs: number): Promise<void> {
    const until = this.now() + maxMs
    for (;;) {
      const { session } = this
      if (session === null || session.pending === 0 || this.now() > until) return
      session.beat()
      await Bun.sleep(5)
    }
  }

  /** The primary that started this worker ends, or is dead: once this connection breaks, the session is over at once. */
  endsWithConnection(): void {
    this.isLast = true
    if (!this.isAttached) this.close()
  }

  /** Ends the session, and connects no more. */
  close(): void {
    this.isClosed = true
    for (const resolve of this.waiting) resolve()
    clearInterval(this.timer)
    this.endSession()
    for (const { pausing, attempt } of this.candidates) {
      if (pausing) clearTimeout(pausing)
      attempt?.wire.end()
    }
  }

  private tick(): void {
    if ((this.session !== null || this.isReplaced) && !this.hasLease) this.endSession()
    if (++this.ticks % TICKS_TO_BEAT === 0) this.session?.beat()
  }

  /** Requests that wait get null. The next connection begins another session, which may claim what is open if this one `isReplaced`. */
  private endSession(isReplaced = false): void {
    const { session } = this
    if (session === null && !this.isReplaced) return
    this.provedAt = isReplaced
      ? Math.max(this.provedAt, session?.confirmedAt ?? this.provedAt)
      : Number.NEGATIVE_INFINITY
    this.isReplaced = isReplaced
    this.session = null
    if (session !== null) {
      this.sessionNumber++
      session.end()
    }
    if (!isReplaced) this.parts.onLost?.()
  }

  private async connect(candidate: Candidate): Promise<void> {
    const { ca = null, credential, key, instance, version } = this.parts
    const handshake = new WorkerHandshake({ credential, key, instance, version, epoch: this.highestEpoch })
    const wire = new SocketWire({
      handshakeMs: HANDSHAKE_MS,
      onHandshake: (frame) => this.takeHandshake(attempt, frame),
      onEnd: () => this.lost(attempt),
    })
    const attempt: Attempt = { candidate, handshake, wire, isAnswered: false, epoch: 0, provedAt: 0 }
    candidate.pausing = null
    candidate.attempt = attempt
    try {
      await connectTo<null>(candidate.address, ca, this.handlers(attempt))
    } catch (error) {
      // With a primary, that no other listens is as it should be.
      if (!this.isClosed && this.chosen === null)
        this.tellOnce(candidate, 'the primary cannot be reached', { reason: reasonOf(error) })
      wire.end()
    }
  }

  private handlers({ candidate, handshake, wire }: Attempt): Bun.SocketHandler<null> {
    const { address } = candidate
    const isEncrypted = !('unix' in address) && address.tls
    const begin = () => void wire.write(handshakeFrame('hello', handshake.hello))
    const failed = (error: Error) => {
      this.tellOnce(candidate, 'the connection to the primary failed', { reason: reasonOf(error) })
      wire.end()
    }
    return {
      open(socket) {
        wire.socket = socket
        if (wire.isOver) socket.terminate()
        else if (!isEncrypted) begin()
      },
      handshake(_socket, isAuthorized, error) {
        if (isAuthorized) begin()
        else failed(error ?? new Error('the certificate is not trusted'))
      },
      data: (_socket, chunk) => wire.receive(chunk),
      drain: () => wire.drained(),
      close: () => wire.end(),
      // Also what a handler above threw.
      error: (_socket, error) => failed(error),
      connectError: () => wire.end(),
    }
  }

  private takeHandshake(attempt: Attempt, { kind, payload }: Frame): void {
    attempt.isAnswered = true
    if (kind === 'hello') this.prove(attempt, payload)
    else if (kind === 'welcome' && attempt === this.chosen) this.enter(attempt, payload)
    else {
      const [reason, version] = payload
      this.tellOnce(attempt.candidate, 'the primary refused this worker', { reason, version, own: this.parts.version })
      attempt.wire.end()
    }
  }

  private prove(attempt: Attempt, hello: Payload): void {
    // The primary that it has, at another address, or an older one.
    if (this.chosen !== null && !(Number(hello[3]) > this.chosen.epoch)) {
      attempt.wire.end()
      return
    }
    // Another incarnation of the primary does not know this session.
    const isOther = this.session !== null && this.session.epoch !== hello[3]
    const received = (!isOther && this.session?.suspend()) || 0
    const session = this.sessionNumber + (isOther ? 1 : 0)
    const proved = attempt.handshake.prove(hello, { session, received })
    if (!proved.ok) {
      const own = this.parts.version
      const what = 'what listens there is not the primary of this worker, or does not know its credential'
      this.tellOnce(attempt.candidate, what, { ...proved.error, own })
      attempt.wire.end()
      return
    }
    if (isOther) this.endSession(true)
    attempt.epoch = this.highestEpoch = proved.value.epoch
    attempt.provedAt = this.now()
    this.chosen = attempt
    // They would not know of this epoch.
    for (const { attempt: other } of this.candidates) if (other !== attempt) other?.wire.end()
    attempt.wire.write(handshakeFrame('proof', proved.value.proof))
  }

  private enter(attempt: Attempt, [received, token, port]: Payload): void {
    const { candidate, epoch } = attempt
    if (typeof token !== 'string' || typeof port !== 'number') {
      attempt.wire.end()
      return
    }
    const isResumed = typeof received === 'number'
    const isReplaced = this.isReplaced && this.hasLease
    // The primary has given it up, so its calls are settled.
    if (!isResumed && !isReplaced) this.endSession()
    this.isReplaced = false
    this.session ??= this.begin(epoch)
    this.provedAt = attempt.provedAt
    this.target = { origin: passOnOrigin(candidate.address, port), token }
    if (!attempt.wire.attach(this.session, isResumed ? received : 0)) return
    candidate.pauseMs = 0
    candidate.told = ''
    for (const resolve of this.waiting) resolve()
    if (isReplaced) this.parts.onReplaced?.()
  }

  private begin(epoch: number): Session {
    const session: Session = new Session({
      side: 'worker',
      epoch,
      now: this.now,
      // A primary asks for nothing else.
      onFrame: ({ request, payload }) => void this.takePush(session, request, payload),
      onBreak: (reason) => reason !== 'closed' && this.parts.warn('the primary sent something unreadable', { reason }),
      onCutOff: (reason) => {
        this.parts.warn('the session with the primary ended', { reason })
        if (this.session === session) this.endSession()
      },
    })
    return session
  }

  private async takePush(session: Session, request: number, payload: Payload): Promise<void> {
    let answer: Payload = []
    try {
      await this.parts.onPush(payload)
      answer = [true]
    } catch (error) {
      this.parts.warn('a push of the primary could not be used', { reason: reasonOf(error) })
    }
    session.answer(request, answer)
  }

  private tellOnce(candidate: Candidate, message: string, fields: Readonly<Record<string, unknown>>): void {
    const line = message + JSON.stringify(fields)
    if (line === candidate.told) return
    candidate.told = line
    this.parts.warn(message, fields)
  }

  /** The connection ended, or there was none. */
  private lost(attempt: Attempt): void {
    const { candidate } = attempt
    if (attempt !== candidate.attempt) return
    candidate.attempt = null
    if (this.isLast) this.close()
    if (this.isClosed) return
    if (attempt === this.chosen) this.chosen = null
    // It let this worker in, and is gone: another may be there by now.
    if (this.chosen === null && candidate.pauseMs === 0)
      for (const other of this.candidates) if (other.pausing) this.connectAfter(other, FIRST_PAUSE_MS)
    const most = attempt.isAnswered ? MAX_PAUSE_MS : MAX_DIAL_PAUSE_MS
    candidate.pauseMs = Math.min(Math.max(FIRST_PAUSE_MS, 2 * candidate.pauseMs), most)
    this.connectAfter(candidate, candidate.pauseMs)
  }

  private connectAfter(candidate: Candidate, ms: number): void {
    if (candidate.pausing) clearTimeout(candidate.pausing)
    candidate.pausing = setTimeout(() => void this.connect(candidate), ms)
  }
}

/** One of the addresses. */
interface Candidate {
  readonly address: PrimaryAddress
  attempt: Attempt | null
  /** Until the next attempt. */
  pausing: ReturnType<typeof setTimeout> | null
  pauseMs: number
  /** The last line about it: it is not repeated. */
  told: string
}

/** A connection, or the attempt at one. */
interface Attempt {
  readonly candidate: Candidate
  readonly handshake: WorkerHandshake
  readonly wire: SocketWire
  /** Something listens there. */
  isAnswered: boolean
  /** Of the primary, once it is proved. */
  epoch: number
  provedAt: number
}
