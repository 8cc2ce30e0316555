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

/** Reads an account's transactions, from committed entries only. */
export interface AccountStatements {
  /**
   * Newest first. Balances are calculated backwards from the current balance. Null when the cursor is unknown.
   */
  transactions(account: AccountId, limit: number, cursor: string | null): Promise<Page<AccountTransaction> | null>
}
