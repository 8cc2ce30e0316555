import type { AccountId, RequestId, TransactionId } from '../ids'
import type { Money } from '../money'

/** The two parts of a customer's balance. Signup credit and grants are spent before paid money (spec D4). */
export type BalancePart = 'credit' | 'paid'

/** A ledger account: part of a customer's balance, or one of the gateway's own accounts. */
export type LedgerAccount =
  | `${AccountId}/${BalancePart}`
  /** Refunded money that was already spent. */
  | `${AccountId}/debt`
  | 'house/revenue'
  | 'house/signup_credit'
  | 'house/grants'
  | 'house/top_ups'
  /** Paid balance that an operator took back. */
  | 'house/adjustments'
  | 'house/overrun'
  /** Pay-per-request calls. */
  | 'house/payments'

export const ENTRY_KINDS = [
  'charge',
  'reversal',
  'signup_credit',
  'grant',
  'top_up',
  'overrun',
  'payment',
  'refund',
  'dispute',
  /** Paid balance that settles debt of the same account. The total stays the same. */
  'offset',
  /** An operator corrected the balance downwards, such as after a wrong grant. */
  'debit',
  /** An operator gave back what a call was charged. */
  'charge_refund',
] as const
export type EntryKind = (typeof ENTRY_KINDS)[number]

/**
 * One row of the append-only double-entry ledger: `amount` moves from `debit` to `credit`. Because a row has both sides, every
 * transaction sums to zero by construction. A customer's balance is the sum of its credits minus its debits.
 */
export interface LedgerEntry {
  readonly transaction: TransactionId
  readonly kind: EntryKind
  /** Null if no customer is involved. */
  readonly accountId: AccountId | null
  readonly debit: LedgerAccount
  readonly credit: LedgerAccount
  /** Above zero. */
  readonly amount: Money
  readonly at: number
  readonly requestId: RequestId | null
  readonly description: string
  /** Set for incoming money: a reference is never booked twice. */
  readonly reference: string | null
}

/** How a transaction changes the counters that are stored with the entries. */
export interface AccountChange {
  readonly accountId: AccountId
  readonly credit: number
  readonly paid: number
  readonly toppedUp: number
  /** Positive when debt grows, negative when it is paid back. */
  readonly debt?: number
}
