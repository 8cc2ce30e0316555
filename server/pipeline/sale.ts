import { type Failure, failure, uncharged } from '../core/failure'
import type { IdempotencyRecord } from '../core/idempotency/idempotency-record'
import type { Readings } from '../core/limits/limiter'
import { formatUsd, type Money, ZERO } from '../core/money'
import type { Result } from '../core/result'
import type { CallRecord, UpstreamUse } from '../core/usage/call-record'
import { type AuthenticatedCall, type Outcome, type PaidCall, type RefusedOutcome, refusedOutcome } from './call'
import { HUNG_UP } from './call-upstream'
import type { Allowance, Decisions } from './decisions'
import type { Funding, Reservation } from './funding/payment'
import type { Ending, FirstCaller, Idempotency } from './idempotency/idempotency'
import type { OpenCalls } from './open-calls'
import { type CallEnding, callRecord, type EndDeps, ended, templateOf } from './record-call'
import type { Captured, Charge, OpenCall, StoredAnswer, Work, WorkResult } from './work'

export interface SaleDeps extends EndDeps {
  readonly decisions: Decisions
  /** Payments of their own. */
  readonly funding: Funding
  readonly idempotency: Pick<Idempotency, 'use'>
  readonly openCalls: OpenCalls
  /** Called when the upstream cost more than was held. The gateway absorbs the difference. */
  readonly onOverrun: (request: string, what: string, amount: Money) => void
}

/** The contract's status for these codes; 502 for all others with which a stream fails after its headers. */
export const STATUS_OF_BROKEN: Readonly<Record<string, number>> = {
  gateway_shutdown: 503,
  service_unavailable: 503,
  upstream_unavailable: 503,
  upstream_timeout: 504,
}
/** A price that changes between quote and hold is quoted again so often. */
const MAX_REQUOTES = 2
const NEVER = new AbortController().signal
const DONE = Promise.resolve()

type Ended<K extends WorkResult['kind']> = Extract<WorkResult, { readonly kind: K }>

/**
 * One call that is sold: its work, and what it took of limits and money. The only code that captures or releases. Each step takes at most one
 * resource; `leave` gives everything back on every way out, unless the call streams, which gives it back at its end.
 */
export class Sale implements OpenCall {
  readonly authenticated: AuthenticatedCall
  readonly hangUp: AbortSignal
  timeoutMs = 0
  private readonly deps: SaleDeps
  private readonly call: PaidCall
  private readonly allowance: Allowance
  private work: Work
  /** Set for a call with an `Idempotency-Key`. */
  private first: FirstCaller | null = null
  private payment: Reservation | null = null
  /** What repeats learn of a call that ends by a fault. */
  private end: Ending = 'nothing'
  /** Aborts for a shutdown. Made when it is first asked for. */
  private abort: AbortController | null = null
  /** Set while a shutdown waits for the call. */
  private over: PromiseWithResolvers<void> | null = null
  /** Whether a shutdown may have to end it. */
  private isListed = false
  private isGivenBack = false
  /** Its body streams, and ends the call. */
  private goesOn = false
  /** Which provider was asked, and when first. */
  private provider: string | null = null
  private askedAt = 0
  /** `open`: it streams, so its end is reported from here. */
  private streaming: 'no' | 'open' | 'reported' = 'no'

  constructor(deps: SaleDeps, call: PaidCall, allowance: Allowance, work: Work) {
    this.deps = deps
    this.call = call
    this.allowance = allowance
    this.work = work
    this.authenticated = call.authenticated
    this.hangUp = call.hangUp
  }

  get drain() {
    return this.allowance.drain
  }

  get hasKey(): boolean {
    return this.first !== null
  }

  get isCredit(): boolean {
    return this.allowance.isCredit
  }

  get isLost(): boolean {
    return this.allowance.isLost
  }

  get shutdown(): AbortSignal {
    if (!this.allowance.takesSlot) return NEVER
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

  /** What is answered without selling anything: a quote, a price above the caller's maximum, a repeat; null if the call is to be sold. */
  unsold(): Outcome | null | Promise<Outcome | null> {
    const { quote, idempotencyKey } = this.call.options
    if (quote) return this.quoted()
    const tooExpensive = this.aboveMaximum()
    if (tooExpensive) return tooExpensive
    return idempotencyKey === null ? null : this.useKey(idempotencyKey)
  }

  /** Takes the limits and the money, or returns what is missing. */
  hold(): RefusedOutcome | null | Promise<RefusedOutcome | null> {
    const isKnown = this.authenticated.caller.kind !== 'anonymous'
    const holding = isKnown ? this.allowance.hold(this.work, this.hangUp) : this.reserve()
    if (holding !== null) return this.holdLater(holding)
    this.begin()
    return null
  }

  /** Calls the upstream, unless an earlier attempt has its answer. From here on a hang-up changes nothing (ADR 18). */
  run(): WorkResult | Promise<WorkResult> {
    this.authenticated.incoming.trace?.step('upstream')
    const undelivered = this.payment?.undeliveredAnswer
    return undelivered ? paidBefore(this.work, undelivered) : this.work.run(this)
  }

  /** Charges what the upstream gave. */
  settle(result: WorkResult): Promise<Outcome> {
    switch (result.kind) {
      case 'answer':
        return this.answer(result)
      case 'stream':
        return this.stream(result)
      case 'failed':
        return this.fail(result)
    }
  }

  /** The answer of a call that is not charged. `end`: what repeats learn of it. */
  async refuse(problem: Failure, end: Ending = 'nothing'): Promise<RefusedOutcome> {
    const upstream = this.upstreamUse(this.deps.clock.now())
    const released = this.giveBack()
    if (released !== null) await released
    this.end = end
    return { kind: 'refused', failure: problem, readings: this.readings(), upstream, held: this.work.quote.maxCost }
  }

  /** Call on every way out: gives back what was taken, unless the call goes on as a stream. Null if there is nothing to wait for. */
  leave(): Promise<void> | null {
    if (this.goesOn || this.isOver) return null
    return this.close(this.end)
  }

  async persist(charge: Charge): Promise<boolean> {
    return this.payment === null && (await this.allowance.keep(this.record(charge)))
  }

  async charge(charge: Charge, stored: StoredAnswer): Promise<Result<Captured, Failure>> {
    const { overrun = ZERO } = charge
    const { incoming } = this.authenticated
    if (overrun > 0) this.deps.onOverrun(incoming.id, this.work.model ?? this.work.operation, overrun)
    incoming.trace?.step('capture')
    const { tokens } = charge
    const used = tokens ? tokens.input + tokens.output : 0
    const status = (stored !== 'cut' && stored.status) || 200
    const captured = await (this.payment
      ? this.capturePayment(this.payment, charge, stored)
      : this.allowance.capture({
          amount: charge.charged.cost,
          record: this.record(charge, status),
          overrun,
          tokens: used,
          answer: this.storedFor(stored),
        }))
    if (captured.ok) {
      this.isGivenBack = true
      if (this.payment) void this.allowance.release(used)
      this.streamEnded(status, charge.code ?? null)
    } else {
      await this.giveBack(used)
      this.streamEnded(503, captured.error.code)
    }
    return captured
  }

  asked(provider: string): void {
    if (this.provider === null) this.askedAt = this.deps.clock.now()
    this.provider = provider
  }

  note(code: string, message: string): void {
    const { deps, work } = this
    const { model, quote } = work
    const failure = { route: templateOf(this.authenticated.incoming.route), message, param: null, rule: null }
    const upstream = this.upstreamUse(deps.clock.now())
    this.streamEnded(STATUS_OF_BROKEN[code] ?? 502, code, { held: quote.maxCost, model, upstream, failure })
  }

  giveBack(tokens = 0): Promise<void> | null {
    if (this.isGivenBack) return null
    this.isGivenBack = true
    const released = this.payment?.release() ?? null
    return this.allowance.release(tokens) ?? released
  }

  close(end: Ending): Promise<void> | null {
    // For a stream that ended by a fault: all others have reported their end.
    this.streamEnded(500, 'internal_error')
    const released = this.giveBack()
    if (released !== null || this.first !== null) return this.closeLater(released, end)
    this.unlist()
    return null
  }

  private async closeLater(released: Promise<void> | null, end: Ending): Promise<void> {
    try {
      await released
    } finally {
      try {
        await this.first?.end(end)
      } finally {
        this.unlist()
      }
    }
  }

  private get isOver(): boolean {
    return this.isGivenBack && this.first === null && !this.isListed
  }

  private async quoted(): Promise<Outcome> {
    const balance = await this.deps.decisions.spendable(this.authenticated, true)
    return { kind: 'quoted', quote: this.work.quote, balance }
  }

  /**
   * Decides about a call under its `Idempotency-Key`, before any money is held. A stream counts as a write: it is charged for what was sent even if
   * the process dies, so its key is reserved before it begins.
   */
  private async useKey(key: string): Promise<Outcome | null> {
    const { caller, incoming } = this.authenticated
    if (caller.kind === 'anonymous') return null
    const { operation, effect, streams } = this.work
    const use = await this.deps.idempotency.use({
      account: caller.account.id,
      operation,
      key,
      fingerprint: this.work.fingerprint(),
      requestId: incoming.id,
      effect: streams ? 'write' : effect,
    })
    if (!use.ok) return refusedOutcome(use.error)
    if (use.value.kind === 'repeat') return { ...use.value, kind: 'repeated' }
    this.first = use.value.first
    // A caller who hung up while it waited for the first one has begun nothing.
    return this.hangUp.aborted ? refusedOutcome(HUNG_UP) : null
  }

  private async reserve(): Promise<RefusedOutcome | null> {
    const reserved = await this.deps.funding.reserve(this.work, this.authenticated)
    if (!reserved.ok) return refusedOutcome(reserved.error, this.readings())
    this.payment = reserved.value
    return null
  }

  private async holdLater(holding: RefusedOutcome | Promise<RefusedOutcome | null>): Promise<RefusedOutcome | null> {
    let refusal = await holding
    for (let tries = 0; refusal?.isStale && this.work.requote && tries < MAX_REQUOTES; tries++)
      refusal = await this.holdAt(this.work.requote())
    if (refusal === null) {
      this.begin()
      return null
    }
    const { work, authenticated } = this
    const isKnown = authenticated.caller.kind !== 'anonymous'
    const offered = isKnown ? await this.deps.funding.offered(refusal.failure, work, authenticated) : refusal.failure
    return { ...refusal, failure: work.explainRefusal ? await work.explainRefusal(offered) : offered }
  }

  private holdAt(requoted: Result<Work, Failure>): ReturnType<Allowance['hold']> {
    if (!requoted.ok) return refusedOutcome(requoted.error)
    this.work = requoted.value
    return this.aboveMaximum() ?? this.allowance.hold(this.work, this.hangUp)
  }

  private aboveMaximum(): RefusedOutcome | null {
    const { maxPrice } = this.call.options
    const { maxCost } = this.work.quote
    if (maxPrice === null || maxCost <= maxPrice) return null
    const message = `This request costs ${formatUsd(maxCost)} USD, more than the ${formatUsd(maxPrice)} USD of X-Max-Price-USD.`
    return refusedOutcome(failure('estimated_price_exceeds_max_price', message, { param: 'x-max-price-usd' }))
  }

  /** The money is held: from here on a shutdown waits for the call, and what a fault leaves of a write is not known. */
  private begin(): void {
    const { deps, work, allowance } = this
    this.end = work.effect === 'write' ? 'unknown' : 'nothing'
    const deadline = this.payment?.deadline ?? Number.POSITIVE_INFINITY
    this.timeoutMs = Math.max(0, Math.min(work.timeoutMs, deadline - deps.clock.now()))
    if (!allowance.takesSlot) return
    this.isListed = true
    deps.openCalls.add(this)
  }

  private async answer(answer: Ended<'answer'>): Promise<Outcome> {
    const { work } = this
    const { body, charge, ageSeconds, status } = answer
    const headers = { ...work.headers, ...answer.headers }
    const captured = await this.charge(charge, { body, headers, status })
    if (!captured.ok) return this.refuse(captured.error, work.effect === 'write' ? 'unknown' : 'nothing')
    if (answer.onCharged) await answer.onCharged()
    this.end = 'done'
    const { cost, receipt } = captured.value
    const age = ageSeconds === undefined ? headers : { ...headers, age: String(ageSeconds) }
    return { kind: 'served', status, body, headers: age, cost, receipt, readings: this.readings() }
  }

  private async fail({ failure: problem, owed, didNothing }: Ended<'failed'>): Promise<Outcome> {
    // A caller who hung up may be charged for the cost. The reply is the same as for any failure, and is not read.
    const charged = owed && (await this.charge(owed, 'cut'))
    if (charged?.ok) {
      this.end = 'done'
      return { ...refusedOutcome(problem), isCharged: true }
    }
    const end = this.work.effect === 'write' && !didNothing ? 'unknown' : 'nothing'
    return this.refuse(this.payment?.isPaid ? stillGood(problem) : problem, end)
  }

  /** A stream's hold must be durable before its first byte (ADR 10). A free stream has nothing to settle. */
  private async stream(stream: Ended<'stream'>): Promise<Outcome> {
    const { work } = this
    let isOpen = false
    try {
      if (work.quote.maxCost > 0 && !(await this.persist(stream.lost))) return await this.refuse(NOT_PREPARED)
      const readings = this.readings()
      const body = stream.open()
      isOpen = true
      this.streaming = 'open'
      this.authenticated.incoming.trace?.step('stream')
      const headers = { ...work.headers, ...stream.headers }
      this.goesOn = true
      return { kind: 'streaming', status: stream.status, body, headers, readings }
    } finally {
      if (!isOpen) stream.close()
    }
  }

  private capturePayment(payment: Reservation, { charged, upstreamCost }: Charge, stored: StoredAnswer) {
    if (stored === 'cut') throw new Error('a payment buys a whole answer')
    const delivery = { ...stored, isGone: () => this.hangUp.aborted }
    return payment.capture({ amount: charged.cost, upstreamCost, delivery })
  }

  private storedFor(stored: StoredAnswer): IdempotencyRecord | undefined {
    if (this.first === null) return undefined
    return stored === 'cut' ? this.first.cut() : this.first.answer(stored.body, stored.headers, stored.status)
  }

  private upstreamUse(now: number): UpstreamUse | undefined {
    const { provider, askedAt } = this
    if (provider === null) return undefined
    const waitingMs = Math.max(0, askedAt - this.authenticated.incoming.at)
    return { provider, waitingMs, upstreamMs: Math.max(0, now - askedAt) }
  }

  private readings(): Readings | undefined {
    return this.allowance.readings()
  }

  private unlist(): void {
    if (!this.isListed) return
    this.isListed = false
    this.deps.openCalls.delete(this)
    this.over?.resolve()
  }

  private streamEnded(status: number, code: string | null, row?: CallEnding['row']): void {
    if (this.streaming !== 'open') return
    this.streaming = 'reported'
    const { deps, work } = this
    const end = { operation: work.operation, status, code, provider: this.provider }
    ended(deps, this.authenticated, row ? { ...end, row } : end)
  }

  private record({ charged, code = null, tokens, usageSource, upstreamCost }: Charge, status = 200): CallRecord {
    const { deps, work } = this
    const now = deps.clock.now()
    const upstream = this.upstreamUse(now)
    const { model, quote } = work
    const held = quote.fixed ? undefined : quote.maxCost
    const end = { status, code, charged, held, upstreamCost, now, tokens, model, usageSource, upstream }
    return callRecord(this.authenticated, work.operation, end)
  }
}

/** The answer that an earlier attempt with this payment got but could not deliver. It is paid, whatever the charge says. */
function paidBefore({ quote: { maxCost, version } }: Work, body: string): WorkResult {
  return {
    kind: 'answer',
    body,
    charge: { charged: { cost: maxCost, priceVersion: version, units: 1, unitPrice: maxCost } },
  }
}

const NOT_PREPARED = uncharged('service_unavailable', 'The charge could not be prepared. Try again.', {
  retryAfterSeconds: 1,
})

/** The failure for a payer whose payment settled before there was an answer: the credential is good for another attempt. */
function stillGood(problem: Failure): Failure {
  return {
    ...problem,
    uncharged: false,
    message: `${problem.message} Your payment went through: send the request again with the same credential; do not pay again.`,
  }
}
