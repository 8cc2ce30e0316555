import { boundedBytes } from '../../core/bounded-bytes'
import type { Shares } from '../../core/limits/shares'
import type { ModelUpstream } from '../../core/models/model'
import { declaredLength } from '../../core/outbound/outbound-fetch'
import type { UpstreamFailure } from '../../core/providers/provider'
import { err, ok, type Result } from '../../core/result'
import type { Telemetry } from '../../core/telemetry/telemetry'
import { isSourceFault } from '../../core/telemetry/upstream-health'
import type { BackendAnswer, BackendCall } from '../../pipeline/models/model-backend'
import { type UpstreamWire, wireAt } from '../../pipeline/models/wires/model-wire'
import type { StreamGuard } from '../../pipeline/models/wires/stream-bounds'
import type { Breaker } from './breaker'
import type { FirstByteTime } from './first-byte-time'
import { codeOf, type VendorRefusal, WRONG_BODY } from './vendor'

/** One model at an upstream: the same for all of its calls. */
export interface Place {
  readonly upstream: ModelUpstream
  /** The server and key, whose slots its models share. */
  readonly server: string
  /** The model there, which has a breaker of its own. */
  readonly part: string
  readonly breaker: Breaker
  readonly firstByte: FirstByteTime
}

export interface AttemptParts {
  readonly slots: Shares
  readonly onTrouble: (upstream: string, reason: string) => void
  readonly telemetry: Pick<Telemetry, 'upstreamEnded'>
}

/** One call of an upstream that has a slot there, from its request to the end of its answer. Ends once, however it goes. */
export class Attempt implements BackendAnswer, EventListenerObject {
  readonly call: BackendCall
  readonly place: Place
  readonly position: number
  readonly upstream: string
  readonly kind: BackendAnswer['kind']
  readonly wire: UpstreamWire
  readonly idleMs: number
  readonly drainMs: number
  /** Set once its headers have arrived. */
  contentType = ''
  guard?: StreamGuard
  /** Whether it ran out of time, rather than being stopped. */
  isLate = false
  private readonly parts: AttemptParts
  private readonly stop: AbortSignal
  private readonly abort = new AbortController()
  private readonly startedAt = performance.now()
  private response: Response | null = null
  private stream: ReadableStream<Uint8Array> | null = null
  private timer: ReturnType<typeof setTimeout> | undefined
  private isOpen = true
  private isReported = false

  /** `stop` ends it at once, even after its headers. */
  constructor(parts: AttemptParts, call: BackendCall, place: Place, position: number, stop: AbortSignal) {
    this.parts = parts
    this.call = call
    this.place = place
    this.position = position
    this.upstream = place.server
    this.kind = place.upstream.kind
    this.wire = wireAt(place.upstream, call.wire)
    this.idleMs = place.upstream.idleMs
    this.drainMs = place.upstream.firstByteMs
    this.stop = stop
    stop.addEventListener('abort', this, { once: true })
  }

  /** Only Gemini names it there. */
  get tier(): string | null {
    return this.response?.headers.get('x-gemini-service-tier') ?? null
  }

  get signal(): AbortSignal {
    return this.abort.signal
  }

  get body(): ReadableStream<Uint8Array> {
    const body = this.stream ?? this.response?.body
    if (!body) throw new Error('an answer without a body is no stream')
    return body
  }

  handleEvent(): void {
    this.abort.abort()
  }

  /** Gives it as long as a first byte may take from now on. */
  startTimer(): void {
    if (this.timer) this.timer.refresh()
    else this.timer = setTimeout(endLate, this.drainMs, this)
  }

  endLate(): void {
    this.isLate = true
    this.abort.abort()
  }

  /** The upstream answers. A stream counts as an answer from its beginning on, a plain one once its body was read. */
  answered(contentType: string, response: Response, stream: ReadableStream<Uint8Array> | null = null): void {
    this.contentType = contentType
    this.response = response
    this.stream = stream
    this.place.firstByte.measured(performance.now() - this.startedAt, this.call.request.stream)
    if (!this.call.request.stream) return
    clearTimeout(this.timer)
    this.report(null, false)
  }

  async bytes(maxBytes: number): Promise<Result<Uint8Array<ArrayBuffer>, UpstreamFailure>> {
    const { response } = this
    if (response === null) throw new Error('an answer has not arrived')
    this.startTimer()
    try {
      const length = declaredLength(response.headers)
      if (length !== null && length > maxBytes) return err(TOO_LARGE)
      // Bun reads a body of a known length at once, without the pieces of a loop.
      const bytes = await (length === null ? boundedBytes(response.body, maxBytes) : response.bytes())
      return bytes ? ok(bytes) : err(TOO_LARGE)
    } catch (error) {
      return err(this.isLate ? LATE : { kind: 'error', reason: codeOf(error) })
    }
  }

  close(whole?: 'answer' | 'no answer'): void {
    this.end(whole === 'no answer' ? WRONG_BODY : null, whole !== undefined)
  }

  /** Gives the slot back and reports the call. `isWhole`: nothing of the answer is left to be read. */
  end(refused: VendorRefusal | null, isWhole = false): void {
    if (!this.isOpen) return
    this.isOpen = false
    clearTimeout(this.timer)
    const { parts, place, call, stop } = this
    stop.removeEventListener('abort', this)
    parts.slots.giveBack(place.server, call.account)
    place.breaker.leave()
    const isStopped = stop.aborted
    if (!isWhole) this.abort.abort()
    this.report(refused, isStopped)
  }

  /** Reports the request, once. `isStopped`: this process stopped it, so a failure says nothing. */
  private report(refused: VendorRefusal | null, isStopped: boolean): void {
    if (this.isReported) return
    this.isReported = true
    const { telemetry, onTrouble } = this.parts
    const { server, part, breaker } = this.place
    const { account } = this.call
    const ms = performance.now() - this.startedAt
    if (refused === null) {
      telemetry.upstreamEnded(server, ms, null, null, part)
      if (isStopped) breaker.undecided(account)
      else breaker.succeeded(account)
      return
    }
    const { failure, isFault, isUnreachable = false } = refused
    if (failure.kind === 'timeout' && !isStopped) this.place.firstByte.ranOut(ms, this.call.request.stream)
    const fault = isStopped ? null : { caller: account, isUnreachable }
    telemetry.upstreamEnded(server, ms, failure.kind, isSourceFault(failure) ? fault : null, part)
    if (refused.said) breaker.refused(refused.said)
    if (fault && isFault) breaker.failed(fault)
    else breaker.undecided(account)
    if (!isStopped) onTrouble(server, failure.reason)
  }
}

function endLate(attempt: Attempt): void {
  attempt.endLate()
}

const TOO_LARGE: UpstreamFailure = { kind: 'error', reason: 'the answer is too large' }
const LATE: UpstreamFailure = { kind: 'timeout', reason: 'the answer did not end in time' }
