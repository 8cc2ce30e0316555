import { MINUTE_MS, SECOND_MS } from '../../core/clock'
import { reasonOf } from '../../core/result'
import { type Frame, FrameDecoder, type Payload } from './frames'
import { HANDSHAKE_MS, handshakeFrame, PrimaryHandshake, type ProvedWorker, type Refusal } from './handshake'
import { ServedWorker, type Warn, type WorkerService } from './served-worker'
import type { Wire } from './session'

/** Connections that are not proved. */
const MAX_UNPROVED = 64
const LOOK_MS = SECOND_MS

/** Where workers connect. */
export interface WorkerListener {
  /** A unix socket, or an address with a certificate; without one only on this machine. */
  readonly at:
    | { readonly unix: string }
    | {
        readonly hostname: string
        readonly port: number
        readonly tls?: { readonly cert: string; readonly key: string }
      }
  /** The key of a credential that is good here; null for none. */
  readonly keyOf: (credential: string) => Uint8Array | null
  /** The port of the same machine where this process takes what they pass on. */
  readonly passOnPort: number
}

export interface WorkerServerParts {
  readonly listeners: readonly WorkerListener[]
  readonly version: string
  readonly epoch: number
  /** Begins to serve a session of a worker. `push` sends to this worker, as `WorkerServer.push` does to all. */
  readonly serve: (worker: ProvedWorker, push: (payload: Payload) => Promise<boolean>) => WorkerService
  /** A worker that cannot be reached was given up: its calls are settled, and its process is of no use. */
  readonly onLost?: (instance: string) => void
  readonly warn: Warn
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number
  readonly handshakeMs?: number
}

/** What a primary knows of a worker. */
export interface WorkerState {
  readonly name: string
  readonly instance: string
  readonly isConnected: boolean
  /** How long its session has lasted. */
  readonly sessionMs: number
  readonly openCalls: number
  /** Since something came from it; it beats each second. */
  readonly lagMs: number
}

type Socket = Bun.Socket<Arrival | null>

/**
 * Where a primary listens for its workers. Each proves that it has a credential; from then on its requests go to a service of its own. The
 * service ends with the worker: at once if its process is known to be dead or comes back without its session, otherwise once its lease is over.
 */
export class WorkerServer {
  private readonly parts: WorkerServerParts
  private readonly now: () => number
  /** By credential and process: one worker cannot take the place of another. */
  private readonly served = new Map<string, ServedWorker>()
  private readonly unproved = new Set<Arrival>()
  private readonly open: { stop(closeActive?: boolean): void }[] = []
  private timer: ReturnType<typeof setInterval> | null = null
  private sweptAt: number
  /** The last refusal in the log: who is refused tries again every few seconds. */
  private refused = ''

  constructor(parts: WorkerServerParts) {
    this.parts = parts
    this.now = parts.now ?? (() => performance.now())
    this.sweptAt = this.now()
  }

  /** Throws an error with the code EADDRINUSE if another process has a port. */
  listen(): void {
    for (const listener of this.parts.listeners) {
      const { at } = listener
      const socket: Bun.SocketHandler<Arrival | null> = {
        open: (socket) => this.arrived(socket, listener),
        data: ({ data }, chunk) => data?.receive(chunk),
        drain: ({ data }) => data?.drained(),
        close: ({ data }) => data?.closed(),
        // Also what a handler above threw.
        error: (socket, error) => this.failed(socket, error),
      }
      const options = { data: null, socket }
      this.open.push('unix' in at ? Bun.listen({ ...at, ...options }) : Bun.listen({ ...at, ...options }))
    }
    this.timer = setInterval(() => this.look(), LOOK_MS)
    this.timer.unref()
  }

  /** Sends to every worker. Resolves once each has taken it or was cut off, to whether all took it. Takes 2 s at most. */
  async push(payload: Payload): Promise<boolean> {
    const taken = await Promise.all([...this.served.values()].map((one) => one.push(payload)))
    return taken.every(Boolean)
  }

  /** This credential is no longer good: nothing more is taken of its workers. What they had open is settled once their lease is over. */
  remove(credential: string): void {
    for (const one of this.served.values())
      if (one.worker.credential === credential) one.cutOff('its credential was removed')
  }

  /** This process of a worker is dead. Its calls are settled when this resolves. */
  async gone(instance: string): Promise<void> {
    const dead = [...this.served].filter(([, { worker }]) => worker.instance === instance)
    await Promise.all(dead.map(([place, one]) => this.end(place, one)))
  }

  /** Whether this token is that of a worker's session. */
  isToken(token: string): boolean {
    return [...this.served.values()].some((one) => !one.isOver && one.token === token)
  }

  workers(): readonly WorkerState[] {
    return [...this.served.values()].map((one) => ({
      name: one.worker.credential,
      instance: one.worker.instance,
      isConnected: one.isConnected,
      sessionMs: this.now() - one.since,
      openCalls: one.openCalls,
      lagMs: one.lagMs,
    }))
  }

  /** Lets go of the port, and settles what is still open. Call it when the workers have ended. */
  async close(): Promise<void> {
    for (const listener of this.open.splice(0)) listener.stop(true)
    if (this.timer) clearInterval(this.timer)
    for (const arrival of this.unproved) arrival.giveUp()
    await Promise.all([...this.served].map(([place, one]) => this.end(place, one)))
  }

  private arrived(socket: Socket, { keyOf, passOnPort }: WorkerListener): void {
    if (this.unproved.size >= MAX_UNPROVED) {
      socket.terminate()
      this.parts.warn('too many connections of workers are not proved; another was ended')
      return
    }
    const { version, epoch, handshakeMs = HANDSHAKE_MS } = this.parts
    const arrival: Arrival = new Arrival({
      socket,
      version,
      handshake: new PrimaryHandshake({ version, epoch, keyOf }),
      handshakeMs,
      onProof: (worker) => this.enter(arrival, worker, passOnPort),
      onRefusal: (refusal) => this.tellRefusal(refusal),
      onEnd: () => this.unproved.delete(arrival),
    })
    socket.data = arrival
    this.unproved.add(arrival)
  }

  /** Once a minute, as long as it is the same. */
  private tellRefusal({ reason, version }: Refusal): void {
    const refused = `${reason} ${version}`
    if (refused === this.refused) return
    this.refused = refused
    this.parts.warn('a worker was refused', { reason, version, own: this.parts.version })
  }

  private failed(socket: Socket, error: Error): void {
    this.parts.warn('a connection of a worker failed', { reason: reasonOf(error) })
    socket.data?.giveUp()
    socket.data?.closed()
  }

  /** The worker is proved: goes on with its session, or begins one. */
  private enter(arrival: Arrival, worker: ProvedWorker, passOnPort: number): void {
    this.unproved.delete(arrival)
    const place = `${worker.credential} ${worker.instance}`
    const known = this.served.get(place)
    if (known?.resumes(worker)) {
      arrival.welcome([known.suspend(), known.token, passOnPort])
      arrival.attach(known, worker.received)
      return
    }
    // With another session the worker has given up the calls of this one.
    if (known) void this.end(place, known)
    const { epoch, warn, serve } = this.parts
    const served = new ServedWorker({ worker, epoch, now: this.now, warn, serve })
    this.served.set(place, served)
    arrival.welcome([null, served.token, passOnPort])
    arrival.attach(served, 0)
  }

  private end(place: string, one: ServedWorker): Promise<void> {
    if (this.served.get(place) === one) this.served.delete(place)
    return one.end()
  }

  private look(): void {
    const isMinute = this.now() - this.sweptAt >= MINUTE_MS
    if (isMinute) {
      this.sweptAt = this.now()
      this.refused = ''
    }
    for (const [place, one] of this.served)
      if (one.look(isMinute)) void this.end(place, one).then(() => this.parts.onLost?.(one.worker.instance))
  }
}

interface ArrivalParts {
  readonly socket: Socket
  /** Of this primary. */
  readonly version: string
  readonly handshake: PrimaryHandshake
  readonly handshakeMs: number
  readonly onProof: (worker: ProvedWorker) => void
  readonly onRefusal: (refusal: Refusal) => void
  /** It ended without a proof. */
  readonly onEnd: () => void
}

/** One connection: first its handshake, then what it brings to a session. */
class Arrival implements Wire {
  private readonly parts: ArrivalParts
  private readonly decoder: FrameDecoder
  private readonly deadline: ReturnType<typeof setTimeout>
  private served: ServedWorker | null = null
  private isGreeted = false

  constructor(parts: ArrivalParts) {
    this.parts = parts
    this.decoder = new FrameDecoder((frame) => this.prove(frame))
    this.deadline = setTimeout(() => this.giveUp(), parts.handshakeMs)
  }

  write(bytes: Uint8Array): number {
    return this.parts.socket.write(bytes)
  }

  end(): void {
    this.parts.socket.terminate()
  }

  receive(chunk: Uint8Array): void {
    if (this.served) this.served.receive(this, chunk)
    else if (this.decoder.push(chunk) !== null) this.giveUp()
  }

  drained(): void {
    this.served?.drained(this)
  }

  closed(): void {
    clearTimeout(this.deadline)
    this.parts.onEnd()
    this.served?.closed(this)
  }

  giveUp(): void {
    clearTimeout(this.deadline)
    this.parts.onEnd()
    this.end()
  }

  welcome(payload: Payload): void {
    clearTimeout(this.deadline)
    this.write(handshakeFrame('welcome', payload))
  }

  attach(served: ServedWorker, received: number): void {
    if (served.attach(this, this.decoder, received)) this.served = served
    else this.end()
  }

  private prove({ kind, payload }: Frame): void {
    const { handshake, onProof } = this.parts
    if (kind === 'hello' && !this.isGreeted) {
      this.isGreeted = true
      const greeting = handshake.greet(payload)
      if (greeting.ok) this.write(handshakeFrame('hello', greeting.value))
      else this.refuse(greeting.error)
    } else if (kind === 'proof') {
      const proved = handshake.verify(payload)
      if (proved.ok) onProof(proved.value)
      else this.refuse(proved.error)
    } else this.refuse({ reason: 'malformed', version: null })
  }

  private refuse(refusal: Refusal): void {
    this.write(handshakeFrame('refusal', [refusal.reason, this.parts.version]))
    this.parts.onRefusal(refusal)
    clearTimeout(this.deadline)
    this.parts.onEnd()
    this.parts.socket.end()
  }
}
