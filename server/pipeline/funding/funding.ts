import type { Failure } from '../../core/failure'
import type { IdempotencyRecord } from '../../core/idempotency/idempotency-record'
import type { Money } from '../../core/money'
import type { Result } from '../../core/result'
import type { CallRecord } from '../../core/usage/call-record'
import type { AuthenticatedCall } from '../call'
import type { Captured, Work } from '../work'

/** What a work tells of the money that it needs. */
export type Priced = Pick<Work, 'operation' | 'quote' | 'credit' | 'timeoutMs' | 'fingerprint'>

/**
 * Who pays, and how. Balance and per-request payment are one thing to the rest of the pipeline: both reserve the most that a call can cost, and a
 * reservation ends in exactly one of capture or release.
 */
export interface Funding {
  /** Makes sure of the money before the upstream is called, or says which 402 it is. */
  reserve(work: Priced, authenticated: AuthenticatedCall): Promise<Result<Reservation, Failure>>
}

/** An answer that is about to be given. */
export interface Delivery {
  readonly body: string | Uint8Array
  /** Whether its caller has hung up. */
  isGone(): boolean
}

/** One charge. */
export interface Capture {
  readonly amount: Money
  /** Its row; null for a caller without an account. */
  readonly record: CallRecord | null
  /** What the call cost above its hold; the house bears it. */
  readonly overrun: Money
  /** The answer, for its `Idempotency-Key`, in the same commit. */
  readonly kept?: IdempotencyRecord
  /** What a payment of its own buys. */
  readonly delivery?: Delivery
}

export interface Reservation {
  /** Paid for and answered before, to a caller who had left: this is the answer. No upstream is asked for another. */
  readonly keptAnswer?: string | null
  /** The money is taken already: a failure leaves it owed. */
  readonly isPaid?: boolean
  /** Signup credit pays, which buys a part of the source only; no other part may be asked. */
  readonly isCredit?: boolean
  /** Charges, at most what was reserved. Durable when it resolves to a success; nothing is charged otherwise. */
  capture(capture: Capture): Promise<Result<Captured, Failure>>
  /**
   * Makes the reservation outlive this process, for a stream: a start that finds it charges `call`. Again with a newer `call`
   * writes down how far the stream has come. False: not durable. Absent: this way to pay is not for streams.
   */
  persist?(call: CallRecord): Promise<boolean>
  /** Ends the reservation without a charge. Free to repeat, and after a capture it does nothing. */
  release(reason?: string): Promise<void>
  /** The answer must be there before this moment (ms), or it cannot be paid for. */
  readonly deadline?: number
}
