import type { Failure } from '../../core/failure'
import type { IdempotencyRecord } from '../../core/idempotency/idempotency-record'
import type { Money } from '../../core/money'
import type { GivenReceipt } from '../../core/payments/receipt'
import type { Result } from '../../core/result'
import type { CallRecord } from '../../core/usage/call-record'
import type { AnyOperation, AuthenticatedCall } from '../call'
import type { Quote } from '../quote'

/** What of a source signup credit may buy. */
export type CreditUse = 'all' | 'part' | 'nothing'

/**
 * Who pays, and how. Balance and per-request payment are one thing to the rest of the pipeline: both reserve the most that a call can cost, and a
 * reservation ends in exactly one of capture or release.
 */
export interface Funding {
  /** Makes sure of the money before the upstream is called, or says which 402 it is. */
  reserve(
    quote: Quote,
    authenticated: AuthenticatedCall,
    operation: AnyOperation,
    credit: CreditUse,
    /** Of the request that is paid for (`fingerprintOf`). */
    fingerprint: () => string,
  ): Promise<Result<Reservation, Failure>>
}

export interface Captured {
  readonly cost: Money
  /** Of a call that was paid for by itself. */
  readonly receipt: GivenReceipt | null
}

/** An answer that is about to be given. */
export interface Delivery {
  readonly body: string | Uint8Array
  /** Whether its caller has hung up. */
  isGone(): boolean
}

export interface Reservation {
  /** Paid for and answered before, to a caller who had left: this is the answer. No upstream is asked for another. */
  readonly keptAnswer?: string | null
  /** The money is taken already: a failure leaves it owed. */
  readonly isPaid?: boolean
  /** Signup credit pays, which buys a part of the source only; no other part may be asked. */
  readonly isCredit?: boolean
  /**
   * Charges `amount`, at most what was reserved. Durable when it resolves to a success; nothing is charged otherwise. `overrun`:
   * what the call cost above that; the house bears it. `kept`: the answer, for its idempotency, in the same commit. `delivery`: what a
   * payment of its own buys.
   */
  capture(
    amount: Money,
    call: CallRecord | null,
    overrun?: Money,
    kept?: IdempotencyRecord,
    delivery?: Delivery,
  ): Promise<Result<Captured, Failure>>
  /**
   * Makes the reservation outlive this process, for a stream: a start that finds it charges `call`. Again with a newer `call`
   * writes down how far the stream has come. False: not durable. Absent: this way to pay is not for streams.
   */
  keep?(call: CallRecord): Promise<boolean>
  /** Ends the reservation without a charge. Free to repeat, and after a capture it does nothing. */
  release(reason?: string): Promise<void>
  /** The answer must be there before this moment (ms), or it cannot be paid for. */
  readonly deadline?: number
}
