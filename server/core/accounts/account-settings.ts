import type { AuditEntry } from '../audit'
import type { AccountId } from '../ids'

/** An owner's settings for the dashboard. */
export interface AccountSettings {
  /** An IANA time zone, or null for the browser's. */
  readonly timezone: string | null
}

/** Settings of accounts, with defaults for what was never set. A write is one atomic batch with its audit row. */
export interface AccountSettingsStore {
  of(account: AccountId): Promise<AccountSettings>
  set(account: AccountId, settings: AccountSettings, audit: AuditEntry): Promise<void>
  /** Removes source and email addresses from the records of the account's calls and changes. Idempotent. */
  forgetAddresses(account: AccountId): Promise<void>
}
