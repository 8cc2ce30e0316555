import type { Failure } from '../core/failure'
import type { Ticket } from '../core/limits/limiter'
import { type Money, ZERO } from '../core/money'
import type { Result } from '../core/result'
import type { CallRecord, UpstreamUse } from '../core/usage/call-record'
import type { AuthenticatedCall, PaidCall } from './call'
import type { Drain } from './drains'
import type { Reservation } from './funding/funding'
import type { Ending, FirstCaller } from './idempotency/idempotency'
import type { OpenCalls } from './open-calls'
import { type CallEnding, callRecord, type EndDeps, ended, templateOf } from './record-call'
import type { Captured, Charge, OpenCall, StoredAnswer, Work } from './work'

export interface HeldCallDeps extends EndDeps {
  readonly openCalls: OpenCalls
  /** Called when the upstream cost more than was held. The gateway absorbs the difference. */
  readonly onOverrun: (request: string, what: string, amount: Money) => void
}

/** The call, and what it took before its money was held. */
interface HeldCallParts {
  readonly deps: HeldCallDeps
  readonly call: Pick<PaidCall, 'authenticated' | 'hangUp'>
  readonly work: Work
  readonly slot: Ticket | null
  /** Set for a call with an `Idempotency-Key`. */
  readonly first: FirstCaller | null
}

/** The contract's status for these codes; 502 for all others with which a stream fails after its headers. */
export const STATUS_OF_BROKEN: Readonly<Record<string, number>> = {
  gateway_shutdown: 503,
  service_unavailable: 503,
  upstream_unavailable: 503,
  upstream_timeout: 504,
}
/** A signal that never aborts. */
const NEVER = new AbortController().signal
const DONE = Promise.resolve()

/** A call with its hold, its concurrency slot and its idempotency key. The only code that captures or releases. */
export class HeldCall implements OpenCall {
  readonly authenticated: AuthenticatedCall
  readonly hangUp: AbortSignal
  readonly drain: Drain | null
  readonly hasKey: boolean
  readonly isCredit: boolean
  readonly timeoutMs: number
  readonly reservation: Reservation
  private readonly parts: HeldCallParts
  /** Aborts for a shutdown. Made when it is first asked for. */
  private abort: AbortController | null = null
  /** Set while a shutdown waits for the call. */
  private over: PromiseWithResolvers<void> | null = null
  /** Whether a shutdown may have to end it. */
  private isListed: boolean
  private isGivenBack = false
  /** Which provider was asked, and when first. */
  private provider: string | null = null
  private askedAt = 0
  /** `open`: it streams, so its end is reported from here. */
  private streaming: 'no' | 'open' | 'reported' = 'no'

  constructor(parts: HeldCallParts, reservation: Reservation, drain: Drain | null) {
    const { deps, call, work, slot, first } = parts
    const { deadline = Number.POSITIVE_INFINITY, isCredit = false } = reservation
    this.parts = parts
    this.reservation = reservation
    this.authenticated = call.authenticated
    this.hangUp = call.hangUp
    this.drain = drain
    this.hasKey = first !== null
    this.isCredit = isCredit
    this.timeoutMs = Math.max(0, Math.min(work.timeoutMs, deadline - deps.clock.now()))
    this.isListed = slot !== null
    if (slot) deps.openCalls.add(this)
  }

  get shutdown(): AbortSignal {
    if (!this.parts.slot) return NEVER
    this.abort ??= new AbortController()
    return this.abort.signal
  }

  breakOff(): Promise<void> {
    this.abort ??= new AbortController()
    this.abort.abort()
    if (!this.isListed) return DONE
    this.over ??= Promise.withResolvers<void>()
    return this.over.promise
  }

  /** True when everything was given back and nothing waits for the call to end. */
  get isOver(): boolean {
    return this.isGivenBack && !this.hasKey && !this.isListed
  }

  async persist(charge: Charge): Promise<boolean> {
    return (await this.reservation.persist?.(this.record(charge))) ?? false
  }

  /** Call when its body streams: from here on its end is known here, not where its response is made. */
  streams(): void {
    this.streaming = 'open'
    this.authenticated.incoming.trace?.step('stream')
  }

  async charge(charge: Charge, stored: StoredAnswer): Promise<Result<Captured, Failure>> {
    const { deps, work, first, slot } = this.parts
    const { charged, tokens, overrun = ZERO, upstreamCost } = charge
    const { incoming, caller } = this.authenticated
    if (overrun > 0) deps.onOverrun(incoming.id, work.model ?? work.operation, overrun)
    incoming.trace?.step('capture')
    const status = stored === 'cut' ? 200 : stored.status
    const captured = await this.reservation.capture({
      amount: charged.cost,
      record: caller.kind === 'anonymous' ? null : this.record(charge, status),
      overrun,
      upstreamCost,
      ...(first && {
        answer: stored === 'cut' ? first.cut() : first.answer(stored.body, stored.headers, stored.status),
      }),
      ...(stored !== 'cut' && { delivery: { ...stored, isGone: () => this.hangUp.aborted } }),
    })
    const used = tokens ? tokens.input + tokens.output : 0
    if (captured.ok) {
      this.isGivenBack = true
      slot?.finish(used)
    } else await this.giveBack(used)
    if (captured.ok) this.streamEnded(status ?? 200, charge.code ?? null)
    else this.streamEnded(503, captured.error.code)
    return captured
  }

  asked(provider: string): void {
    if (this.provider === null) this.askedAt = this.parts.deps.clock.now()
    this.provider = provider
  }

  /** Its upstream until now, if it was asked. */
  upstreamUse(now: number): UpstreamUse | undefined {
    const { provider, askedAt } = this
    if (provider === null) return undefined
    const waitingMs = Math.max(0, askedAt - this.authenticated.incoming.at)
    return { provider, waitingMs, upstreamMs: Math.max(0, now - askedAt) }
  }

  note(code: string, message: string): void {
    const { deps, work } = this.parts
    const { model, quote } = work
    const failure = { route: templateOf(this.authenticated.incoming.route), message, param: null, rule: null }
    const upstream = this.upstreamUse(deps.clock.now())
    this.streamEnded(STATUS_OF_BROKEN[code] ?? 502, code, { held: quote.maxCost, model, upstream, failure })
  }

  giveBack(tokens = 0): Promise<void> | null {
    if (this.isGivenBack) return null
    this.isGivenBack = true
    const released = this.reservation.release()
    this.parts.slot?.finish(tokens)
    return released
  }

  close(end: Ending): Promise<void> | null {
    // For a stream that ended by a fault: all others have reported their end.
    this.streamEnded(500, 'internal_error')
    if (!this.isGivenBack || this.hasKey) return this.closeLater(end)
    this.unlist()
    return null
  }

  private async closeLater(end: Ending): Promise<void> {
    try {
      await this.giveBack()
    } finally {
      try {
        await this.parts.first?.end(end)
      } finally {
        this.unlist()
      }
    }
  }

  private unlist(): void {
    if (!this.isListed) return
    this.isListed = false
    this.parts.deps.openCalls.delete(this)
    this.over?.resolve()
  }

  private streamEnded(status: number, code: string | null, row?: CallEnding['row']): void {
    if (this.streaming !== 'open') return
    this.streaming = 'reported'
    const { deps, work } = this.parts
    const end = { operation: work.operation, status, code, provider: this.provider }
    ended(deps, this.authenticated, row ? { ...end, row } : end)
  }

  private record({ charged, code = null, tokens, usageSource, upstreamCost }: Charge, status = 200): CallRecord {
    const { deps, work } = this.parts
    const now = deps.clock.now()
    const upstream = this.upstreamUse(now)
    const { model, quote } = work
    const held = quote.fixed ? undefined : quote.maxCost
    const end = { status, code, charged, held, upstreamCost, now, tokens, model, usageSource, upstream }
    return callRecord(this.authenticated, work.operation, end)
  }
}
