import type { AccountId, RequestId, TransactionId } from '../ids'
import type { Money } from '../money'
import type { Page } from '../page'
import type { EntryKind } from './entry'

/** One transaction as the owner sees it: what moved on the account, and the balance after it. */
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

/** The account's side of the ledger, read from committed entries only. */
export interface AccountStatements {
  /**
   * Newest first; the balances of a page follow from the balance now and what moved since. Null when the cursor is none that
   * we gave.
   */
  transactions(account: AccountId, limit: number, cursor: string | null): Promise<Page<AccountTransaction> | null>
}
