import type { Clock } from '../clock'
import { no, ok, type Result } from '../result'
import type { ClaimStore, NewClaim, Taken } from './claim'
import type { PaymentMethod, ReadCredential, SettleOutcome } from './method'
import { type GivenReceipt, type Receipt, receiptText } from './receipt'
import { type PaymentRefusal, PENDING } from './refusal'

const LOOK_UPS = 3
const LOOK_UP_PAUSE_MS = 150

export interface PaymentParts {
  readonly claims: ClaimStore
  readonly clock: Clock
  /** Waits between two questions to the network; the tests do not. */
  readonly pause: (ms: number) => Promise<void>
  readonly onTrouble: (what: string, reason: string) => void
}

/** One try of one claimed credential. It ends in exactly one of `served` and `release`. */
export class Payment {
  private readonly parts: PaymentParts
  private readonly method: PaymentMethod
  private readonly read: ReadCredential
  private readonly attempt: number
  readonly claim: NewClaim
  /** When the upstream's answer must be there (ms), so that there is time left to settle. */
  readonly deadline: number
  private paid: boolean
  private ended = false

  constructor(
    parts: PaymentParts,
    method: PaymentMethod,
    read: ReadCredential,
    claim: NewClaim,
    taken: Exclude<Taken, { kind: 'refused' }>,
    deadline: number,
  ) {
    this.parts = parts
    this.method = method
    this.read = read
    this.claim = claim
    this.attempt = taken.attempt
    this.paid = taken.kind === 'prepaid'
    this.deadline = deadline
  }

  /** Moves the money, once: the row says so before anything is sent. Then `served` or `release` follows. */
  async settle(): Promise<Result<null, PaymentRefusal>> {
    if (this.paid) return ok(null)
    const { claims, clock } = this.parts
    const { key } = this.claim
    if (!(await claims.settling(key, this.attempt, clock.now()))) {
      this.ended = true
      return no({ code: 'payment_in_progress', reason: 'Another try of this payment took over.' })
    }
    const outcome = await this.send()
    if (outcome.kind === 'settled') {
      await claims.settled(key, outcome.reference, clock.now())
      this.paid = true
      return ok(null)
    }
    this.ended = true
    if (outcome.kind === 'refused') {
      await claims.release(key, outcome.reason, true, clock.now())
      return no({ code: 'verification_failed', reason: 'The payment would not go through. Nothing was charged.' })
    }
    this.parts.onTrouble('payment', `${this.claim.id}: ${outcome.reason}`)
    await claims.letGo(key, outcome.reason, clock.now())
    return no(PENDING)
  }

  /** The answer goes out now. */
  async served(): Promise<GivenReceipt> {
    const { claims, clock } = this.parts
    const { key, method, transaction } = this.claim
    const now = clock.now()
    await claims.served(key, now)
    this.ended = true
    const reference = (await claims.find(key))?.reference ?? transaction
    const receipt: Receipt = { method, status: 'success', reference, timestamp: new Date(now).toISOString() }
    const more = this.method.receiptHeaders?.(this.read, receipt) ?? {}
    return { ...receipt, headers: { 'payment-receipt': receiptText(receipt), ...more } }
  }

  /** No answer. What was not paid is given back; what was is owed. After the end it does nothing. */
  async release(reason: string): Promise<void> {
    if (this.ended) return
    this.ended = true
    const { claims, clock } = this.parts
    if (this.paid) await claims.owe(this.claim.key, reason, clock.now())
    else await claims.release(this.claim.key, reason, false, clock.now())
  }

  /** Sends; where the network does not say what became of it, asks it, and sends once more what it has not seen. */
  private async send(): Promise<SettleOutcome> {
    let outcome = await this.method.settle(this.read)
    for (let tries = 0; outcome.kind === 'unknown' && tries < LOOK_UPS; tries++) {
      await this.parts.pause(LOOK_UP_PAUSE_MS)
      const fate = await this.method.lookUp(this.read.handle)
      if (fate.kind === 'settled') return fate
      if (fate.kind === 'never') return { kind: 'refused', reason: 'never settled' }
      if (tries === LOOK_UPS - 1) outcome = await this.resent(outcome)
    }
    return outcome
  }

  /** A refusal of the second sending says nothing about the first one. */
  private async resent(before: SettleOutcome): Promise<SettleOutcome> {
    const again = await this.method.settle(this.read)
    if (again.kind === 'settled') return again
    const fate = await this.method.lookUp(this.read.handle)
    return fate.kind === 'settled' ? fate : before
  }
}
