import type { Clock } from '../../../core/clock'
import { type Failure, failure } from '../../../core/failure'
import type { ByteShare, BytesInProgress, FullScope } from '../../../core/limits/bytes-in-progress'
import { MIN_BYTES_PER_SECOND, Pace } from '../../../core/limits/pace'
import { err, ok, type Result } from '../../../core/result'

const PERIOD_MS = 10_000
/** A body of this length is at the minimum pace if it arrives within one period, so it can be read in one piece. */
const SHORT_BYTES = (MIN_BYTES_PER_SECOND * PERIOD_MS) / 1000
/** How often to check for bodies that have stalled. */
const CHECK_MS = 1000
/** So many are checked in one turn of the event loop. Bun answers and closes connections on one stack, which 2,300 of them overflow. */
const CHECKED_AT_ONCE = 64

/** The account or address that a body counts against. */
export type BodyOwner = `account ${string}` | `address ${string}`

/** A received body. Its memory stays reserved until `giveBack` is called. */
export interface TakenBody {
  /** In order of arrival. */
  readonly chunks: readonly Uint8Array<ArrayBuffer>[]
  readonly byteLength: number
  /** As its terms counted them. */
  readonly parts: number | null
  giveBack(): void
}

type Taking = Result<TakenBody, Failure>

/** The limits of a body, and a check that runs while it arrives. */
export interface BodyTerms {
  readonly maxBytes: number
  /** Maximum total time. If absent, only the minimum speed applies. */
  readonly maxMs?: number | undefined
  /** The JSON parts in what was checked; absent or null if not all of it was counted. */
  readonly parts?: number | null
  /** Checks each chunk as it arrives; chunks are never empty. A failure ends the body. */
  check(chunk: Uint8Array): Failure | null
}

/** A request whose body can be read, and the owner it counts against. */
export interface BodySource {
  readonly request: Request
  readonly intake: Intake
  readonly bodyOwner: BodyOwner
}

/** Reads request bodies with limits on size and time. Their bytes count against their owner while they are in memory. */
export class Intake {
  private readonly room: BytesInProgress
  private readonly clock: Clock
  private readonly arriving = new Set<Arriving>()
  private timer: ReturnType<typeof setInterval> | null = null
  /** The current check of all; null between two. */
  private checking: Promise<void> | null = null

  /** `clock` must be monotonic: the time of day can be changed while a body arrives. */
  constructor(room: BytesInProgress, clock: Clock) {
    this.room = room
    this.clock = clock
  }

  /**
   * Reads a body to its end. After a failure nothing of it stays in memory and the rest is discarded instead of closing the
   * connection, because a client that is still sending would not see the response. Only connections that are too slow are closed.
   */
  take(request: Request, owner: BodyOwner, terms: BodyTerms): Taking | Promise<Taking> {
    const { headers } = request
    const announced = Number(headers.get('content-length') ?? 0)
    const encoding = encodingOf(headers)
    const isShort = announced > 0 && announced <= SHORT_BYTES && !headers.has('transfer-encoding') && encoding === null
    // Bun makes a stream of a body when `body` is read.
    const sent = isShort ? null : request.body
    const format = sent && encoding !== null ? UNPACKED[encoding] : null
    if (format === undefined) return err(isPacked(encoding ?? ''))
    const share = this.room.share(owner)
    if (announced > terms.maxBytes) return err(tooLarge(terms.maxBytes))
    // Nothing shows how much of a short body has arrived, so it counts from its beginning.
    const overfull = isShort ? share.take(announced) : share.lacks(announced)
    if (overfull) return err(noRoom(overfull, owner))
    const body = new Arriving(terms, share, owner, this, this.clock)
    if (!isShort && !sent) return ok(body)
    this.watch(body)
    return sent ? body.pieces(sent, format) : body.whole(request)
  }

  private watch(arriving: Arriving): void {
    this.arriving.add(arriving)
    if (!this.timer) this.checkAgainAndAgain()
  }

  private checkAgainAndAgain(): void {
    this.timer = setInterval(() => {
      this.checking ??= this.checkPaces().finally(() => {
        this.checking = null
      })
    }, CHECK_MS)
    this.timer.unref()
  }

  private async checkPaces(): Promise<void> {
    let checked = 0
    for (const one of this.arriving) {
      one.checkPace()
      if (++checked % CHECKED_AT_ONCE === 0) await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /** Idempotent. */
  unwatch(arriving: Arriving): void {
    this.arriving.delete(arriving)
    if (this.arriving.size > 0 || !this.timer) return
    clearInterval(this.timer)
    this.timer = null
  }
}

export function takeBody({ request, intake, bodyOwner }: BodySource, terms: BodyTerms): Taking | Promise<Taking> {
  return intake.take(request, bodyOwner, terms)
}

class Arriving implements TakenBody {
  readonly chunks: Uint8Array<ArrayBuffer>[] = []
  byteLength = 0
  private readonly terms: BodyTerms
  private readonly share: ByteShare
  private readonly owner: BodyOwner
  private readonly intake: Intake
  private readonly clock: Clock
  private readonly start: number
  private readonly pace: Pace
  private isPacked = false
  private packedBytes = 0
  private problem: Failure | null = null
  /** Stops the reading, which then sees the problem. */
  private stop: () => void = NOTHING_TO_STOP

  constructor(terms: BodyTerms, share: ByteShare, owner: BodyOwner, intake: Intake, clock: Clock) {
    this.terms = terms
    this.share = share
    this.owner = owner
    this.intake = intake
    this.clock = clock
    this.start = clock.now()
    this.pace = new Pace(PERIOD_MS, this.start)
  }

  get parts(): number | null {
    return this.terms.parts ?? null
  }

  giveBack(): void {
    this.share.giveBack()
  }

  /** Reads a short body in one piece. */
  whole(request: Request): Promise<Taking> {
    return new Promise((resolve, reject) => {
      this.stop = () => resolve(this.ended(this.problem ?? this.cut()))
      request.bytes().then((bytes) => {
        try {
          resolve(this.ended(this.problem ?? this.took(bytes)))
        } catch (fault) {
          this.ended(this.cut())
          reject(fault)
        }
      }, this.stop)
    })
  }

  /** Nothing of a body with a problem stays in memory. */
  private ended(problem: Failure | null): Taking {
    this.intake.unwatch(this)
    if (!problem) return ok(this)
    this.giveBack()
    return err(problem)
  }

  private took(bytes: Uint8Array<ArrayBuffer>): Failure | null {
    const problem = bytes.byteLength > 0 ? this.check(bytes) : null
    if (problem || bytes.byteLength === 0) return problem
    this.byteLength = bytes.byteLength
    this.chunks.push(bytes)
    return null
  }

  /** Reads a body as it arrives, unpacked if it has a `format`. */
  async pieces(
    sent: ReadableStream<Uint8Array<ArrayBuffer>>,
    format: CompressionFormat | 'zstd' | null,
  ): Promise<Taking> {
    try {
      return this.ended(await this.readPieces(sent, format))
    } finally {
      this.intake.unwatch(this)
    }
  }

  private async readPieces(
    sent: ReadableStream<Uint8Array<ArrayBuffer>>,
    format: CompressionFormat | 'zstd' | null,
  ): Promise<Failure | null> {
    this.isPacked = format !== null
    const reader = (format ? unpacked(sent, format, this) : sent).getReader()
    // Cancelling fails if the body has already ended. A pending read resolves as done.
    this.stop = () => reader.cancel().catch(() => undefined)
    try {
      for (;;) {
        const { done, value } = await reader.read()
        if (this.problem || done) return this.problem
        if (value.byteLength === 0) continue
        this.byteLength += value.byteLength
        const problem = this.takes(value.byteLength) ?? this.check(value)
        if (problem) {
          this.end(problem)
          return problem
        }
        this.chunks.push(value)
      }
    } catch {
      return this.problem ?? this.cut()
    }
  }

  private cut(): Failure {
    const cause = this.isPacked ? 'was cut off or is not what its Content-Encoding says' : 'was cut off'
    return failure('invalid_request', `The body ${cause}. Send the request again.`, { closes: true })
  }

  /** Counts what arrives of a packed body, which may unpack to nothing. False if that is more than any body may be. */
  takesPacked(chunk: Uint8Array): boolean {
    this.packedBytes += chunk.byteLength
    if (this.packedBytes > this.terms.maxBytes) this.end(tooLarge(this.terms.maxBytes))
    return this.problem === null
  }

  /** Ends a body that arrives too slowly or has stalled. */
  checkPace(): void {
    const now = this.clock.now()
    const { maxMs } = this.terms
    if (maxMs !== undefined && now - this.start > maxMs)
      this.end(tooSlow(`The body did not arrive within ${maxMs / 1000} seconds.`))
    else if (this.pace.isTooSlow(now))
      this.end(tooSlow(`The body arrived at less than ${MIN_BYTES_PER_SECOND} bytes per second.`))
  }

  private takes(bytes: number): Failure | null {
    const { maxBytes } = this.terms
    if (this.byteLength > maxBytes) return tooLarge(maxBytes)
    const overfull = this.share.take(bytes)
    return overfull && noRoom(overfull, this.owner)
  }

  private check(chunk: Uint8Array): Failure | null {
    this.pace.moved(chunk.byteLength)
    this.checkPace()
    return this.problem ?? this.terms.check(chunk)
  }

  private end(problem: Failure): void {
    this.problem ??= problem
    this.stop()
  }
}

const NOTHING_TO_STOP = () => undefined

/** The compression of a body; null if it has none. */
function encodingOf(headers: Headers): string | null {
  const encoding = headers.get('content-encoding')?.trim().toLowerCase() ?? ''
  return encoding === '' || encoding === 'identity' ? null : encoding
}

/** A few compressed kilobytes may unpack to gigabytes: they are unpacked in pieces, and what is unpacked counts. */
const UNPACKED: Readonly<Record<string, CompressionFormat | 'zstd'>> = { gzip: 'gzip', 'x-gzip': 'gzip', zstd: 'zstd' }

/** The body unpacked as it arrives, counted before that. */
function unpacked(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  format: CompressionFormat | 'zstd',
  arriving: Arriving,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const counted = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform: (chunk, to) => (arriving.takesPacked(chunk) ? to.enqueue(chunk) : to.terminate()),
  })
  // The type of Bun lacks zstd, which it has.
  return body.pipeThrough(counted).pipeThrough(new DecompressionStream(format as CompressionFormat))
}

function isPacked(encoding: string): Failure {
  const shown = encoding.replace(/[^\x20-\x7e]/g, '?').slice(0, 40)
  return failure(
    'unsupported_media_type',
    `The body is compressed (Content-Encoding: ${shown}), which the gateway does not read. Send it uncompressed, or with gzip or zstd.`,
  )
}

function tooLarge(maxBytes: number): Failure {
  return failure('payload_too_large', `The body is larger than the maximum of ${maxBytes} bytes.`)
}

function tooSlow(message: string): Failure {
  return failure('request_timeout', `${message} Send the request again.`, { closes: true })
}

function noRoom(overfull: FullScope, owner: BodyOwner): Failure {
  const wait = { retryAfterSeconds: 1 }
  if (overfull === 'all')
    return failure('service_unavailable', 'The gateway is receiving too many large requests at once. Try again.', wait)
  const limitSource = owner.startsWith('account ') ? 'account' : 'address'
  const message = `This ${limitSource} is uploading too much data at once. Wait until another request has finished, then try again.`
  return failure('rate_limit_exceeded', message, { ...wait, limitSource })
}
