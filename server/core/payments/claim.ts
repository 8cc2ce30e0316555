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
  /** Where it was shown from, hashed: an address, or its /64 for IPv6. Null for top-ups. */
  readonly addressGroup: string | null
  readonly state: ClaimState
  /** Whether the money is ours. */
  readonly paid: boolean
  /** Nobody else works on it before this moment. */
  readonly leaseUntil: number
  readonly attempts: number
  /** How often its answer was given; one that its caller was not there to take counts. */
  readonly deliveries: number
  /** When it was last sent to its network, or was about to be: from then on money may have moved. */
  readonly sentAt: number | null
  /** Its settling met trouble of ours, or our own end: that it never came is then not held against its payer. */
  readonly ourTrouble: boolean
  /** When the job looks at it next, and how often it has looked in vain. */
  readonly nextLookAt: number
  readonly looks: number
  /** What the network calls the payment. */
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

/** What a payer was seen to have at a moment: enough for `most` in open payments, less what was paid since. */
export interface Covered {
  readonly most: Money
  readonly since: number
}

/** `fresh`: not paid yet. `prepaid`: paid by an earlier try that got no answer. */
export type Taken =
  | { readonly kind: 'fresh'; readonly attempt: number }
  | {
      readonly kind: 'prepaid'
      readonly attempt: number
      /** The answer, where an earlier try got it and its caller had left. */
      readonly answer: string | null
      /** An earlier try had an answer to give: this one is the last, whoever takes it. */
      readonly isLast: boolean
    }
  | { readonly kind: 'refused'; readonly why: TakeRefusal }

/**
 * `in_use`: another try runs, or it was served, or it is another credential or request. `worn_out`: it was tried as often as one may be.
 * `uncovered`: with the payer's other open payments it is more than the payer has.
 */
export type TakeRefusal = 'in_use' | 'worn_out' | 'uncovered'

/** Why the fate of a payment is unknown. */
export interface Trouble {
  readonly reason: string
  /** See `Claim.ourTrouble`. */
  readonly isOurs: boolean
}

/** So often may one credential be tried: each try can cost an upstream call. What was paid for is owed, and tried longer; what is kept costs nothing. */
export const MAX_TRIES = 5
export const MAX_PAID_TRIES = 20

/** Of the calls that never paid, and never can any more, so many are kept, the newest. */
export const NEVER_PAID_KEPT = 10_000

/** How long the answer of a payer who had left is kept. */
export const ANSWER_KEPT_MS = 24 * 3_600_000

export interface ClaimFilter {
  readonly state: ClaimState | null
  readonly account: AccountId | null
  readonly purpose: PaymentPurpose | null
}

/**
 * Claims on presented credentials. Every decision is one statement of the database, durable when it resolves, so that it holds
 * between processes and across restarts. `attempt` names one try: what an earlier try does after a later one took over
 * changes nothing and answers false. Without it the claim is ended by the job, which asked the network.
 */
export interface ClaimStore {
  /**
   * Claims a credential for one try: a new one; one that was released or paid without an answer; or one whose lease is over.
   * Refused while another try runs, after it was served, when the credential or the request differs from the first, and after
   * `MAX_TRIES`. With `covered`, also when the payer's open payments and this one are together more than that: judged by the
   * same statement, so that many at once never pass on the same money.
   */
  take(claim: NewClaim, now: number, covered?: Covered): Promise<Taken>
  find(key: string): Promise<Claim | null>
  /** The claim of a credential, by the hash of its text: also where no method reads it any more. */
  findByCredential(hash: string): Promise<Claim | null>
  /** Before anything is sent: after this, only the network knows. The lease lasts until `leaseUntil` at least. */
  settling(key: string, attempt: number, now: number, leaseUntil?: number): Promise<boolean>
  /**
   * The money is ours. For a call, its entry goes down in the same commit; repeating changes nothing. Takes one whose fate is
   * unknown, and one that was released after it was sent.
   */
  settled(key: string, reference: string, now: number): Promise<void>
  /** The answer goes out now; the credential buys nothing more, and what was kept for it is deleted. */
  served(key: string, now: number, attempt?: number): Promise<boolean>
  /** The caller had left when its answer was there: kept, unless it is null, for the same credential. */
  undelivered(key: string, attempt: number, answer: string | null, now: number): Promise<void>
  /** Not paid, and no longer worked on. `bySettlement`: because the network refused it. Leaves what is paid alone. */
  release(key: string, reason: string, bySettlement: boolean, now: number, attempt?: number): Promise<void>
  /** A top-up whose money the network has taken back before it was booked. */
  lost(key: string, reason: string, now: number): Promise<void>
  /** Paid, but no answer was given: the same credential may come again. */
  owe(key: string, reason: string, now: number, attempt?: number): Promise<void>
  /**
   * Ends the lease of one whose fate is unknown, so that the next try or the job may ask. The answer that it would have bought
   * is kept, unless it is null.
   */
  letGo(key: string, why: Trouble, answer: string | null, now: number): Promise<void>
  /** Ends every lease: the process that held them is gone, and what it was settling met trouble of ours. */
  endLeases(now: number): Promise<void>
  /** How often the network refused payments of this payer, or from this address, since then, after an upstream was called. */
  settleFailures(from: Pick<Claim, 'payer' | 'addressGroup'>, since: number): Promise<number>
  /** How many calls of this payer, or from this address, are under way beside this one without being paid. */
  openUnpaid(from: Pick<Claim, 'key' | 'payer' | 'addressGroup'>): Promise<number>
  /**
   * Claims that somebody must end and that are due, the longest due first: lease over, and neither served nor released; paid calls
   * without an answer are at rest.
   */
  unfinished(now: number, limit: number): Promise<readonly Claim[]>
  /** It was looked at in vain: not before `until` again. */
  postpone(key: string, until: number): Promise<void>
  /** Those made since then that money may have moved for, and that nobody works on: newest first. */
  sentSince(since: number, limit: number, cursor: string | null): Promise<Page<Claim>>
  /** Deletes answers that were kept long enough, and of the calls that never paid, and never can any more, all but the newest. */
  prune(now: number): Promise<void>
  /** Newest first. Null when the cursor is none that we gave. */
  list(filter: ClaimFilter, limit: number, cursor: string | null): Promise<Page<Claim> | null>
}
