import type { Failure } from '../../core/failure'
import type { Money } from '../../core/money'
import type { Result } from '../../core/result'
import type { AnswerHeaders, AuthenticatedCall } from '../call'
import type { Captured, Work } from '../work'

/** The facts of a work that funding needs. */
export type Priced = Pick<Work, 'operation' | 'quote' | 'credit' | 'timeoutMs' | 'fingerprint'>

/** Pays for calls that draw on no balance, by a payment of their own (spec 5.3), and offers such a payment to those that could make one. */
export interface Funding {
  /**
   * Claims the payment of a call before its upstream is called, or returns the 402 that explains what to pay. A reservation ends with exactly one
   * capture or release.
   */
  reserve(work: Priced, authenticated: AuthenticatedCall): Promise<Result<Reservation, Failure>>
  /** The failure, with payment challenges if it is a lack of money that one payment for this call would cure. */
  offered(problem: Failure, work: Priced, authenticated: AuthenticatedCall): Promise<Failure>
}

export interface AnswerDelivery {
  readonly body: string | Uint8Array
  readonly headers: AnswerHeaders
  isGone(): boolean
}

export interface Reservation {
  /** The answer of an earlier attempt that was paid for but not delivered. It is returned without another upstream call. */
  readonly undeliveredAnswer?: string | null
  /** The money was already taken, so a failure leaves an answer owed. */
  readonly isPaid?: boolean
  /** Charges at most what was reserved. The charge is durable when it resolves to a success; otherwise nothing is charged. */
  capture(charge: {
    readonly amount: Money
    /** The upstream cost to the operator; absent if not known. */
    readonly upstreamCost: Money | undefined
    readonly delivery: AnswerDelivery
  }): Promise<Result<Captured, Failure>>
  /** Ends the reservation without a charge. May be called repeatedly, and does nothing after a capture. */
  release(reason?: string): Promise<void>
  /** An answer that arrives after this time (ms) cannot be paid for. */
  readonly deadline?: number
}
