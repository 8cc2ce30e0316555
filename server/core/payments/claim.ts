import { DAY_MS } from '../clock'
import type { AccountId, PaymentId, RequestId } from '../ids'
import type { Money } from '../money'
import type { Page } from '../page'

/**
 * working -> released | settling -> settled -> served. `paid_unserved` means that money was taken but no response delivered.
 * `settling` means that the outcome is unknown: the payment was sent or was about to be. Only the network can resolve it.
 */
export type ClaimState = 'working' | 'released' | 'settling' | 'settled' | 'served' | 'paid_unserved'

/** A payment buys one call, or tops up an account. */
export type PaymentPurpose = 'call' | 'top_up'

/** A payment credential, recorded from its first valid use on. Also the record of a failed payment (spec 5.3). */
export interface Claim {
  readonly id: PaymentId
  /** See `ReadCredential.claimKey`. */
  readonly key: string
  readonly purpose: PaymentPurpose
  readonly operation: string
  readonly account: AccountId | null
  readonly method: string
  readonly payer: string
  /** The price. While a price that follows from the answer is unknown, its maximum. */
  readonly amount: Money
  readonly currency: string
  readonly binding: string
  readonly credentialHash: string
  readonly transaction: string
  readonly validBefore: number | null
  /** The request id of the latest attempt. */
  readonly requestId: RequestId
  readonly clientRequestId: string | null
  /** The hash of the caller's IP address, or of its /64 for IPv6. Null for top-ups. */
  readonly addressGroup: string | null
  readonly state: ClaimState
  /** Whether the money has arrived. */
  readonly paid: boolean
  /** No other attempt may work on the claim before this time. */
  readonly leaseUntil: number
  readonly attempts: number
  /** How often a response was ready for delivery, including those whose caller had disconnected. */
  readonly deliveries: number
  /** When the payment was last sent to its network, or was about to be. From then on money may have moved. */
  readonly sentAt: number | null
  /** Settling failed through a fault of ours, such as a crash, so that a failure does not count against the payer. */
  readonly ourTrouble: boolean
  /** When the job checks it next, and how often it was checked without a result. */
  readonly nextLookAt: number
  readonly looks: number
  /** The network's id of the payment. */
  readonly reference: string | null
  readonly lastError: string | null
  readonly createdAt: number
  readonly updatedAt: number
}

export type NewClaim = Omit<
  Claim,
  | 'state'
  | 'paid'
  | 'attempts'
  | 'deliveries'
  | 'sentAt'
  | 'ourTrouble'
  | 'nextLookAt'
  | 'looks'
  | 'reference'
  | 'lastError'
  | 'updatedAt'
>

/** The limit of a payer's open payments: `funds`, minus everything paid after `since`. */
export interface Covered {
  readonly funds: Money
  readonly since: number
}

/** `fresh`: not paid yet. `prepaid`: paid by an earlier attempt that delivered no response. */
export type ClaimTaken =
  | { readonly kind: 'fresh'; readonly attempt: number }
  | {
      readonly kind: 'prepaid'
      readonly attempt: number
      /** The stored response of an earlier attempt whose caller had disconnected. */
      readonly answer: string | null
      /** An earlier attempt already had a response, so this attempt is the last. */
      readonly isLast: boolean
    }
  | { readonly kind: 'refused'; readonly why: TakeRefusal }

/**
 * `in_use`: another attempt is running, or the claim was served, or it belongs to a different credential or request. `worn_out`:
 * it has no attempts left. `uncovered`: together with the payer's other open payments it exceeds the payer's funds.
 */
export type TakeRefusal = 'in_use' | 'worn_out' | 'uncovered'

/** The transaction that is about to be sent, and until when no other process may send it. */
export interface Sending {
  readonly leaseUntil?: number
  readonly amount?: Money
}

/** Why the outcome of a payment is unknown. */
export interface Trouble {
  readonly reason: string
  /** See `Claim.ourTrouble`. */
  readonly isOurs: boolean
}

/**
 * How often one credential may be tried, because each attempt can cost an upstream call. A paid one is owed a response and may be
 * tried more often. Delivering a stored response does not count, because it costs nothing.
 */
export const MAX_TRIES = 5
export const MAX_PAID_TRIES = 20

/** How many claims of calls that never paid, and no longer can, are kept: the newest ones. */
export const MAX_UNPAID_CLAIMS = 10_000

/** How long the response for a payer who disconnected is kept. */
export const ANSWER_RETENTION_MS = DAY_MS

export interface ClaimFilter {
  readonly state: ClaimState | null
  readonly account: AccountId | null
  readonly purpose: PaymentPurpose | null
}

/**
 * Claims on payment credentials. Each decision is one SQL statement, durable when its promise resolves, so that it is valid across
 * processes and restarts. `attempt` numbers the attempts: once a later attempt has taken over, calls for an earlier one change
 * nothing and return false. The job, which asked the network, ends claims without naming an attempt.
 */
export interface ClaimStore {
  /**
   * Claims a credential for one attempt. Possible when it is new, was released, was paid without a response, or its lease has
   * expired. Refused while another attempt runs, after it was served, when the credential or the request differs from the first
   * use, and after `MAX_TRIES`. With `covered`, also refused when this and the payer's other open payments exceed it. The same
   * statement checks that, so that concurrent payments cannot use the same funds twice.
   */
  take(claim: NewClaim, now: number, covered?: Covered): Promise<ClaimTaken>
  find(key: string): Promise<Claim | null>
  byId(id: PaymentId): Promise<Claim | null>
  /** Finds a claim by the hash of its credential, even if no active payment method can read that credential. */
  findByCredential(hash: string): Promise<Claim | null>
  /**
   * Called before the payment is sent: from here on only the network knows. Extends the lease to `leaseUntil` or later. `amount`: what
   * is sent, if that is less than what was claimed.
   */
  settling(key: string, attempt: number, now: number, sending?: Sending): Promise<boolean>
  /**
   * Marks the money as received. For a call, the same commit books its ledger entry. Idempotent. Applies to claims with an unknown
   * outcome, and to claims that were released after they were sent.
   */
  settled(key: string, reference: string, now: number): Promise<void>
  /**
   * Marks the response as delivered. The credential is used up, and its stored response is deleted. `upstreamCost`: what the upstream cost the
   * operator, if that is known.
   */
  served(key: string, now: number, attempt?: number, upstreamCost?: Money): Promise<boolean>
  /** Stores the response of a caller who disconnected, for the same credential. Null when it cannot be stored. */
  undelivered(key: string, attempt: number, answer: string | null, now: number): Promise<void>
  /** Ends the work on an unpaid claim. `bySettlement`: because the network refused it. Does nothing to a paid claim. */
  release(key: string, reason: string, bySettlement: boolean, now: number, attempt?: number): Promise<void>
  /** Marks a top-up whose payment the network reverted. */
  lost(key: string, reason: string, now: number): Promise<void>
  /** Marks a paid claim without a response. The same credential may be presented again. */
  markUnserved(key: string, reason: string, now: number, attempt?: number): Promise<void>
  /**
   * Ends the lease of a claim with an unknown outcome, so that the next attempt or the job may ask the network. Stores the
   * response that it would have paid for, unless it is null.
   */
  endLease(key: string, why: Trouble, answer: string | null, now: number): Promise<void>
  /** Ends all leases of a process that has stopped. Its settlements count as a fault of ours. */
  endLeases(now: number): Promise<void>
  /** How often since then the network refused payments by this payer or address after the upstream was already called. */
  settleFailures(from: Pick<Claim, 'payer' | 'addressGroup'>, since: number): Promise<number>
  /** How many other unpaid calls of this payer or address are in progress. */
  openUnpaid(from: Pick<Claim, 'key' | 'payer' | 'addressGroup'>): Promise<number>
  /**
   * Claims that the job must finish, longest due first: their lease has expired and they are neither served nor released. Excludes
   * paid calls without a response, which wait for their payer.
   */
  unfinished(now: number, limit: number): Promise<readonly Claim[]>
  /** Schedules the next check after one without a result. */
  postpone(key: string, until: number): Promise<void>
  /** Claims made since then for which money may have moved and that no attempt works on, newest first. */
  sentSince(since: number, limit: number, cursor: string | null): Promise<Page<Claim>>
  /** Deletes expired responses, and all but the newest claims of calls that never paid and no longer can. */
  prune(now: number): Promise<void>
  /** Newest first. Null when the cursor is unknown. */
  list(filter: ClaimFilter, limit: number, cursor: string | null): Promise<Page<Claim> | null>
}
