import { MINUTE_MS, SECOND_MS } from '../../core/clock'
import { reasonOf } from '../../core/result'
import type { Frame, Payload } from './frames'
import { HANDSHAKE_MS, handshakeFrame, PrimaryHandshake, type ProvedWorker, type Refusal } from './handshake'
import { ServedWorker, type Warn, type WorkerService } from './served-worker'
import { SocketWire } from './socket-wire'

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

/** A connection's handshake, and where its worker passes on. */
interface Proving extends Pick<WorkerListener, 'passOnPort'> {
  readonly handshake: PrimaryHandshake
}

type Socket = Bun.Socket<SocketWire | null>

/**
 * Where a primary listens for its workers. Each proves that it has a credential; from then on its requests go to a service of its own. The
 * service ends with the worker: at once if its process is known to be dead or comes back without its session, otherwise once its lease is over.
 */
export class WorkerServer {
  private readonly parts: WorkerServerParts
  private readonly now: () => number
  /** By credential and process: one worker cannot take the place of another. */
  private readonly served = new Map<string, ServedWorker>()
  private readonly unproved = new Set<SocketWire>()
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
      const socket: Bun.SocketHandler<SocketWire | null> = {
        open: (socket) => this.arrived(socket, listener),
        data: ({ data }, chunk) => data?.receive(chunk),
        drain: ({ data }) => data?.drained(),
        close: ({ data }) => data?.end(),
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

  /** Takes nothing more of this credential's sessions. What they had open is settled once their lease is over, or when they come back. */
  cutOff(credential: string, reason: string): void {
    for (const one of this.served.values()) if (one.worker.credential === credential) one.session.cutOff(reason)
  }

  /** This process of a worker is dead. Its calls are settled when this resolves. */
  async gone(instance: string): Promise<void> {
    const dead = [...this.served].filter(([, { worker }]) => worker.instance === instance)
    await Promise.all(dead.map(([place, one]) => this.end(place, one)))
  }

  /** Whether this token is that of a worker's session. */
  isToken(token: string): boolean {
    return [...this.served.values()].some((one) => !one.session.isOver && one.token === token)
  }

  workers(): readonly WorkerState[] {
    return [...this.served.values()].map((one) => ({
      name: one.worker.credential,
      instance: one.worker.instance,
      isConnected: one.session.isAttached,
      sessionMs: this.now() - one.since,
      openCalls: one.openCalls,
      lagMs: one.lagMs,
    }))
  }

  /** Lets go of the port, and settles what is still open. Call it when the workers have ended. */
  async close(): Promise<void> {
    for (const listener of this.open.splice(0)) listener.stop(true)
    if (this.timer) clearInterval(this.timer)
    for (const wire of this.unproved) wire.end()
    await Promise.all([...this.served].map(([place, one]) => this.end(place, one)))
  }

  private arrived(socket: Socket, { keyOf, passOnPort }: WorkerListener): void {
    if (this.unproved.size >= MAX_UNPROVED) {
      socket.terminate()
      this.parts.warn('too many connections of workers are not proved; another was ended')
      return
    }
    const { version, epoch, handshakeMs = HANDSHAKE_MS } = this.parts
    const handshake = new PrimaryHandshake({ version, epoch, keyOf })
    const wire: SocketWire = new SocketWire({
      handshakeMs,
      onHandshake: (frame) => this.prove(wire, { handshake, passOnPort }, frame),
      onEnd: () => this.unproved.delete(wire),
    })
    wire.socket = socket
    socket.data = wire
    this.unproved.add(wire)
  }

  private prove(wire: SocketWire, { handshake, passOnPort }: Proving, { kind, payload }: Frame): void {
    // Of the rest of a chunk.
    if (wire.isOver) return
    if (kind === 'hello') {
      const greeting = handshake.greet(payload)
      if (greeting.ok) wire.write(handshakeFrame('hello', greeting.value))
      else this.refuse(wire, greeting.error)
    } else if (kind === 'proof') {
      const proved = handshake.verify(payload)
      if (proved.ok) this.enter(wire, proved.value, passOnPort)
      else this.refuse(wire, proved.error)
    } else this.refuse(wire, { reason: 'malformed', version: null })
  }

  private refuse(wire: SocketWire, refusal: Refusal): void {
    wire.end(handshakeFrame('refusal', [refusal.reason, this.parts.version]))
    this.tellRefusal(refusal)
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
    socket.data?.end()
  }

  /** The worker is proved: goes on with its session, or begins one. */
  private enter(wire: SocketWire, worker: ProvedWorker, passOnPort: number): void {
    this.unproved.delete(wire)
    const place = `${worker.credential} ${worker.instance}`
    const known = this.served.get(place)
    const resumed = known?.resumes(worker) ? known : null
    // With another session the worker has given up the calls of this one.
    if (known && !resumed) void this.end(place, known)
    const { epoch, warn, serve } = this.parts
    const served = resumed ?? new ServedWorker({ worker, epoch, now: this.now, warn, serve })
    this.served.set(place, served)
    const received = served.session.suspend()
    wire.write(handshakeFrame('welcome', [resumed ? received : null, served.token, passOnPort]))
    wire.attach(served.session, resumed ? worker.received : 0)
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
