import type { AuditEntry } from '../audit'
import type { CellName } from '../cluster/cells'
import type { AccountId } from '../ids'
import type { StaffRole } from './account'

/** An account that a user gets. */
export interface AccountHome {
  readonly accountId: AccountId
  readonly role: StaffRole | null
  readonly createdAt: number
  /** Where the account is. Never changes. */
  readonly cell: CellName
}

/** The owner of an account. */
export interface UserOfAccount {
  readonly accountId: AccountId
  readonly userId: string
}

export interface NewAccountHome {
  readonly accountId: AccountId
  readonly userId: string
  /** Whether its owner becomes operator if it is the first account, which the statement decides. */
  readonly mayBeOperator: boolean
  readonly createdAt: number
  /** The open cells. The account goes to the one with the fewest accounts, as far as this gateway knows; of several to the first named. */
  readonly cells: readonly CellName[]
}

/**
 * Which account each user has, and which owners are staff. It is in the control database (ADR 45): a user's account is here before its cell
 * opens it, so a row may lead to an account that does not exist yet, and never the reverse. Reads of roles see the latest write.
 */
export interface AccountDirectory {
  /** The account of the user: the one given, unless the user has one already. Durable when it resolves. */
  assignHome(home: NewAccountHome): Promise<AccountHome>
  /** The account of the user, as `place` decided; null before it did. */
  homeOf(userId: string): Promise<AccountHome | null>
  /**
   * Accounts of all cells whose owner's email address or name contains `text`, in any letter case, newest first, from the one after `after`.
   */
  search(text: string, limit: number, after: AccountId | null): Promise<readonly AccountId[]>
  /** The owners of all accounts of all cells, by the ids of the accounts, from the one after `after`. */
  users(limit: number, after: AccountId | null): Promise<readonly UserOfAccount[]>
  /** Whether there is such an account in any cell, opened or about to be. */
  has(account: AccountId): Promise<boolean>
  roleOf(account: AccountId): StaffRole | null
  /** All accounts with that role. */
  withRole(role: StaffRole): readonly AccountId[]
  /** Gives an account a role, or takes it, in one batch with the audit row. */
  setRole(account: AccountId, role: StaffRole | null, audit: AuditEntry): Promise<void>
}
