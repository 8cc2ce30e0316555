import type { AuditEntry } from '../audit'
import type { AccountId } from '../ids'

/** What an owner set for the dashboard. */
export interface AccountSettings {
  /** An IANA time zone; null: the browser's. */
  readonly timezone: string | null
}

/** Settings of accounts; the default where nothing was set. A write is one atomic batch with its audit row. */
export interface AccountSettingsStore {
  of(account: AccountId): Promise<AccountSettings>
  set(account: AccountId, settings: AccountSettings, audit: AuditEntry): Promise<void>
  /** Takes every address that calls and changes of the account came from out of the records. Free to repeat. */
  forgetAddresses(account: AccountId): Promise<void>
}
