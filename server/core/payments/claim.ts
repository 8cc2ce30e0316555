import type { AccountId, PaymentId, RequestId } from '../ids'
import type { Money } from '../money'
import type { Page } from '../page'

/**
 * working -> released | settling -> settled -> served; and paid_unserved: money taken, no answer given.
 * `settling` is the state of an unknown fate: the payment was sent, or was about to be. Only the network can end it.
 */
export type ClaimState = 'working' | 'released' | 'settling' | 'settled' | 'served' | 'paid_unserved'

/** What is bought: one call, or balance of an account. */
export type PaymentPurpose = 'call' | 'top_up'

/** One presented credential, from its first valid showing on: also the record of a payment that failed (spec 5.3). */
export interface Claim {
  readonly id: PaymentId
  /** See `ReadCredential.claimKey`. */
  readonly key: string
  readonly purpose: PaymentPurpose
  readonly operation: string
  readonly account: AccountId | null
  readonly method: string
  readonly payer: string
  readonly amount: Money
  readonly currency: string
  readonly binding: string
  readonly credentialHash: string
  readonly transaction: string
  readonly validBefore: number | null
  /** Of the latest try. */
  readonly requestId: RequestId
  readonly clientRequestId: string | null
  readonly state: ClaimState
  /** Whether the money is ours. */
  readonly paid: boolean
  /** Nobody else works on it before this moment. */
  readonly leaseUntil: number
  readonly attempts: number
  /** What the network calls the payment. */
  readonly reference: string | null
  readonly lastError: string | null
  readonly createdAt: number
  readonly updatedAt: number
}

export type NewClaim = Omit<Claim, 'state' | 'paid' | 'attempts' | 'reference' | 'lastError' | 'updatedAt'>

/** `fresh`: not paid yet. `prepaid`: paid by an earlier try that got no answer. */
export type Taken = { readonly kind: 'fresh' | 'prepaid'; readonly attempt: number } | { readonly kind: 'refused' }

export interface ClaimFilter {
  readonly state: ClaimState | null
  readonly account: AccountId | null
  readonly purpose: PaymentPurpose | null
}

/**
 * Claims on presented credentials. Every decision is one statement of the database, durable when it resolves, so that it holds
 * between processes and across restarts. `attempt` names one try: what an earlier try does after a later one took over
 * changes nothing and answers false.
 */
export interface ClaimStore {
  /**
   * Claims a credential for one try: a new one; one that was released or paid without an answer; or one whose lease is over.
   * Refused while another try runs, after it was served, and when the credential or the request differs from the first.
   */
  take(claim: NewClaim, now: number): Promise<Taken>
  find(key: string): Promise<Claim | null>
  /** Before anything is sent: after this, only the network knows. */
  settling(key: string, attempt: number, now: number): Promise<boolean>
  /** The money is ours. For a call, its entry goes down in the same commit; repeating changes nothing. */
  settled(key: string, reference: string, now: number): Promise<void>
  /** The answer goes out now; the credential buys nothing more. */
  served(key: string, now: number): Promise<void>
  /** Not paid, and no longer worked on. `bySettlement`: because the network refused it. Leaves what is paid alone. */
  release(key: string, reason: string, bySettlement: boolean, now: number): Promise<void>
  /** Paid, but no answer was given: the same credential may come again. */
  owe(key: string, reason: string, now: number): Promise<void>
  /** Ends the lease of one whose fate is unknown, so that the next try or the job may ask. */
  letGo(key: string, reason: string, now: number): Promise<void>
  /** Ends every lease: the process that held them is gone. */
  endLeases(now: number): Promise<void>
  /** What the payer's open, unpaid claims add up to, this one not counted. */
  openSum(payer: string, except: string): Promise<Money>
  /** How often the network refused this payer since then, after an upstream had been called for it. */
  settleFailures(payer: string, since: number): Promise<number>
  /** Claims that somebody must end: lease over, and neither served nor released; paid calls without an answer are at rest. */
  unfinished(now: number, limit: number): Promise<readonly Claim[]>
  /** Newest first. Null when the cursor is none that we gave. */
  list(filter: ClaimFilter, limit: number, cursor: string | null): Promise<Page<Claim> | null>
}
