import type { AuditEntry } from '../audit'
import type { AccountId } from '../ids'
import type { StaffRole } from './account'

/** The account that a user has. */
export interface DirectoryEntry {
  readonly accountId: AccountId
  readonly role: StaffRole | null
  readonly createdAt: number
}

/** The owner of an account. */
export interface UserOfAccount {
  readonly accountId: AccountId
  readonly userId: string
}

export interface NewDirectoryEntry {
  readonly accountId: AccountId
  readonly userId: string
  /** Whether its owner becomes operator if it is the first account, which the statement decides. */
  readonly mayBeOperator: boolean
  readonly createdAt: number
}

/**
 * Which account each user has, and which owners are staff. An entry is written before its account is opened, so it may lead to an account that
 * does not exist yet, and never the reverse. Reads of roles see the latest write.
 */
export interface AccountDirectory {
  /** The account of the user: the one given, unless the user has one already. Durable when it resolves. */
  assign(entry: NewDirectoryEntry): Promise<DirectoryEntry>
  /** Accounts whose owner's email address or name contains `text`, in any letter case, newest first, from the one after `after`. */
  search(text: string, limit: number, after: AccountId | null): Promise<readonly AccountId[]>
  /** The owners of all accounts, by the ids of the accounts, from the one after `after`. */
  users(limit: number, after: AccountId | null): Promise<readonly UserOfAccount[]>
  roleOf(account: AccountId): StaffRole | null
  /** All accounts with that role. */
  withRole(role: StaffRole): readonly AccountId[]
  /** Gives an account a role, or takes it, in one batch with the audit row. */
  setRole(account: AccountId, role: StaffRole | null, audit: AuditEntry): Promise<void>
}
