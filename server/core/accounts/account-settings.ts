import type { AuditEntry } from '../audit'
import type { AccountId } from '../ids'
import type { AccountAlerts, Alert } from './alerts'

/** A page of the dashboard with filters, under a name. */
export interface SavedView {
  readonly name: string
  readonly page: (typeof VIEW_PAGES)[number]
  /** The search part of the page's address, without the question mark. */
  readonly query: string
}

/** The pages whose filters can be saved. */
export const VIEW_PAGES = ['keys', 'usage'] as const

export const MAX_VIEWS = 30
/** In characters. */
export const MAX_VIEW_NAME = 40

/** An owner's settings for the dashboard. */
export interface AccountSettings {
  /** An IANA time zone, or null for the browser's. */
  readonly timezone: string | null
  readonly savedViews: readonly SavedView[]
  readonly alerts: readonly Alert[]
}

/** Settings of accounts, with defaults for what was never set. A write is one atomic batch with its audit row. */
export interface AccountSettingsStore {
  of(account: AccountId): Promise<AccountSettings>
  /** The alerts of all accounts that have some and are not closed. */
  alerts(): Promise<readonly AccountAlerts[]>
  /** Changes these settings and leaves the others, also those that somebody else changes at the same moment. */
  change(account: AccountId, changes: Partial<AccountSettings>, audit: AuditEntry): Promise<void>
  /**
   * Removes what identifies a person from the account's records: source addresses, ids that callers chose, names in the audit log,
   * what requests for limits say, saved views, notes of operators. Amounts, times and operations stay. Idempotent.
   */
  forgetTraces(account: AccountId): Promise<void>
}
