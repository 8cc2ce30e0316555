import { type Clock, isoTime } from '../clock'
import type { Money } from '../money'
import { err, ok, type Result } from '../result'
import type { PaymentStep } from '../telemetry/telemetry'
import type { ClaimStore, ClaimTaken, NewClaim } from './claim'
import type { PaymentMethod, ReadCredential, SettleOutcome } from './method'
import { type DeliveredReceipt, type Receipt, receiptText } from './receipt'
import { DISCONNECTED, IN_PROGRESS, type PaymentRefusal, PENDING } from './refusal'

const LOOK_UPS = 3
const LOOK_UP_PAUSE_MS = 150
/** The part of an attempt's lease that is reserved for settling. */
export const SETTLE_MS = 30_000

export interface PaymentParts {
  readonly claims: ClaimStore
  readonly clock: Clock
  /** Waits between two look-ups. Returns at once in tests. */
  readonly pause: (ms: number) => Promise<void>
  readonly onTrouble: (what: string, reason: string) => void
  /** For the metrics. */
  readonly onStep?: (step: PaymentStep) => void
}

/** A response ready for its payer. */
export interface PaidDelivery {
  /** The response to store if the payer has disconnected. Null when it is too large to store. */
  readonly answer: string | null
  /** Whether the payer's connection is closed. */
  isGone(): boolean
  /** The upstream cost to the operator; absent if not known. */
  readonly upstreamCost?: Money | undefined
}

/** One attempt to pay with a claimed credential. It ends with exactly one of `give`, `served` and `release`. */
export class Payment {
  private readonly parts: PaymentParts
  private readonly method: PaymentMethod
  private readonly read: ReadCredential
  private readonly taken: Exclude<ClaimTaken, { kind: 'refused' }>
  readonly claim: NewClaim
  private readonly deadlines: { readonly paid: number; readonly unpaid: number }
  private paid: boolean
  private ended = false
  /** The response that the payment is for, once it may have been sent; null before. */
  private sentFor: { readonly answer: string | null } | null = null

  constructor(
    parts: PaymentParts,
    method: PaymentMethod,
    read: ReadCredential,
    claim: NewClaim,
    taken: Exclude<ClaimTaken, { kind: 'refused' }>,
    deadlines: { readonly paid: number; readonly unpaid: number },
  ) {
    this.parts = parts
    this.method = method
    this.read = read
    this.claim = claim
    this.taken = taken
    this.paid = taken.kind === 'prepaid'
    this.deadlines = deadlines
  }

  /** When the upstream must have answered (ms), so that enough time is left to settle an unpaid payment. */
  get deadline(): number {
    return this.paid ? this.deadlines.paid : this.deadlines.unpaid
  }

  get isPaid(): boolean {
    return this.paid
  }

  /** The stored response that an earlier attempt could not deliver. The upstream is not called again. */
  get undeliveredAnswer(): string | null {
    return this.taken.kind === 'prepaid' ? this.taken.answer : null
  }

  /**
   * Moves the money, once. The claim is marked as settling before anything is sent, with the amount, so that a later attempt sends the
   * same one. `give`, `served` or `release` must follow. While the outcome is unknown, `answer` is stored for later.
   */
  async settle(answer: string | null = null, amount: Money = this.claim.amount): Promise<Result<null, PaymentRefusal>> {
    if (this.paid) return ok(null)
    const { claims, clock } = this.parts
    const { key } = this.claim
    if (amount > this.claim.amount || (amount < this.claim.amount && !this.method.isUpTo))
      throw new Error(`a payment of ${this.claim.amount} cannot settle ${amount}`)
    const now = clock.now()
    if (!(await claims.settling(key, this.taken.attempt, now, { leaseUntil: now + SETTLE_MS, amount }))) {
      this.ended = true
      return err({ code: 'payment_in_progress', reason: 'Another request with this credential took over.' })
    }
    this.sentFor = { answer }
    const outcome = await this.send(amount)
    if (outcome.kind === 'settled') {
      await claims.settled(key, outcome.reference, clock.now())
      this.paid = true
      this.parts.onStep?.('settled')
      return ok(null)
    }
    this.ended = true
    this.parts.onStep?.(outcome.kind === 'refused' ? 'failed' : 'unknown')
    if (outcome.kind === 'refused') {
      await claims.release(key, outcome.reason, outcome.isOurs !== true, clock.now())
      return err({ code: 'verification_failed', reason: 'The network refused the payment. Nothing was charged.' })
    }
    this.parts.onTrouble('payment', `${this.claim.id}: ${outcome.reason}`)
    await claims.endLease(key, { reason: outcome.reason, isOurs: outcome.isOurs === true }, answer, clock.now())
    return err(PENDING)
  }

  /**
   * Delivers the response. A payer who disconnected during settling gets it by presenting the same credential again, once. A
   * response that was too large to store is then produced again.
   */
  async give({ answer, isGone, upstreamCost }: PaidDelivery): Promise<Result<DeliveredReceipt, PaymentRefusal>> {
    const { claims, clock } = this.parts
    const { key } = this.claim
    const { attempt } = this.taken
    // After one disconnect this is the last attempt: a response that cannot be stored is not produced a third time.
    const canComeAgain = this.taken.kind !== 'prepaid' || !this.taken.isLast || this.undeliveredAnswer !== null
    if (!canComeAgain || !isGone()) {
      const isServed = await claims.served(key, clock.now(), attempt, upstreamCost)
      this.ended = true
      if (!isServed) return err(IN_PROGRESS)
      if (!canComeAgain || !isGone()) return ok(await this.receipt())
    }
    await claims.undelivered(key, attempt, answer, clock.now())
    this.ended = true
    return err(DISCONNECTED)
  }

  /** Marks the purchase as delivered. */
  async served(): Promise<DeliveredReceipt> {
    const { claims, clock } = this.parts
    await claims.served(this.claim.key, clock.now(), this.taken.attempt)
    this.ended = true
    return this.receipt()
  }

  /**
   * Ends the attempt without a response. An unpaid claim is released and a paid one stays owed. If the payment was sent but not
   * recorded as paid, only the network knows its outcome. Does nothing after the attempt has ended.
   */
  async release(reason: string): Promise<void> {
    if (this.ended) return
    this.ended = true
    const { claims, clock } = this.parts
    const { attempt } = this.taken
    if (this.paid) await claims.markUnserved(this.claim.key, reason, clock.now(), attempt)
    else if (this.sentFor) {
      await claims.endLease(this.claim.key, { reason, isOurs: true }, this.sentFor.answer, clock.now())
    } else await claims.release(this.claim.key, reason, false, clock.now(), attempt)
  }

  private async receipt(): Promise<DeliveredReceipt> {
    const { claims, clock } = this.parts
    const { key, method, transaction } = this.claim
    const { reference, amount } = (await claims.find(key)) ?? { ...this.claim, reference: null }
    const timestamp = isoTime(clock.now())
    const receipt: Receipt = { method, status: 'success', reference: reference ?? transaction, timestamp }
    const more = this.method.receiptHeaders?.(this.read, receipt, amount) ?? {}
    return { ...receipt, amount, headers: { 'payment-receipt': receiptText(receipt), ...more } }
  }

  /** Sends the payment. If the outcome is unknown, looks it up, and as a last resort sends it once more. */
  private async send(amount: Money): Promise<SettleOutcome> {
    let outcome = await this.method.settle(this.read, amount)
    for (let tries = 0; outcome.kind === 'unknown' && tries < LOOK_UPS; tries++) {
      await this.parts.pause(LOOK_UP_PAUSE_MS)
      const fate = await this.method.lookUp(this.read.handle)
      if (fate.kind === 'settled') return fate
      if (fate.kind === 'never') return { ...outcome, kind: 'refused', reason: 'never settled' }
      if (tries === LOOK_UPS - 1) outcome = await this.resent(outcome, amount)
    }
    return outcome
  }

  /** Sends again. A refusal of the second transmission says nothing about the first one. */
  private async resent(before: SettleOutcome, amount: Money): Promise<SettleOutcome> {
    const again = await this.method.settle(this.read, amount)
    if (again.kind === 'settled') return again
    const fate = await this.method.lookUp(this.read.handle)
    return fate.kind === 'settled' ? fate : before
  }
}
