import type { Failure } from '../../core/failure'
import type { IdempotencyRecord } from '../../core/idempotency/idempotency-record'
import type { Money } from '../../core/money'
import type { Result } from '../../core/result'
import type { CallRecord } from '../../core/usage/call-record'
import type { AnswerHeaders, AuthenticatedCall } from '../call'
import type { Captured, Work } from '../work'

/** The facts of a work that funding needs. */
export type Priced = Pick<Work, 'operation' | 'quote' | 'credit' | 'timeoutMs' | 'fingerprint'>

/**
 * The source of the money of a call. Balance and per-request payment look the same to the rest of the pipeline: both reserve the maximum cost of
 * a call, and a reservation ends with exactly one capture or release.
 */
export interface Funding {
  /** Reserves the money before the upstream is called, or returns the 402 that explains why it cannot. */
  reserve(
    work: Priced,
    authenticated: AuthenticatedCall,
  ): Result<Reservation, Failure> | Promise<Result<Reservation, Failure>>
}

/** An answer that is about to be sent. */
export interface AnswerDelivery {
  readonly body: string | Uint8Array
  readonly headers: AnswerHeaders
  /** Whether its caller has hung up. */
  isGone(): boolean
}

/** One charge. */
export interface Capture {
  readonly amount: Money
  /** The usage row; null for a caller without an account. */
  readonly record: CallRecord | null
  /** The call's cost above its hold, which the gateway absorbs. */
  readonly overrun: Money
  /** The upstream cost to the operator; absent if not known. */
  readonly upstreamCost?: Money | undefined
  /** The answer under its `Idempotency-Key`, stored in the same commit. */
  readonly answer?: IdempotencyRecord
  /** The answer that a per-request payment buys. */
  readonly delivery?: AnswerDelivery
}

export interface Reservation {
  /** The answer of an earlier attempt that was paid for but not delivered. It is returned without another upstream call. */
  readonly undeliveredAnswer?: string | null
  /** The money was already taken, so a failure leaves an answer owed. */
  readonly isPaid?: boolean
  /** Signup credit pays, which buys only some of the sources. The others may not be called. */
  readonly isCredit?: boolean
  /** Charges at most what was reserved. The charge is durable when it resolves to a success; otherwise nothing is charged. */
  capture(capture: Capture): Promise<Result<Captured, Failure>>
  /**
   * Makes the reservation of a stream survive this process: the next start charges `call`. Call it again with a newer `call` to
   * record how far the stream has come. False: not durable. Absent: this funding cannot pay for streams.
   */
  persist?(call: CallRecord): Promise<boolean>
  /** Ends the reservation without a charge. May be called repeatedly, and does nothing after a capture. Null if there is nothing to wait for. */
  release(reason?: string): Promise<void> | null
  /** An answer that arrives after this time (ms) cannot be paid for. */
  readonly deadline?: number
}
