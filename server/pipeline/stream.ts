import { type Clock, MINUTE_MS } from '../core/clock'
import { type Failure, failure } from '../core/failure'
import { reasonOf } from '../core/result'
import type { EndCode } from '../core/usage/call-record'
import type { AnswerHeaders } from './call'
import { SHUTTING_DOWN } from './call-upstream'
import { DeliveredBytes, type Ending } from './idempotency/idempotency'
import type { Charge, OpenCall } from './work'

/** The longest stream. */
export const MAX_STREAM_MS = 30 * MINUTE_MS
/** After this many more charged bytes (about 2,000 tokens), the charge that a restart would apply is persisted again. */
const PERSIST_EVERY_BYTES = 8192
/** After a hang-up, how long the gateway still reads what the upstream had already sent before it cancels the stream. */
const LAST_READS_MS = 100
/** A reader who is further behind what the upstream sent than this was not listening when it broke. */
const MAX_LAG_MS = 1000
/** How long the last bytes get to the socket before a caller's connection is cut. */
const CUT_AFTER_MS = 100

const NONE = new Uint8Array()

/** Why reading stopped before the upstream ended. */
type Stopped = 'told_to' | 'late' | 'silent' | 'shutdown'

export interface StreamDeps {
  readonly clock: Clock
  /** A longer stream sends its caller a failure and then counts as one whose caller hung up. */
  readonly longestStreamMs: number
  readonly onTrouble: (upstream: string, reason: string) => void
}

/** A successful upstream response whose headers have arrived and whose body follows. */
export interface UpstreamStream {
  /** The upstream's name, for the log. */
  readonly upstream: string
  readonly contentType: string
  /** Stored with the answer for a repeat. Only its content type and status 200 if absent. */
  readonly head?: { readonly status: number; readonly headers: AnswerHeaders }
  readonly body: ReadableStream<Uint8Array>
  /** Called with each chunk before it is metered. Throws if the stream exceeds its bounds. */
  readonly check?: (chunk: Uint8Array) => void
  /** The longest silence allowed within the body. */
  readonly idleMs: number
  /** How long it may go on after its caller hung up. */
  readonly drainMs: number
  /** Frees the upstream's slot and cancels the rest of the body. May be called repeatedly. */
  close(): void
}

/** Meters a stream. */
export interface Meter {
  /** Returns what may be sent to the caller now. The stream's own end is held back until the charge is durable. */
  push(chunk: Uint8Array): Uint8Array
  /** Call when the upstream's body has ended. Returns the rest of the stream without its end. */
  close(): Uint8Array
  /** The end that was held back. */
  readonly ending: Uint8Array
  /** Whether the stream reached its own end. */
  readonly isComplete: boolean
  /** Whether the upstream reported a failure in the stream. */
  readonly hasFailed: boolean
  /** Nothing more may pass, because the maximum price is reached: the stream is cut here. */
  readonly isFull?: boolean
}

/** How a stream ended. */
export interface StreamEnd {
  /** It reached its own end. */
  readonly isWhole: boolean
  /** Its caller was gone when it ended. */
  readonly isGone: boolean
  /** The upstream was stopped because the caller hung up, or broke while its reader was behind: charged is what it delivered. */
  readonly wasStopped: boolean
  readonly code: EndCode | null
}

/** How a stream is metered and charged. */
export interface StreamSale {
  readonly meter: Meter
  /** Chargeable bytes delivered so far, or another measure that grows with the charge. It is persisted every 8 KiB. */
  readonly progress: number
  /** Whether anything chargeable arrived. */
  readonly hasBegun: boolean
  /** Whether the upstream is stopped, and stops billing, when the caller hangs up. `soon`: after what it had sent is read. */
  readonly stopsWithCaller: 'at once' | 'soon' | null
  /** The part that passed is charged even if the stream breaks off while its caller listens. */
  readonly chargesBroken?: boolean
  /** It may have changed something, so the outcome of a stream that broke off uncharged is unknown. */
  readonly isWrite?: boolean
  /** The charge if this process dies now; null if the stream is free. */
  lost(): Charge | null
  /** The charge at its end. */
  charge(end: StreamEnd): Charge | Promise<Charge>
  /** Runs once the charge of a complete stream is durable, before its end is sent. */
  onCharged?(): void
  /** Formats a failure as the last event of the stream. Null if it has no such event: then the caller's connection is cut. */
  errorEvent(problem: Failure): Uint8Array | null
}

/**
 * Passes an upstream's stream to the caller, meters it, and charges it before its end is sent, so that a caller who sees the end
 * has a durable charge (spec D4). However it ends, it is charged or released once, and its slot and hold are given back:
 * - it reaches its end: charged by the upstream's count, or by an estimate of what was delivered;
 * - the caller hangs up: the stream goes on and is charged however it ends. Only an upstream that then stops billing, or that is
 *   free, is stopped, and charged for what it had sent;
 * - it breaks off while the caller listens and keeps up, for whatever reason: no charge, unless the sale charges what passed. After a hang-up,
 *   or while its reader is behind: whatever the sale charges.
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
  /** How far the reader is behind: grows while bytes wait for it, shrinks while it waits for bytes. */
  private lagMs = 0
  private gaveAt: number
  private stopped: Stopped | null = null
  private isEnding = false
  /** Ends a stream that lasts too long; after a hang-up, ends the drain. */
  private deadline: ReturnType<typeof setTimeout>
  private watchdog: ReturnType<typeof setTimeout>
  private persisted = 0
  private isPersisting = false
  /** The caller must see that it did not get everything. */
  private isCut = false
  /** When the current read began; null between reads. */
  private waitingSince: number | null = null
  /** The bytes sent to the caller, stored under its `Idempotency-Key`; null without one. */
  private readonly given: DeliveredBytes | null
  /** The current read for the caller. */
  private pulling: Promise<void> = Promise.resolve()
  /** Set when the stream goes on without its caller. */
  private goingOn: Promise<void> | null = null

  constructor(deps: StreamDeps, open: OpenCall, source: UpstreamStream, sale: StreamSale) {
    this.deps = deps
    this.open = open
    this.source = source
    this.sale = sale
    this.reader = source.body.getReader()
    this.given = open.hasKey ? new DeliveredBytes() : null
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

  /** Sends the caller the next bytes. */
  pull(): Promise<void> {
    if (this.goingOn !== null) return this.goingOn
    this.lagMs += Math.max(0, this.deps.clock.now() - this.gaveAt)
    this.pulling = this.next()
    return this.pulling
  }

  /** From here on the stream is read without its caller, to its end or its time limit. May be called repeatedly. */
  callerGone(): void {
    if (this.isGone || this.isEnding) return
    this.isGone = true
    this.open.drain?.begin()
    clearTimeout(this.deadline)
    // With an idempotency key the stream goes on, because a repeat gets the whole answer.
    const stops = this.open.hasKey ? null : this.sale.stopsWithCaller
    const ms = stops === 'at once' ? 0 : stops ? LAST_READS_MS : this.source.drainMs
    this.deadline = setTimeout(() => this.stop(stops ? 'told_to' : 'late'), ms)
    this.goOn()
  }

  private goOn(): void {
    this.goingOn ??= this.pulling.then(async () => {
      while (!this.isEnding) await this.next()
    })
  }

  /** The time limit: the caller gets a failure, and from then on the stream counts as one whose caller hung up. */
  private tooLong(): void {
    if (this.isEnding || this.isGone) return
    this.showFailure(failure('upstream_timeout', 'The response took longer than a stream may last.'))
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

  /** Sends the next bytes, or the end. */
  private async next(): Promise<void> {
    const { meter } = this.sale
    while (this.stopped === null && !meter.isFull) {
      this.waitingSince = performance.now()
      const askedAt = this.deps.clock.now()
      let next: Uint8Array | null
      try {
        const { done, value } = await this.reader.read()
        if (!done) this.source.check?.(value)
        next = done ? null : meter.push(value)
      } catch (error) {
        this.broke(error)
        break
      } finally {
        this.waitingSince = null
        this.lagMs = Math.max(0, this.lagMs - Math.max(0, this.deps.clock.now() - askedAt))
      }
      if (this.stopped !== null) break
      if (next === null) return this.finish(true)
      if (meter.isComplete && meter.ending.length > 0) return this.finish(true, next)
      this.persistProgress()
      if (next.length === 0) continue
      this.given?.push(next)
      this.give(next)
      return
    }
    return this.finish(false)
  }

  private broke(error: unknown): void {
    if (this.stopped !== null) return
    const reason = error instanceof Error ? error.name : 'the stream was cut'
    this.deps.onTrouble(this.source.upstream, this.isBehind ? `${reason}, its reader was behind` : reason)
  }

  private give(bytes: Uint8Array): void {
    if (this.isGone || bytes.length === 0) return
    this.gaveAt = this.deps.clock.now()
    try {
      this.caller?.enqueue(bytes)
    } catch {
      // The caller has canceled it; `callerGone` follows.
    }
  }

  private showFailure(problem: Failure): void {
    const event = this.sale.errorEvent(problem)
    if (event) this.give(event)
    else this.isCut = true
  }

  private closeCaller(): void {
    // Earlier chunks are on their way to the socket. A cut at once would drop them.
    if (this.isCut) setTimeout(() => this.quietly((caller) => caller.error()), CUT_AFTER_MS)
    else this.quietly((caller) => caller.close())
  }

  private quietly(end: (caller: ReadableStreamDefaultController<Uint8Array>) => void): void {
    try {
      if (this.caller) end(this.caller)
    } catch {
      // The caller has canceled it.
    }
  }

  private async finish(isEnd: boolean, last?: Uint8Array): Promise<void> {
    this.isEnding = true
    const { meter } = this.sale
    const rest = last ?? this.rest()
    const { ending, isComplete, hasFailed } = meter
    const isWhole = isEnd && isComplete && !hasFailed
    if (isWhole) for (const bytes of [rest, ending]) this.given?.push(bytes)
    const problem = await this.settled(isWhole)
    // A partial event would swallow the failure event that follows it.
    if (isWhole || hasFailed) this.give(rest)
    const shown = problem ?? (isWhole || hasFailed ? null : this.failure())
    if (shown) this.showFailure(shown)
    else this.give(ending)
    this.closeCaller()
  }

  /** What the meter still has. A stream that breaks where the meter cannot read it ends like any other that breaks. */
  private rest(): Uint8Array {
    try {
      return this.sale.meter.close()
    } catch (error) {
      this.broke(error)
      return NONE
    }
  }

  private failure(): Failure {
    if (this.stopped === 'shutdown') return SHUTTING_DOWN
    return failure(
      this.stopped === 'silent' ? 'upstream_timeout' : 'upstream_error',
      'The upstream stopped in the middle of its response.',
    )
  }

  /** Charges or releases. Returns why the charge failed, or null. */
  private async settled(isWhole: boolean): Promise<Failure | null> {
    clearTimeout(this.deadline)
    clearTimeout(this.watchdog)
    this.open.hangUp.removeEventListener('abort', this.onGone)
    this.open.shutdown.removeEventListener('abort', this.onShutdown)
    this.source.close()
    void this.reader.cancel().catch(() => undefined) // it may have ended by itself
    // After any failure here, repeats that wait for this idempotency key must not wait forever.
    let end: Ending = 'unknown'
    try {
      const problem = this.isChargeable(isWhole) ? await this.charged(isWhole) : this.uncharged()
      const nothing = this.sale.isWrite ? 'unknown' : 'nothing'
      end = problem === 'uncharged' ? nothing : problem ? 'unknown' : 'done'
      return problem === 'uncharged' ? null : problem
    } catch (error) {
      this.deps.onTrouble('stream', reasonOf(error))
      return failure('internal_error', 'The charge could not be recorded.')
    } finally {
      await this.open.close(end)
    }
  }

  /**
   * A complete answer is charged; a broken one only if the caller was gone or behind, or if its price counts what passed. The upstream does not
   * bill an answer that it reports as failed, and a caller who only read slowly does not pay when the gateway shuts down.
   */
  private isChargeable(isWhole: boolean): boolean {
    const wasDeserted = this.isGone || (this.isBehind && this.stopped !== 'shutdown')
    const { meter, chargesBroken, hasBegun } = this.sale
    return isWhole || (!meter.hasFailed && (wasDeserted || (chargesBroken === true && hasBegun)))
  }

  /** Whether the reader left bytes unread, so that the upstream may have given up because of it. */
  private get isBehind(): boolean {
    return this.lagMs > MAX_LAG_MS
  }

  private uncharged(): 'uncharged' {
    const { message } = this.failure()
    if (this.stopped === 'shutdown') this.open.note('gateway_shutdown', message)
    else this.open.note(this.sale.hasBegun ? 'stream_cut' : 'upstream_error', message)
    return 'uncharged'
  }

  private async charged(isWhole: boolean): Promise<Failure | null> {
    const { isGone, stopped, source } = this
    const code = this.code(isWhole)
    const wasStopped = stopped === 'told_to' || (!isWhole && !isGone)
    const charge = await this.sale.charge({ isWhole, isGone, wasStopped, code })
    const whole = isWhole && this.given
    const { headers = { 'content-type': source.contentType }, status = 200 } = source.head ?? {}
    const stored = whole ? { body: whole.whole(), headers, status } : 'cut'
    const captured = await this.open.charge(charge, stored)
    if (captured.ok && isWhole) this.sale.onCharged?.()
    return captured.ok ? null : captured.error
  }

  private code(isWhole: boolean): EndCode | null {
    if (this.stopped === 'shutdown') return 'gateway_shutdown'
    if (this.isGone) return 'caller_hung_up'
    return isWhole ? null : 'stream_cut'
  }

  /** Persists, from time to time, the charge that the next start applies if this process dies. Nothing waits for it. */
  private persistProgress(): void {
    const { progress } = this.sale
    if (this.isPersisting || progress - this.persisted < PERSIST_EVERY_BYTES) return
    const lost = this.sale.lost()
    if (!lost) return
    this.persisted = progress
    // One at a time: a fast download does not queue writes.
    this.isPersisting = true
    void this.open.persist(lost).finally(() => {
      this.isPersisting = false
    })
  }

  /** Ends a stream whose upstream is silent for too long. Time in which the caller did not read does not count. */
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
