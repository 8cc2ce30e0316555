import type { Clock } from '../../core/clock'
import { type Failure, failure } from '../../core/failure'
import type { ByteShare, BytesUnderWay, Overfull } from '../../core/limits/bytes-under-way'
import { err, ok, type Result } from '../../core/result'

/** A body must bring so much in a second, on the average of a period (spec-answers 9). */
const LEAST_BYTES_PER_SECOND = 4 * 1024
const PERIOD_MS = 10_000
/** How often those are looked for that bring nothing at all. */
const LOOK_MS = 1000

/** Whose bodies count together. */
export type BodyOwner = `account ${string}` | `address ${string}`

/** A body as it came, and its bytes' room, which is to be given back once nobody holds them any more. */
export interface TakenBody {
  /** In the order they came. */
  readonly chunks: readonly Uint8Array<ArrayBuffer>[]
  readonly byteLength: number
  giveBack(): void
}

/** What may come, and who looks at it on its way. */
export interface BodyTerms {
  readonly mostBytes: number
  /** Null: however long, as long as it keeps its pace. */
  readonly mostMs?: number
  /** Judges each part as it comes, which is never empty. A failure ends the body. */
  judge(chunk: Uint8Array): Failure | null
}

/** A request whose body may be read, and whom it counts on. */
export interface BodySource {
  readonly request: Request
  readonly intake: Intake
  readonly bodyOwner: BodyOwner
}

/** Takes bodies in: bounded in bytes and time, counted on their owner while they are held. */
export class Intake {
  private readonly room: BytesUnderWay
  private readonly clock: Clock
  private readonly coming = new Set<Arriving>()
  private look: ReturnType<typeof setInterval> | null = null

  /** `clock` counts time that passes; the time of day may be set while a body is under way. */
  constructor(room: BytesUnderWay, clock: Clock) {
    this.room = room
    this.clock = clock
  }

  /**
   * Reads a body to its end. On a failure nothing of it is held, and what still comes is thrown away: a connection that ended with the
   * answer would take the answer from a sender who is still sending. Only who sends too slowly is hung up on.
   */
  async take(request: Request, owner: BodyOwner, terms: BodyTerms): Promise<Result<TakenBody, Failure>> {
    const { body } = request
    const share = this.room.share(owner)
    const announced = Number(request.headers.get('content-length') ?? 0)
    if (announced > terms.mostBytes) return err(tooLarge(terms.mostBytes))
    const overfull = share.lacks(announced)
    if (overfull) return err(noRoom(overfull, owner))
    if (!body) return ok({ chunks: [], byteLength: 0, giveBack: share.giveBack })
    const arriving = new Arriving(body, { terms, share, owner }, this.clock)
    this.watch(arriving)
    try {
      const whole = await arriving.whole()
      if (!whole.ok) share.giveBack()
      return whole.ok ? ok({ ...whole.value, giveBack: share.giveBack }) : whole
    } finally {
      this.unwatch(arriving)
    }
  }

  private watch(arriving: Arriving): void {
    this.coming.add(arriving)
    this.look ??= setInterval(() => {
      for (const one of this.coming) one.judgePace()
    }, LOOK_MS)
    this.look.unref()
  }

  private unwatch(arriving: Arriving): void {
    this.coming.delete(arriving)
    if (this.coming.size > 0 || !this.look) return
    clearInterval(this.look)
    this.look = null
  }
}

/** Reads the body of a request, counted on its owner. */
export function takeBody(
  { request, intake, bodyOwner }: BodySource,
  terms: BodyTerms,
): Promise<Result<TakenBody, Failure>> {
  return intake.take(request, bodyOwner, terms)
}

/** One body on its way in. */
class Arriving {
  private readonly reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>
  private readonly terms: BodyTerms
  private readonly share: ByteShare
  private readonly owner: BodyOwner
  private readonly clock: Clock
  private readonly begun: number
  private periodBegun: number
  private inPeriod = 0
  private problem: Failure | null = null

  constructor(
    body: ReadableStream<Uint8Array<ArrayBuffer>>,
    { terms, share, owner }: { terms: BodyTerms; share: ByteShare; owner: BodyOwner },
    clock: Clock,
  ) {
    this.reader = body.getReader()
    this.terms = terms
    this.share = share
    this.owner = owner
    this.clock = clock
    this.begun = clock.now()
    this.periodBegun = this.begun
  }

  async whole(): Promise<Result<Omit<TakenBody, 'giveBack'>, Failure>> {
    const chunks: Uint8Array<ArrayBuffer>[] = []
    let length = 0
    try {
      for (;;) {
        const { done, value } = await this.reader.read()
        if (this.problem) return err(this.problem)
        if (done) return ok({ chunks, byteLength: length })
        if (value.byteLength === 0) continue
        length += value.byteLength
        const problem = this.judged(value, length)
        if (problem) {
          this.end(problem)
          return err(problem)
        }
        chunks.push(value)
      }
    } catch {
      return err(this.problem ?? failure('invalid_request', 'The body ended early.', { closes: true }))
    }
  }

  /** Ends a body that comes too slowly, also while nothing of it comes. */
  judgePace(): void {
    const now = this.clock.now()
    const { mostMs } = this.terms
    const elapsed = now - this.periodBegun
    if (mostMs !== undefined && now - this.begun > mostMs)
      this.end(tooSlow(`The body did not come to its end within ${mostMs / 1000} seconds.`))
    else if (elapsed < PERIOD_MS) return
    else if (this.inPeriod < (LEAST_BYTES_PER_SECOND * elapsed) / 1000)
      this.end(tooSlow(`The body came with less than ${LEAST_BYTES_PER_SECOND} bytes a second.`))
    this.periodBegun = now
    this.inPeriod = 0
  }

  private judged(chunk: Uint8Array, length: number): Failure | null {
    const { mostBytes } = this.terms
    if (length > mostBytes) return tooLarge(mostBytes)
    const overfull = this.share.take(chunk.byteLength)
    if (overfull) return noRoom(overfull, this.owner)
    this.inPeriod += chunk.byteLength
    this.judgePace()
    return this.problem ?? this.terms.judge(chunk)
  }

  private end(problem: Failure): void {
    this.problem ??= problem
    // It may have ended by itself; a read that waits is told that it is over.
    this.reader.cancel().catch(() => undefined)
  }
}

function tooLarge(most: number): Failure {
  return failure('payload_too_large', `The body may have at most ${most} bytes.`)
}

function tooSlow(message: string): Failure {
  return failure('request_timeout', `${message} Send it again.`, { closes: true })
}

function noRoom(overfull: Overfull, owner: BodyOwner): Failure {
  const wait = { retryAfterSeconds: 1 }
  if (overfull === 'all')
    return failure('service_unavailable', 'The gateway is receiving too many large requests at once. Try again.', wait)
  const limitSource = owner.startsWith('account ') ? 'account' : 'address'
  const message = `This ${limitSource} is uploading too much data at once. Wait for a call to finish, then try again.`
  return failure('rate_limit_exceeded', message, { ...wait, limitSource })
}
