import type { AuditEntry } from '../audit'
import type { AccountId, AppGrantId, PoolId } from '../ids'
import type { Money } from '../money'

/**
 * An owner's permission for an app to call the API, the counterpart of an API key: calls with the app's tokens are limited per
 * grant, counted in its pool and logged under its id. Allowing the same app again after a disconnect creates a new grant.
 */
export interface AppGrant {
  readonly id: AppGrantId
  readonly accountId: AccountId
  readonly poolId: PoolId
  readonly clientId: string
  /** The app's name at the time of the grant. Kept after the app itself is deleted. */
  readonly name: string
  readonly createdAt: number
  readonly disconnectedAt: number | null
}

export interface AppGrantUse {
  readonly at: number
  readonly address: string
}

/** App grants by account and app. Reads see the latest write. Every write is one atomic batch with its audit row. */
export interface AppGrantStore {
  /** The grant that is not disconnected. */
  live(account: AccountId, clientId: string): Promise<AppGrant | null>
  /** The same as it is in memory; null if `live` must be asked. */
  known(account: AccountId, clientId: string): AppGrant | null
  byId(id: AppGrantId): Promise<AppGrant | null>
  /** All, newest first. */
  byAccount(account: AccountId): Promise<readonly AppGrant[]>
  lastUse(id: AppGrantId): Promise<AppGrantUse | null>
  /** Records a use, in memory at once and durably within a minute. */
  touch(id: AppGrantId, use: AppGrantUse): void
  create(grant: AppGrant, limit: Money | null, audit: AuditEntry): Promise<void>
  setLimit(grant: AppGrant, limit: Money | null, audit: AuditEntry): Promise<void>
  disconnect(appGrants: readonly AppGrant[], at: number, audits: readonly AuditEntry[]): Promise<void>
}
