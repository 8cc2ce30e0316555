import type { AccountId, RequestId, TransactionId } from '../ids'
import type { Money } from '../money'

/** The two parts of a customer's balance. Signup credit and grants are spent before money that was paid in (spec-answers 4). */
export type BalancePart = 'credit' | 'paid'

/** Where money stands: a customer's part, or one of the house's own accounts. */
export type LedgerAccount =
  | `${AccountId}/${BalancePart}`
  /** What a refund took back that was spent already. */
  | `${AccountId}/debt`
  | 'house/revenue'
  | 'house/signup_credit'
  | 'house/grants'
  | 'house/top_ups'
  | 'house/overrun'
  /** Calls that were paid for by themselves, by per-request payment. */
  | 'house/payments'

export type EntryKind =
  | 'charge'
  | 'reversal'
  | 'signup_credit'
  | 'grant'
  | 'top_up'
  | 'overrun'
  | 'payment'
  | 'refund'
  | 'dispute'
  /** Debt and paid balance of one account set against each other: its balance stays the same. */
  | 'offset'

/**
 * One row of the append-only double-entry ledger: `amount` moves out of `debit` into `credit`. Because a row carries both
 * sides, every transaction sums to zero by construction; a customer's balance is what was credited less what was debited.
 */
export interface LedgerEntry {
  readonly transaction: TransactionId
  readonly kind: EntryKind
  /** Null where no customer has a side in it. */
  readonly accountId: AccountId | null
  readonly debit: LedgerAccount
  readonly credit: LedgerAccount
  /** Above zero. */
  readonly amount: Money
  readonly at: number
  readonly requestId: RequestId | null
  readonly description: string
  /** Set on money that comes in: the same reference is never booked twice. */
  readonly reference: string | null
}

/** What a transaction does to the counters kept beside the entries. */
export interface AccountChange {
  readonly accountId: AccountId
  readonly credit: number
  readonly paid: number
  readonly toppedUp: number
  /** Debt that grew, or was paid back. */
  readonly debt?: number
}
