import type { AuditEntry } from '../audit'
import type { AccountId } from '../ids'
import type { Account } from './account'

/**
 * Accounts by id and by owner. Reads answer what was last written. An account is opened by the ledger, together with its
 * first credit (`opened` then makes it known here); changes are one atomic batch with their audit row.
 */
export interface AccountStore {
  byId(id: AccountId): Promise<Account | null>
  byUser(userId: string): Promise<Account | null>
  count(): Promise<number>
  /** Newest first, after `after`. */
  list(limit: number, after: AccountId | null): Promise<readonly Account[]>
  opened(account: Account): void
  update(account: Account, audit: AuditEntry): Promise<void>
}
