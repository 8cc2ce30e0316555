import type { AuditEntry } from '../audit'
import type { AccountId } from '../ids'
import type { Account, StaffRole } from './account'

/**
 * Accounts by id and by the user whose own they are. Reads see the latest write. The ledger opens an account together with its first credit, and
 * `opened` adds it here. Other changes are one atomic batch with their audit row.
 */
export interface AccountStore {
  byId(id: AccountId): Promise<Account | null>
  /** The account as it is in memory; null if `byId` must be asked. */
  known(id: AccountId): Account | null
  byUser(userId: string): Promise<Account | null>
  /** The same as it is in memory; null if `byUser` must be asked. */
  knownByUser(userId: string): Account | null
  count(): Promise<number>
  /** Newest first, starting after `after`. */
  list(limit: number, after: AccountId | null): Promise<readonly Account[]>
  opened(account: Account): void
  /** `MemberStore.handOver` made another user the owner. The account is nobody's own from then on. */
  handedOver(account: Account, userId: string): void
  /** Writes everything but the role. */
  update(account: Account, audit: AuditEntry): Promise<void>
  setRole(account: Account, role: StaffRole | null, audit: AuditEntry): Promise<Account>
}
