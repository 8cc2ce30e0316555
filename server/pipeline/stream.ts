import { type Clock, MINUTE_MS } from '../core/clock'
import { type Failure, failure } from '../core/failure'
import { reasonOf } from '../core/result'
import type { EndCode } from '../core/usage/call-record'
import type { AnswerHeaders } from './call'
import { SHUTTING_DOWN } from './call-upstream'
import { DeliveredBytes, type Ending } from './idempotency/idempotency'
import type { Charge, OpenCall, StoredAnswer } from './work'

export const MAX_STREAM_MS = 30 * MINUTE_MS
/** After this many more charged bytes (about 2,000 tokens), the charge that a restart would apply is persisted again. */
const PERSIST_EVERY_BYTES = 8192
/** After a hang-up, how long the gateway still reads what the upstream had already sent before it cancels the stream. */
const LAST_READS_MS = 100
/** A reader who is further behind what the upstream sent than this was not listening when it broke. */
const MAX_LAG_MS = 1000
/** How long the last bytes get to the socket before a caller's connection is cut. */
const CUT_AFTER_MS = 100

const NONE: Uint8Array = new Uint8Array()

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
  readonly guard?: ChunkGuard
  /** The longest silence allowed within the body. */
  readonly idleMs: number
  /** How long it may go on after its caller hung up. */
  readonly drainMs: number
  /** Frees the upstream's slot and cancels the rest of the body. May be called repeatedly. */
  close(): void
}

/** Looks at each chunk of a stream before it is metered. */
export interface ChunkGuard {
  /** What may pass of it. Throws if the stream must end before it. */
  pass(chunk: Uint8Array): Uint8Array
  /** What was held back until the end of the body. */
  end?(): Uint8Array
  /** Nothing more may pass: the stream is cut here. */
  readonly isOver?: boolean
}

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

export interface StreamEnd {
  /** It reached its own end. */
  readonly isWhole: boolean
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
  charge(end: StreamEnd): Charge | Promise<Charge>
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
  // The types of the DOM do not include Bun's direct streams.
  const direct: Bun.DirectUnderlyingSource = new SettledStream(deps, open, source, sale)
  return new ReadableStream(direct as unknown as UnderlyingDefaultSource<Uint8Array>)
}

class SettledStream implements Bun.DirectUnderlyingSource, EventListenerObject {
  readonly type = 'direct'
  private readonly deps: StreamDeps
  private readonly open: OpenCall
  private readonly source: UpstreamStream
  private readonly sale: StreamSale
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>
  /** Null until the caller can be sent anything. What came before, a failure, is then `unsent`. */
  private caller: ReadableStreamDirectController | null = null
  private unsent = NONE
  private isClosed = false
  /** Resolves when the caller got its end. Rejects to cut its connection. */
  private readonly sent = Promise.withResolvers<void>()
  private running: Promise<void> | null = null
  private isGone = false
  /** Pending while the caller's connection is full. */
  private full: Promise<number> | null = null
  /** Ends the wait for a full connection. */
  private goOn: (() => void) | null = null
  /** How far the reader is behind: grows while bytes wait for it, shrinks while it waits for bytes. */
  private lagMs = 0
  private stopped: Stopped | null = null
  private isEnding = false
  /** Wakes at `endsAt`, or when the upstream was silent for too long. */
  private timer: ReturnType<typeof setTimeout>
  /** When the stream has lasted too long; after a hang-up, when its drain has. */
  private endsAt: number
  /** When the current read began; null between reads. */
  private waitingSince: number | null = null
  private askedAt = 0
  private persisted = 0
  private isPersisting = false
  /** The caller must see that it did not get everything. */
  private isCut = false
  /** The bytes sent to the caller, stored under its `Idempotency-Key`; null without one. */
  private readonly given: DeliveredBytes | null

  constructor(deps: StreamDeps, open: OpenCall, source: UpstreamStream, sale: StreamSale) {
    this.deps = deps
    this.open = open
    this.source = source
    this.sale = sale
    this.reader = source.body.getReader()
    this.given = open.hasKey ? new DeliveredBytes() : null
    this.endsAt = performance.now() + deps.longestStreamMs
    this.timer = this.nextTimer()
    const { hangUp, shutdown } = open
    hangUp.addEventListener('abort', this)
    shutdown.addEventListener('abort', this)
    // Once the call is known to stream.
    if (hangUp.aborted) queueMicrotask(() => this.cancel())
    if (shutdown.aborted) queueMicrotask(() => this.stop('shutdown'))
  }

  handleEvent({ target }: Event): void {
    if (target === this.open.hangUp) this.cancel()
    else this.stop('shutdown')
  }

  pull(caller: ReadableStreamDirectController): Promise<void> {
    this.caller = caller
    this.give(this.unsent)
    if (this.isClosed) this.closeCaller()
    else this.run()
    return this.sent.promise
  }

  /** The caller is gone: the stream is read without it, to its end or its time limit. May be called repeatedly. */
  cancel(): void {
    if (this.isGone || this.isEnding) return
    this.isGone = true
    this.open.drain?.begin()
    const stops = this.stopsWithCaller
    this.endsAt = performance.now() + (stops === 'at once' ? 0 : stops ? LAST_READS_MS : this.source.drainMs)
    clearTimeout(this.timer)
    this.timer = this.nextTimer()
    this.run()
  }

  /** With an idempotency key the stream goes on, because a repeat gets the whole answer. */
  private get stopsWithCaller(): StreamSale['stopsWithCaller'] {
    return this.open.hasKey ? null : this.sale.stopsWithCaller
  }

  private stop(why: Stopped): void {
    if (this.isEnding) return
    this.stopped ??= why
    this.source.close()
    void this.reader.cancel().catch(ignore)
    this.run()
  }

  /** Begins, or goes on although the caller's connection is full. */
  private run(): void {
    this.goOn?.()
    this.running ??= this.runToEnd().catch(this.sent.reject)
  }

  private async runToEnd(): Promise<void> {
    const { meter } = this.sale
    const { guard = null } = this.source
    let isDone = false
    /** What may pass of the chunk with the stream's own end. */
    let last: Uint8Array | null = null
    try {
      while (!isDone && last === null && this.stopped === null && !meter.isFull && !guard?.isOver) {
        const reading = this.reader.readMany()
        const { value, done } = reading instanceof Promise ? await this.waitFor(reading) : reading
        this.waited()
        isDone = done
        last = this.pass(value, guard)
        if (done && this.stopped === null && guard?.end) this.pass([guard.end()], null)
        if (this.full !== null) await this.caughtUp(this.full)
      }
    } catch (error) {
      this.waited()
      this.broke(error)
      isDone = false
    }
    this.isEnding = true
    const rest = last ?? this.rest()
    const { ending, isComplete, hasFailed } = meter
    const isEnd = (isDone || last !== null) && this.stopped === null && !guard?.isOver
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

  /** Meters these chunks, and sends the caller what may pass. Returns what may pass of the chunk with the stream's own end, which waits. */
  private pass(chunks: readonly Uint8Array[], guard: ChunkGuard | null): Uint8Array | null {
    const { meter } = this.sale
    for (const chunk of chunks) {
      const passes = meter.push(guard ? guard.pass(chunk) : chunk)
      // What arrived before the stop counts, but nobody gets it.
      if (this.stopped !== null) continue
      if (meter.isComplete && meter.ending.length > 0) return passes
      if (passes.length > 0) this.given?.push(passes)
      this.give(passes)
      if (meter.isFull || guard?.isOver) break
    }
    this.persistProgress()
    this.caller?.flush()
    return null
  }

  private waitFor<T>(reading: Promise<T>): Promise<T> {
    this.waitingSince = performance.now()
    this.askedAt = this.deps.clock.now()
    return reading
  }

  private waited(): void {
    if (this.waitingSince === null) return
    this.waitingSince = null
    this.lagMs = Math.max(0, this.lagMs - Math.max(0, this.deps.clock.now() - this.askedAt))
  }

  /** Waits until the caller's connection has room, or the stream goes on or ends without it. */
  private async caughtUp(full: Promise<number>): Promise<void> {
    const since = this.deps.clock.now()
    const { promise, resolve } = Promise.withResolvers<unknown>()
    this.goOn = () => resolve(undefined)
    full.then(resolve, resolve)
    await promise
    this.goOn = null
    this.full = null
    this.lagMs += Math.max(0, this.deps.clock.now() - since)
  }

  private broke(error: unknown): void {
    if (this.stopped !== null) return
    const reason = error instanceof Error ? error.name : 'the stream was cut'
    this.deps.onTrouble(this.source.upstream, this.isBehind ? `${reason}, its reader was behind` : reason)
  }

  private give(bytes: Uint8Array): void {
    if (this.isGone || bytes.length === 0) return
    if (this.open.isLost) {
      this.isCut = true
      return
    }
    if (this.caller === null) this.unsent = bytes
    const written = this.caller?.write(bytes as Uint8Array<ArrayBuffer>)
    if (written instanceof Promise) this.full = written
  }

  private showFailure(problem: Failure): void {
    const event = this.sale.errorEvent(problem)
    if (event) this.give(event)
    else this.isCut = true
  }

  private closeCaller(): void {
    this.isClosed = true
    if (this.caller === null) return
    // Earlier bytes are on their way to the socket. A cut at once would drop them.
    if (this.isCut) setTimeout(this.sent.reject, CUT_AFTER_MS)
    else {
      this.caller.close()
      this.sent.resolve()
    }
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
    clearTimeout(this.timer)
    this.open.hangUp.removeEventListener('abort', this)
    this.open.shutdown.removeEventListener('abort', this)
    this.source.close()
    void this.reader.cancel().catch(ignore) // it may have ended by itself
    // After any failure here, repeats that wait for this idempotency key must not wait forever.
    let end: Ending = 'unknown'
    try {
      if (!this.isChargeable(isWhole)) {
        const code = this.sale.hasBegun ? 'stream_cut' : 'upstream_error'
        this.open.note(this.stopped === 'shutdown' ? 'gateway_shutdown' : code, this.failure().message)
        end = this.sale.isWrite ? 'unknown' : 'nothing'
        return null
      }
      const { isGone, stopped } = this
      const wasStopped = stopped === 'told_to' || (!isWhole && !isGone)
      const charging = this.sale.charge({ isWhole, isGone, wasStopped, code: this.code(isWhole) })
      const charge = charging instanceof Promise ? await charging : charging
      const captured = await this.open.charge(charge, this.stored(isWhole))
      if (!captured.ok) return captured.error
      end = 'done'
      return null
    } catch (error) {
      this.deps.onTrouble('stream', reasonOf(error))
      return failure('internal_error', 'The charge could not be recorded.')
    } finally {
      const closing = this.open.close(end)
      if (closing !== null) await closing
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

  private stored(isWhole: boolean): StoredAnswer {
    if (!isWhole || this.given === null) return 'cut'
    const { headers = { 'content-type': this.source.contentType }, status = 200 } = this.source.head ?? {}
    return { body: this.given.whole(), headers, status }
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
    void this.open
      .persist(lost)
      .catch((error: unknown) => this.deps.onTrouble('stream', reasonOf(error)))
      .finally(() => {
        this.isPersisting = false
      })
  }

  private nextTimer(): ReturnType<typeof setTimeout> {
    const now = performance.now()
    return setTimeout(wake, Math.max(0, Math.min(this.endsAt - now, this.silenceLeft(now))), this)
  }

  /** How much longer the upstream may be silent. Time in which the caller did not read does not count. */
  private silenceLeft(now: number): number {
    return this.source.idleMs - (this.waitingSince === null ? 0 : now - this.waitingSince)
  }

  /** Ends a stream whose upstream is silent for too long, or that lasts too long: then it counts as one whose caller hung up. */
  wake(): void {
    const now = performance.now()
    if (this.silenceLeft(now) <= 0) {
      this.deps.onTrouble(this.source.upstream, `silent for ${this.source.idleMs} ms`)
      this.stop('silent')
    } else if (now < this.endsAt) this.timer = this.nextTimer()
    else if (this.isGone) this.stop(this.stopsWithCaller ? 'told_to' : 'late')
    else {
      this.showFailure(failure('upstream_timeout', 'The response took longer than a stream may last.'))
      this.closeCaller()
      this.cancel()
    }
  }
}

/** Shared by all streams, so that none makes functions of its own. */
function wake(stream: SettledStream): void {
  stream.wake()
}

function ignore(): void {}
