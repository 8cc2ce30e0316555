import type { AccountId, RequestId, TransactionId } from '../ids'
import type { Money } from '../money'
import type { Page } from '../page'
import type { EntryKind } from './entry'

/** A transaction as the owner sees it, with the balance after it. */
export interface AccountTransaction {
  readonly id: TransactionId
  readonly at: number
  readonly kind: EntryKind
  readonly description: string
  /** Negative for a charge. */
  readonly amount: Money
  readonly balanceAfter: Money
  readonly requestId: RequestId | null
}

/** Changes of the balance without a payment or a call: credit, corrections, refunded charges. */
export const ADJUSTMENT_KINDS = [
  'signup_credit',
  'grant',
  'debit',
  'charge_refund',
] as const satisfies readonly EntryKind[]

/** A transaction of one of these kinds, and who made it. */
export interface AccountAdjustment extends Omit<AccountTransaction, 'balanceAfter' | 'kind'> {
  readonly kind: (typeof ADJUSTMENT_KINDS)[number]
  /** The reference that the operator gave, or null. */
  readonly reference: string | null
  /** The id of the user who made it, or `console`. Null without an author, and once the audit log has forgotten it. */
  readonly actor: string | null
}

/** A transaction, or all charges of a day between two other transactions. */
export interface StatementLine extends AccountTransaction {
  /** How many charges it adds up; null for any other transaction. */
  readonly charges: number | null
}

/** Reads an account's transactions, from committed entries only. */
export interface AccountStatements {
  /**
   * Newest first. Balances are calculated backwards from the current balance. Null when the cursor is unknown.
   */
  transactions(account: AccountId, limit: number, cursor: string | null): Promise<Page<AccountTransaction> | null>
  /**
   * The same with one line for the charges of a day in this time zone; charges before and after another transaction of that day are lines
   * of their own, so that every balance is true. The line has the time and the balance of its newest charge. A page may be short although
   * more follow.
   */
  daily(account: AccountId, timezone: string, limit: number, cursor: string | null): Promise<Page<StatementLine> | null>
  /** Newest first. Null when the cursor is unknown. */
  adjustments(account: AccountId, limit: number, cursor: string | null): Promise<Page<AccountAdjustment> | null>
}
