import { type Failure, failure } from '../core/failure'
import { isLocal } from '../core/models/model'
import { type Ending, GivenBytes } from './idempotency/idempotency'
import type { BackendAnswer } from './models/model-backend'
import {
  charge,
  type EndCode,
  giveBack,
  type ModelDeps,
  reckoned,
  recordOf,
  SHUTTING_DOWN,
  type Taken,
} from './models/model-call'
import { mayHideOutput } from './models/wires/hidden-output'
import type { StreamMeter } from './models/wires/model-wire'
import { callRecord } from './paid-call'

/** So much text after the last time is written down as what a start would charge: some two thousand tokens. */
const WRITTEN_DOWN_BYTES = 8192
/** What a vendor had sent when its caller hung up is still read, for so long, before it is told to stop. */
const LAST_READS_MS = 100

/** Why reading stopped before the vendor's own end. */
type Stopped = 'told_to' | 'late' | 'silent' | 'shutdown'

/**
 * A vendor's stream on its way to the caller: metered, and charged before its end is sent, so that who sees the end has a
 * durable charge (spec-answers 4). However it ends, it is charged or released once, and its place and its hold are given back:
 * - it comes to its end: what the vendor counted, or an estimate of what went through;
 * - the caller hangs up: it goes on without, nothing is kept of it, and it is charged for its end, whichever that is. Only a model that
 *   stops billing, and one inside this gateway, is stopped, and charged for what it had sent;
 * - it breaks while the caller listens, by whosever fault: nothing. After the caller has left: what is reckoned (`reckoned`).
 */
export function meteredStream(deps: ModelDeps, taken: Taken, answer: BackendAnswer): ReadableStream<Uint8Array> {
  const stream = new MeteredStream(deps, taken, answer)
  return new ReadableStream<Uint8Array>({
    start: (controller) => stream.begin(controller),
    pull: () => stream.pull(),
    cancel: () => stream.callerGone(),
  })
}

class MeteredStream {
  private readonly deps: ModelDeps
  private readonly taken: Taken
  private readonly answer: BackendAnswer
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>
  private readonly meter: StreamMeter
  private readonly onGone = () => this.callerGone()
  private caller: ReadableStreamDefaultController<Uint8Array> | null = null
  private isGone = false
  /** The caller left it unread for longer than the vendor may be silent: nobody was listening when it broke. */
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
  /** What the caller is given, for its idempotency; null without a key. */
  private readonly given: GivenBytes | null
  /** The read for the caller that is under way. */
  private pulling: Promise<void> = Promise.resolve()
  /** Set when it goes on by itself. */
  private goingOn: Promise<void> | null = null

  constructor(deps: ModelDeps, taken: Taken, answer: BackendAnswer) {
    const { call, request } = taken.judged
    this.deps = deps
    this.taken = taken
    this.answer = answer
    this.reader = answer.body.getReader()
    this.meter = call.wire.meter(request, call.path)
    this.given = taken.first ? new GivenBytes() : null
    this.gaveAt = deps.clock.now()
    this.deadline = setTimeout(() => this.tooLong(), deps.longestStreamMs)
    this.watchdog = setTimeout(() => this.watch(), answer.idleMs)
    call.hangUp.addEventListener('abort', this.onGone, { once: true })
    deps.streams.add(this, () => this.shutDown())
    if (call.hangUp.aborted) this.onGone()
  }

  begin(caller: ReadableStreamDefaultController<Uint8Array>): void {
    this.caller = caller
  }

  /** Gives the caller what comes next. */
  pull(): Promise<void> {
    if (this.goingOn !== null) return this.goingOn
    this.wasLeftUnread ||= this.deps.clock.now() - this.gaveAt > this.answer.idleMs
    this.pulling = this.next().then((more) => {
      if (!more) this.closeCaller()
    })
    return this.pulling
  }

  /** From here on it goes on by itself, to its end or for as long as it may. Free to repeat. */
  callerGone(): void {
    if (this.isGone || this.isEnding) return
    this.isGone = true
    this.taken.drain.begin()
    clearTimeout(this.deadline)
    const stops = this.stopsWithCaller
    const ms = stops === 'at once' ? 0 : stops ? LAST_READS_MS : this.answer.drainMs
    this.deadline = setTimeout(() => this.stop(stops ? 'told_to' : 'late'), ms)
    this.goOn()
  }

  /** Whether it ends when its caller leaves. One with an answer to keep does not: its repeat asks for the whole of it. */
  private get stopsWithCaller(): 'at once' | 'soon' | null {
    const { judged, first } = this.taken
    if (first) return null
    if (isLocal(judged.model)) return 'at once'
    return judged.model.stopsBilling && !mayHideOutput(judged.request) ? 'soon' : null
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
    this.giveFailure(failure('upstream_timeout', 'The answer took longer than a stream may last.'))
    this.closeCaller()
    this.callerGone()
  }

  /** This process ends: our break. */
  private async shutDown(): Promise<void> {
    this.stop('shutdown')
    await this.goingOn
    await this.pulling
  }

  private stop(why: Stopped): void {
    if (this.isEnding) return
    this.stopped ??= why
    this.answer.close()
    void this.reader.cancel().catch(() => undefined)
    this.goOn()
  }

  /** Gives what comes next. False: that was the end. */
  private async next(): Promise<boolean> {
    for (;;) {
      const next = this.stopped ? null : await this.read()
      if (this.stopped !== null || next === null) return this.finish(false)
      if (next === 'end') return this.finish(true)
      if (this.meter.isComplete && this.meter.ending.length > 0) return this.finish(true, next)
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

  private giveFailure(problem: Failure): void {
    const { call } = this.taken.judged
    this.give(new TextEncoder().encode(call.wire.errorEvent(call.failureJson(problem), call.path)))
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
      return done ? 'end' : this.meter.push(value)
    } catch (error) {
      if (this.stopped === null)
        this.deps.onTrouble(this.answer.upstream, error instanceof Error ? error.name : 'the stream was cut')
      return null
    } finally {
      this.waitingSince = null
    }
  }

  private async finish(isEnd: boolean, last?: Uint8Array): Promise<false> {
    this.isEnding = true
    const rest = last ?? this.meter.close()
    const { ending, isComplete, hasFailed } = this.meter
    const isWhole = isEnd && isComplete && !hasFailed
    if (isWhole) for (const bytes of [rest, ending]) this.given?.push(bytes)
    const problem = await this.settled(isWhole)
    // Half an event would swallow the one that tells of the failure.
    if (isWhole || hasFailed) this.give(rest)
    const told = problem ?? (isWhole || hasFailed ? null : this.failure())
    if (told) this.giveFailure(told)
    else this.give(ending)
    return false
  }

  private failure(): Failure {
    if (this.stopped === 'shutdown') return SHUTTING_DOWN
    return failure(
      this.stopped === 'silent' ? 'upstream_timeout' : 'upstream_error',
      'The model broke off in the middle of its answer.',
    )
  }

  /** Charges, or lets go. Gives why the charge was not taken, or null. */
  private async settled(isWhole: boolean): Promise<Failure | null> {
    const { deps, taken } = this
    clearTimeout(this.deadline)
    clearTimeout(this.watchdog)
    taken.judged.call.hangUp.removeEventListener('abort', this.onGone)
    this.answer.close()
    void this.reader.cancel().catch(() => undefined) // it may have ended by itself
    // Whatever breaks here, whoever waits for this turn must not wait for ever.
    let end: Ending = 'unknown'
    try {
      const ended = await (this.isOwed(isWhole) ? this.charged(isWhole) : this.letGo())
      end = ended.end
      return ended.problem
    } catch (error) {
      deps.onTrouble('stream', error instanceof Error ? error.message : String(error))
      return failure('internal_error', 'The charge could not be made.')
    } finally {
      deps.streams.delete(this)
      await taken.first?.end(end)
    }
  }

  /**
   * A whole answer is owed; of a broken one only what nobody listened to. What the vendor itself calls failed it does not bill, and
   * a break of ours is not blamed on whoever read slowly before.
   */
  private isOwed(isWhole: boolean): boolean {
    const wasDeserted = this.isGone || (this.wasLeftUnread && this.stopped !== 'shutdown')
    return isWhole || (!this.meter.hasFailed && wasDeserted)
  }

  private async letGo(): Promise<{ problem: null; end: Ending }> {
    const { deps, taken, meter } = this
    const { call, model } = taken.judged
    const isOurs = this.stopped === 'shutdown'
    const hasAnything = meter.seen.counts !== null || meter.seen.textBytes > 0
    const code = isOurs ? 'gateway_shutdown' : hasAnything ? 'stream_cut' : 'upstream_error'
    const end = { status: isOurs ? 503 : 502, code, charged: null, now: deps.clock.now() }
    deps.journal.note({ ...callRecord(call.authenticated, call.operation, end), model: model.id })
    await giveBack(taken, 0)
    return { problem: null, end: 'nothing' }
  }

  private async charged(isWhole: boolean): Promise<{ problem: Failure | null; end: Ending }> {
    const { deps, taken, meter } = this
    const { first, reservation } = taken
    // The vendor's report counts, also where its end did not come behind it.
    const isCounted = meter.seen.isFinal || (isWhole && !this.isGone) || taken.judged.most === 0
    const { judged, seen } = isCounted
      ? { judged: taken.judged, seen: meter.seen }
      : await reckoned(deps, taken, meter.seen, this.stopped === 'told_to')
    const whole = isWhole && this.given?.whole()
    const kept = whole ? first?.answer(whole, { 'content-type': this.answer.contentType }) : first?.cut()
    const { captured, tokens } = await charge(deps, judged, reservation, seen, this.code(isWhole), kept)
    await giveBack(taken, tokens.input + tokens.output)
    return captured.ok ? { problem: null, end: 'done' } : { problem: captured.error, end: 'unknown' }
  }

  private code(isWhole: boolean): EndCode {
    if (this.stopped === 'shutdown') return 'gateway_shutdown'
    if (this.isGone) return 'caller_hung_up'
    return isWhole ? null : 'stream_cut'
  }

  /** From time to time, what a start would charge if this process died now. Nobody waits for it. */
  private writeDown(): void {
    const { seen } = this.meter
    if (seen.textBytes - this.writtenDown < WRITTEN_DOWN_BYTES || this.taken.judged.most === 0) return
    this.writtenDown = seen.textBytes
    const { record } = recordOf(this.deps, this.taken.judged, seen, 'gateway_restarted')
    void this.taken.reservation.keep?.(record)
  }

  /** Ends a stream whose upstream is silent for too long; the caller's own slowness is none of it. */
  private watch(): void {
    if (this.isEnding) return
    const waited = this.waitingSince === null ? 0 : performance.now() - this.waitingSince
    const left = this.answer.idleMs - waited
    if (left > 0) {
      this.watchdog = setTimeout(() => this.watch(), left)
      return
    }
    this.deps.onTrouble(this.answer.upstream, `silent for ${this.answer.idleMs} ms`)
    this.stop('silent')
  }
}
