import type { Clock } from '../core/clock'
import { type Failure, failure } from '../core/failure'
import { SHUTTING_DOWN } from './call-upstream'
import { type Ending, GivenBytes } from './idempotency/idempotency'
import type { Charge, EndCode, OpenCall } from './work'

/** So many bytes that are charged for after the last time is written down as what a start would charge: some two thousand tokens. */
const WRITTEN_DOWN_BYTES = 8192
/** What an upstream had sent when its caller hung up is still read, for so long, before it is told to stop. */
const LAST_READS_MS = 100

/** Why reading stopped before the upstream's own end. */
type Stopped = 'told_to' | 'late' | 'silent' | 'shutdown'

export interface StreamDeps {
  readonly clock: Clock
  /** The caller of a stream that lasts longer is told so, and goes: the stream is as one whose caller hung up. */
  readonly longestStreamMs: number
  readonly onTrouble: (upstream: string, reason: string) => void
}

/** A success of an upstream, whose headers are there and whose body comes. */
export interface UpstreamStream {
  /** Which upstream it is, for the log. */
  readonly upstream: string
  readonly contentType: string
  readonly body: ReadableStream<Uint8Array>
  /** Longest silence within the body. */
  readonly idleMs: number
  /** Longest that it goes on once its caller is gone. */
  readonly drainMs: number
  /** Gives the upstream's place back, and cancels what still comes. Free to repeat. */
  close(): void
}

/** Follows a stream. */
export interface Meter {
  /** What may be sent on. The end that the stream has by itself is kept back until the charge is durable. */
  push(chunk: Uint8Array): Uint8Array
  /** The upstream's body has ended: what is left of it, without its end. */
  close(): Uint8Array
  /** The end that was kept back. */
  readonly ending: Uint8Array
  /** Whether the stream came to its own end. */
  readonly isComplete: boolean
  /** Whether the upstream told of a failure in the stream. */
  readonly hasFailed: boolean
}

/** How a stream ended. */
export interface StreamEnd {
  /** It came to its own end. */
  readonly isWhole: boolean
  /** Nobody listened at its end. */
  readonly isGone: boolean
  /** It was stopped because its caller left: nothing was made that did not come. */
  readonly wasStopped: boolean
  readonly code: EndCode
}

/** What a stream is sold by. */
export interface StreamSale {
  readonly meter: Meter
  /** Bytes that went through and are charged for, so far. */
  readonly chargedBytes: number
  /** Whether anything came that is charged for. */
  readonly hasBegun: boolean
  /** Whether its upstream is stopped when the caller leaves, and so stops to cost: `soon`, once what it had sent is read. */
  readonly stopsWithCaller: 'at once' | 'soon' | null
  /** What it is charged if this process dies now; null for what costs nothing. */
  lost(): Charge | null
  /** What it is charged at its end. */
  charge(end: StreamEnd): Charge | Promise<Charge>
  /** A failure, as the last event of the stream. */
  errorEvent(problem: Failure): Uint8Array
}

/**
 * An upstream's stream on its way to the caller: metered, and charged before its end is sent, so that who sees the end has a
 * durable charge (spec-answers 4). However it ends, it is charged or released once, and its place and its hold are given back:
 * - it comes to its end: what the upstream counted, or an estimate of what went through;
 * - the caller hangs up: it goes on without, nothing is kept of it, and it is charged for its end, whichever that is. Only an upstream
 *   that stops billing, or that costs nothing, is stopped, and charged for what it had sent;
 * - it breaks while the caller listens, by whosever fault: nothing. After the caller has left: what the sale says.
 */
export function settledStream(
  deps: StreamDeps,
  open: OpenCall,
  source: UpstreamStream,
  sale: StreamSale,
): ReadableStream<Uint8Array> {
  const stream = new SettledStream(deps, open, source, sale)
  return new ReadableStream<Uint8Array>({
    start: (controller) => stream.begin(controller),
    pull: () => stream.pull(),
    cancel: () => stream.callerGone(),
  })
}

class SettledStream {
  private readonly deps: StreamDeps
  private readonly open: OpenCall
  private readonly source: UpstreamStream
  private readonly sale: StreamSale
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>
  private readonly onGone = () => this.callerGone()
  private readonly onShutdown = () => this.stop('shutdown')
  private caller: ReadableStreamDefaultController<Uint8Array> | null = null
  private isGone = false
  /** The caller left it unread for longer than the upstream may be silent: nobody was listening when it broke. */
  private wasLeftUnread = false
  private gaveAt: number
  private stopped: Stopped | null = null
  private isEnding = false
  /** Ends it: a stream that lasts too long, and then what goes on without its caller. */
  private deadline: ReturnType<typeof setTimeout>
  private watchdog: ReturnType<typeof setTimeout>
  private writtenDown = 0
  /** When the read that is under way began; null while none is. */
  private waitingSince: number | null = null
  /** What the caller is given, for its `Idempotency-Key`; null without one. */
  private readonly given: GivenBytes | null
  /** The read for the caller that is under way. */
  private pulling: Promise<void> = Promise.resolve()
  /** Set when it goes on by itself. */
  private goingOn: Promise<void> | null = null

  constructor(deps: StreamDeps, open: OpenCall, source: UpstreamStream, sale: StreamSale) {
    this.deps = deps
    this.open = open
    this.source = source
    this.sale = sale
    this.reader = source.body.getReader()
    this.given = open.hasKey ? new GivenBytes() : null
    this.gaveAt = deps.clock.now()
    this.deadline = setTimeout(() => this.tooLong(), deps.longestStreamMs)
    this.watchdog = setTimeout(() => this.watch(), source.idleMs)
    const { hangUp, shutdown } = open
    hangUp.addEventListener('abort', this.onGone, { once: true })
    shutdown.addEventListener('abort', this.onShutdown, { once: true })
    if (hangUp.aborted) this.onGone()
    if (shutdown.aborted) this.onShutdown()
  }

  begin(caller: ReadableStreamDefaultController<Uint8Array>): void {
    this.caller = caller
  }

  /** Gives the caller what comes next. */
  pull(): Promise<void> {
    if (this.goingOn !== null) return this.goingOn
    this.wasLeftUnread ||= this.deps.clock.now() - this.gaveAt > this.source.idleMs
    this.pulling = this.next().then((more) => {
      if (!more) this.closeCaller()
    })
    return this.pulling
  }

  /** From here on it goes on by itself, to its end or for as long as it may. Free to repeat. */
  callerGone(): void {
    if (this.isGone || this.isEnding) return
    this.isGone = true
    this.open.drain?.begin()
    clearTimeout(this.deadline)
    // One with an answer to keep goes on: its repeat asks for the whole of it.
    const stops = this.open.hasKey ? null : this.sale.stopsWithCaller
    const ms = stops === 'at once' ? 0 : stops ? LAST_READS_MS : this.source.drainMs
    this.deadline = setTimeout(() => this.stop(stops ? 'told_to' : 'late'), ms)
    this.goOn()
  }

  private goOn(): void {
    this.goingOn ??= this.pulling.then(async () => {
      while (!this.isEnding && (await this.next()));
      this.closeCaller()
    })
  }

  /** It lasted longer than any may: the caller is told, and then it is as one whose caller left. */
  private tooLong(): void {
    if (this.isEnding || this.isGone) return
    this.give(this.sale.errorEvent(failure('upstream_timeout', 'The response took longer than a stream may last.')))
    this.closeCaller()
    this.callerGone()
  }

  private stop(why: Stopped): void {
    if (this.isEnding) return
    this.stopped ??= why
    this.source.close()
    void this.reader.cancel().catch(() => undefined)
    this.goOn()
  }

  /** Gives what comes next. False: that was the end. */
  private async next(): Promise<boolean> {
    const { meter } = this.sale
    for (;;) {
      const next = this.stopped ? null : await this.read()
      if (this.stopped !== null || next === null) return this.finish(false)
      if (next === 'end') return this.finish(true)
      if (meter.isComplete && meter.ending.length > 0) return this.finish(true, next)
      this.writeDown()
      if (next.length === 0) continue
      this.given?.push(next)
      this.give(next)
      return true
    }
  }

  private give(bytes: Uint8Array): void {
    if (this.isGone || bytes.length === 0) return
    this.gaveAt = this.deps.clock.now()
    try {
      this.caller?.enqueue(bytes)
    } catch {
      // The caller has closed it, and is about to say so.
    }
  }

  private closeCaller(): void {
    try {
      this.caller?.close()
    } catch {
      // The caller has closed it.
    }
  }

  /** The next bytes for the caller, the end, or null when the upstream broke off. */
  private async read(): Promise<Uint8Array | 'end' | null> {
    this.waitingSince = performance.now()
    try {
      const { done, value } = await this.reader.read()
      return done ? 'end' : this.sale.meter.push(value)
    } catch (error) {
      if (this.stopped === null)
        this.deps.onTrouble(this.source.upstream, error instanceof Error ? error.name : 'the stream was cut')
      return null
    } finally {
      this.waitingSince = null
    }
  }

  private async finish(isEnd: boolean, last?: Uint8Array): Promise<false> {
    this.isEnding = true
    const { meter, errorEvent } = this.sale
    const rest = last ?? meter.close()
    const { ending, isComplete, hasFailed } = meter
    const isWhole = isEnd && isComplete && !hasFailed
    if (isWhole) for (const bytes of [rest, ending]) this.given?.push(bytes)
    const problem = await this.settled(isWhole)
    // Half an event would swallow the one that tells of the failure.
    if (isWhole || hasFailed) this.give(rest)
    const told = problem ?? (isWhole || hasFailed ? null : this.failure())
    this.give(told ? errorEvent(told) : ending)
    return false
  }

  private failure(): Failure {
    if (this.stopped === 'shutdown') return SHUTTING_DOWN
    return failure(
      this.stopped === 'silent' ? 'upstream_timeout' : 'upstream_error',
      'The model stopped in the middle of its response.',
    )
  }

  /** Charges, or lets go. Gives why the charge was not taken, or null. */
  private async settled(isWhole: boolean): Promise<Failure | null> {
    clearTimeout(this.deadline)
    clearTimeout(this.watchdog)
    this.open.hangUp.removeEventListener('abort', this.onGone)
    this.open.shutdown.removeEventListener('abort', this.onShutdown)
    this.source.close()
    void this.reader.cancel().catch(() => undefined) // it may have ended by itself
    // Whatever breaks here, whoever waits for this call's key must not wait for ever.
    let end: Ending = 'unknown'
    try {
      const problem = this.isOwed(isWhole) ? await this.charged(isWhole) : this.uncharged()
      end = problem === 'uncharged' ? 'nothing' : problem ? 'unknown' : 'done'
      return problem === 'uncharged' ? null : problem
    } catch (error) {
      this.deps.onTrouble('stream', error instanceof Error ? error.message : String(error))
      return failure('internal_error', 'The charge could not be recorded.')
    } finally {
      await this.open.close(end)
    }
  }

  /**
   * A whole answer is owed; of a broken one only what nobody listened to. What the upstream itself calls failed it does not bill, and
   * a break of ours is not blamed on whoever read slowly before.
   */
  private isOwed(isWhole: boolean): boolean {
    const wasDeserted = this.isGone || (this.wasLeftUnread && this.stopped !== 'shutdown')
    return isWhole || (!this.sale.meter.hasFailed && wasDeserted)
  }

  private uncharged(): 'uncharged' {
    if (this.stopped === 'shutdown') this.open.note(503, 'gateway_shutdown')
    else this.open.note(502, this.sale.hasBegun ? 'stream_cut' : 'upstream_error')
    return 'uncharged'
  }

  private async charged(isWhole: boolean): Promise<Failure | null> {
    const { isGone, stopped, source } = this
    const code = this.code(isWhole)
    const charge = await this.sale.charge({ isWhole, isGone, wasStopped: stopped === 'told_to', code })
    const whole = isWhole && this.given
    const kept = whole ? { body: whole.whole(), headers: { 'content-type': source.contentType } } : 'cut'
    const captured = await this.open.charge(charge, kept)
    return captured.ok ? null : captured.error
  }

  private code(isWhole: boolean): EndCode {
    if (this.stopped === 'shutdown') return 'gateway_shutdown'
    if (this.isGone) return 'caller_hung_up'
    return isWhole ? null : 'stream_cut'
  }

  /** From time to time, what a start would charge if this process died now. Nobody waits for it. */
  private writeDown(): void {
    const { chargedBytes } = this.sale
    if (chargedBytes - this.writtenDown < WRITTEN_DOWN_BYTES) return
    this.writtenDown = chargedBytes
    const lost = this.sale.lost()
    if (lost) void this.open.persist(lost)
  }

  /** Ends a stream whose upstream is silent for too long; the caller's own slowness is none of it. */
  private watch(): void {
    if (this.isEnding) return
    const waited = this.waitingSince === null ? 0 : performance.now() - this.waitingSince
    const left = this.source.idleMs - waited
    if (left > 0) {
      this.watchdog = setTimeout(() => this.watch(), left)
      return
    }
    this.deps.onTrouble(this.source.upstream, `silent for ${this.source.idleMs} ms`)
    this.stop('silent')
  }
}
