import { type Failure, failure } from '../core/failure'
import type { KeptAnswer } from '../core/idempotency/kept-answer'
import type { BackendAnswer } from '../core/models/backend'
import type { StreamMeter } from '../core/models/model-wire'
import { charge, type EndCode, giveBack, type ModelCounter, recordOf, type Taken } from './model-call'
import { type Ending, GivenBytes } from './repeats'
import { callRecord } from './serve'

/** So much text after the last time is written down as what a start would charge: some two thousand tokens. */
const WRITTEN_DOWN_BYTES = 8192

/**
 * A vendor's stream on its way to the caller: metered, and charged before its end is sent, so that who sees the end has a
 * durable charge (spec-answers 4). However it ends, it is charged or released once, its place and its hold are given back, and
 * the upstream is told to stop:
 * - it ends: what the vendor counted, or an estimate of what went through;
 * - the caller hangs up: the same, up to then; the input, which the upstream had taken, in any case;
 * - the upstream breaks off or tells of a failure: the same, up to then; nothing, where nothing had come.
 * Under an `Idempotency-Key` it goes on when the caller hangs up, to its end, so that a repeat gets the whole of it (ADR 17).
 */
export function meteredStream(counter: ModelCounter, taken: Taken, answer: BackendAnswer): ReadableStream<Uint8Array> {
  const stream = new MeteredStream(counter, taken, answer)
  return new ReadableStream<Uint8Array>({
    pull: (controller) => stream.pull(controller),
    cancel: () => stream.callerGone(),
  })
}

class MeteredStream {
  private readonly counter: ModelCounter
  private readonly taken: Taken
  private readonly answer: BackendAnswer
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>
  private readonly meter: StreamMeter
  private readonly deadline: ReturnType<typeof setTimeout>
  private readonly onDeadline = () => void this.hangUp()
  private readonly onGone = () => void this.callerGone()
  private settled: Promise<Failure | null> | null = null
  private writtenDown = 0
  /** When the read that is under way began; null while none is. */
  private waitingSince: number | null = null
  private watchdog: ReturnType<typeof setTimeout>
  private silent = false
  /** What the caller was given, for its repeats; null without a key. */
  private readonly given: GivenBytes | null
  /** The read for the caller that is under way. */
  private pulling: Promise<void> = Promise.resolve()
  /** Set when the caller is gone and the stream goes on without. */
  private goingOn: Promise<void> | null = null

  constructor(counter: ModelCounter, taken: Taken, answer: BackendAnswer) {
    const { call, request } = taken.judged
    this.counter = counter
    this.taken = taken
    this.answer = answer
    this.reader = answer.body.getReader()
    this.meter = call.wire.meter(request, call.path)
    this.given = taken.first ? new GivenBytes() : null
    this.deadline = setTimeout(this.onDeadline, counter.longestStreamMs)
    this.watchdog = setTimeout(() => this.watch(), answer.idleMs)
    call.hangUp.addEventListener('abort', this.onGone, { once: true })
    counter.streams.add(this, () => this.hangUp())
    if (call.hangUp.aborted) this.onGone()
  }

  /** Gives the caller what came next. */
  pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    this.pulling = this.goingOn ?? this.pulled(controller)
    return this.pulling
  }

  /** Ends it; or, under a key, goes on without the caller. Free to repeat. */
  async callerGone(): Promise<void> {
    if (!this.given) return this.hangUp()
    this.goingOn ??= this.pulling.then(async () => {
      while (await this.next(() => undefined));
    })
    await this.goingOn
  }

  private async pulled(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    const more = await this.next((bytes) => {
      if (!this.goingOn) controller.enqueue(bytes)
    })
    if (!more) close(controller)
  }

  /** Gives what came next. False: that was the end. */
  private async next(give: (bytes: Uint8Array) => void): Promise<boolean> {
    for (;;) {
      const next = await this.read()
      if (this.settled !== null) {
        await this.settled
        return false
      }
      if (next === null) return this.finish(give, 'cut')
      if (next === 'end') return this.finish(give, 'end')
      if (this.meter.isComplete && this.meter.ending.length > 0) return this.finish(give, 'end', next)
      this.writeDown()
      if (next.length === 0) continue
      this.given?.push(next)
      give(next)
      return true
    }
  }

  /** The caller is gone: the upstream is told, and what went through is charged. Free to repeat. */
  async hangUp(): Promise<void> {
    await (this.settled ?? this.settle('caller_hung_up'))
  }

  /** The next bytes for the caller, the end, or null when the upstream broke off. */
  private async read(): Promise<Uint8Array | 'end' | null> {
    this.waitingSince = performance.now()
    try {
      const { done, value } = await this.reader.read()
      return done ? 'end' : this.meter.push(value)
    } catch (error) {
      if (this.settled === null && !this.silent)
        this.counter.onTrouble(this.answer.upstream, error instanceof Error ? error.name : 'the stream was cut')
      return null
    } finally {
      this.waitingSince = null
    }
  }

  private async finish(give: (bytes: Uint8Array) => void, how: 'end' | 'cut', last?: Uint8Array): Promise<false> {
    const { call } = this.taken.judged
    const rest = last ?? this.meter.close()
    const whole = how === 'end' && this.meter.isComplete && !this.meter.hasFailed
    if (whole) for (const bytes of [rest, this.meter.ending]) this.given?.push(bytes)
    const problem = await this.settle(whole ? null : this.hasAnything ? 'stream_cut' : 'nothing')
    if (rest.length > 0) give(rest)
    const told =
      problem ??
      (whole || this.meter.hasFailed
        ? null
        : failure(
            this.silent ? 'upstream_timeout' : 'upstream_error',
            'The model broke off in the middle of its answer.',
          ))
    if (told) give(new TextEncoder().encode(call.wire.errorEvent(call.failureJson(told), call.path)))
    else if (this.meter.ending.length > 0) give(this.meter.ending)
    return false
  }

  private get hasAnything(): boolean {
    return this.meter.seen.counts !== null || this.meter.seen.textBytes > 0
  }

  /** Once, whoever comes first: the end, the caller or the clock. Gives why the charge was not taken, or null. */
  private settle(code: EndCode | 'nothing'): Promise<Failure | null> {
    this.settled ??= this.settling(code).catch((error: unknown) => {
      this.counter.onTrouble('stream', error instanceof Error ? error.message : String(error))
      return failure('internal_error', 'The charge could not be made.')
    })
    return this.settled
  }

  private async settling(code: EndCode | 'nothing'): Promise<Failure | null> {
    clearTimeout(this.deadline)
    clearTimeout(this.watchdog)
    const { counter, taken } = this
    const { call } = taken.judged
    call.hangUp.removeEventListener('abort', this.onGone)
    this.answer.close()
    void this.reader.cancel().catch(() => undefined) // it may have ended by itself
    // Whatever breaks here, whoever waits for this turn must not wait for ever.
    let end: Ending = 'unknown'
    try {
      const ended = await this.ended(code)
      end = ended.end
      return ended.problem
    } finally {
      counter.streams.delete(this)
      await taken.first?.end(end)
    }
  }

  /** Charges, or lets go. */
  private async ended(code: EndCode | 'nothing'): Promise<{ problem: Failure | null; end: Ending }> {
    const { counter, taken } = this
    const { call } = taken.judged
    if (code === 'nothing') {
      const end = { status: 502, code: 'upstream_error', charged: null, now: counter.clock.now() }
      counter.journal.note({ ...callRecord(call.admitted, call.operation, end), model: taken.judged.model.id })
      await giveBack(taken, 0)
      return { problem: null, end: 'nothing' }
    }
    const kept = code === null ? this.whole() : taken.first?.cut()
    const { captured, tokens } = await charge(counter, taken.judged, taken.reservation, this.meter.seen, code, kept)
    await giveBack(taken, tokens.input + tokens.output)
    return captured.ok ? { problem: null, end: 'done' } : { problem: captured.error, end: 'unknown' }
  }

  private whole(): KeptAnswer | undefined {
    if (!this.given) return undefined
    return this.taken.first?.answer(this.given.whole(), { 'content-type': this.answer.contentType })
  }

  /** From time to time, what a start would charge if this process died now. Nobody waits for it. */
  private writeDown(): void {
    const { seen } = this.meter
    if (seen.textBytes - this.writtenDown < WRITTEN_DOWN_BYTES || this.taken.judged.most === 0) return
    this.writtenDown = seen.textBytes
    const { record } = recordOf(this.counter, this.taken.judged, seen, 'gateway_restarted')
    void this.taken.reservation.keep?.(record)
  }

  /** Ends a stream whose upstream is silent for too long; the caller's own slowness is none of it. */
  private watch(): void {
    if (this.settled !== null) return
    const waited = this.waitingSince === null ? 0 : performance.now() - this.waitingSince
    const left = this.answer.idleMs - waited
    if (left > 0) {
      this.watchdog = setTimeout(() => this.watch(), left)
      return
    }
    this.silent = true
    this.counter.onTrouble(this.answer.upstream, `silent for ${this.answer.idleMs} ms`)
    this.answer.close()
    void this.reader.cancel().catch(() => undefined)
  }
}

function close(controller: ReadableStreamDefaultController<Uint8Array>): void {
  try {
    controller.close()
  } catch {
    // The caller has closed it.
  }
}
