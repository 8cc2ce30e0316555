import { randomBytes } from 'node:crypto'
import { SECOND_MS } from '../../core/clock'
import { reasonOf } from '../../core/result'
import type { Frame, Payload } from './frames'
import type { ProvedWorker } from './handshake'
import { SETTLE_AFTER_MS, Session } from './session'

/** What a primary does for one session of a worker. */
export interface WorkerService {
  /** Calls that are open. */
  readonly count: number
  /** Answers a request. An error is sent as an empty answer. */
  answer(kind: string, payload: Payload): Payload | Promise<Payload>
  /** Takes what needs no answer. */
  take(kind: string, payload: Payload): void
  /** Forgets what the worker forgot. Called each minute. */
  sweep(): void
  /** The worker acts for none of its callers any more: settles their calls. Called once. */
  end(): Promise<void>
}

/** Writes a line to the log. */
export type Warn = (message: string, fields?: Readonly<Record<string, unknown>>) => void

/** A worker that says nothing for so long is taken for hung. It beats each second. */
const SILENT_MS = 5 * SECOND_MS
const PUSH_MS = 2 * SECOND_MS

interface ServedWorkerParts {
  readonly worker: ProvedWorker
  readonly epoch: number
  readonly now: () => number
  readonly warn: Warn
  readonly serve: (worker: ProvedWorker, push: (payload: Payload) => Promise<boolean>) => WorkerService
}

/** One session of a worker, as its primary has it: over one connection after another, until it ends. */
export class ServedWorker {
  readonly worker: ProvedWorker
  /** Proves that a request which the worker passes on comes from it. */
  readonly token = randomBytes(24).toString('base64url')
  /** When it began, by the clock of `now`. */
  readonly since: number
  readonly session: Session
  private readonly parts: ServedWorkerParts
  private readonly service: WorkerService
  private ending: Promise<void> | null = null

  constructor(parts: ServedWorkerParts) {
    const { worker, epoch, now } = parts
    this.worker = worker
    this.parts = parts
    this.since = now()
    this.session = new Session({
      side: 'primary',
      epoch,
      now,
      onFrame: (frame) => this.take(frame),
      onBreak: (reason) => reason !== 'closed' && this.warn('sent something unreadable', { reason }),
      // Its calls are settled once its lease is over, or when it comes back.
      onCutOff: (reason) => this.warn('was cut off', { reason }),
    })
    this.service = parts.serve(worker, (payload) => this.push(payload))
  }

  get openCalls(): number {
    return this.service.count
  }

  /** Milliseconds since something came from it. */
  get lagMs(): number {
    return this.parts.now() - this.session.heardAt
  }

  /** Whether a connection with this resumption goes on with this session. */
  resumes({ session }: ProvedWorker): boolean {
    return !this.session.isOver && session === this.worker.session
  }

  /** Resolves to whether the worker took it. One that does not within 2 s, or refuses, is cut off: it would go on with what it had. */
  push(payload: Payload): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const late = setTimeout(() => this.session.cutOff('it did not take a push in time'), PUSH_MS)
    this.session.ask('push', payload, (answer) => {
      clearTimeout(late)
      if (answer?.length === 0) this.session.cutOff('it could not use a push')
      resolve(answer !== null && answer.length > 0)
    })
    return promise
  }

  /** Looks after its connection and calls. Returns whether its lease is over for certain, so that it must be ended. */
  look(isMinute: boolean): boolean {
    if (isMinute) this.service.sweep()
    const { session } = this
    if (session.isAttached && this.lagMs > SILENT_MS) {
      session.suspend()
      this.warn('does not answer', { silentMs: Math.round(this.lagMs) })
    }
    return !session.isAttached && this.parts.now() > session.sentAt + SETTLE_AFTER_MS
  }

  /** Ends the session, and settles its calls. Call it only when the worker's lease is over. */
  end(): Promise<void> {
    this.session.end()
    this.ending ??= this.service.end().catch((error: unknown) => {
      this.warn('left calls that could not be settled', { reason: reasonOf(error) })
    })
    return this.ending
  }

  private take({ kind, request, payload }: Frame): void {
    try {
      if (request === 0) {
        this.service.take(kind, payload)
        return
      }
      const answer = this.service.answer(kind, payload)
      if (answer instanceof Promise) void this.answerLater(kind, request, answer)
      else this.session.answer(request, answer)
    } catch (error) {
      this.failed(kind, request, error)
    }
  }

  private async answerLater(kind: string, request: number, answer: Promise<Payload>): Promise<void> {
    try {
      this.session.answer(request, await answer)
    } catch (error) {
      this.failed(kind, request, error)
    }
  }

  private failed(kind: string, request: number, error: unknown): void {
    const what = request > 0 ? 'asked for something that failed' : 'said something that could not be used'
    this.warn(what, { kind, reason: reasonOf(error) })
    this.session.answer(request, [])
  }

  private warn(what: string, fields: Readonly<Record<string, unknown>>): void {
    this.parts.warn(`worker ${this.worker.credential} ${what}`, fields)
  }
}
