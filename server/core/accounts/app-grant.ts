import type { AuditEntry } from '../audit'
import type { NewPool } from '../credentials/store'
import type { AccountId, AppGrantId, PoolId } from '../ids'
import type { Money } from '../money'

/**
 * A member's permission for an app to call the API for one workspace, the counterpart of an API key: calls with the app's tokens are limited per
 * grant, counted in its pool and logged under its id. Allowing the same app again after a disconnect creates a new grant.
 */
export interface AppGrant {
  readonly id: AppGrantId
  readonly accountId: AccountId
  readonly poolId: PoolId
  /** The member who gave it. Each app has one workspace of a member at a time. */
  readonly userId: string
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

/** App grants by member and app. Reads see the latest write. Every write is one atomic batch with its audit row. */
export interface AppGrantStore {
  /** The grant that is not disconnected. */
  live(userId: string, clientId: string): Promise<AppGrant | null>
  /** The same as it is in memory; null if `live` must be asked. */
  known(userId: string, clientId: string): AppGrant | null
  byId(id: AppGrantId): Promise<AppGrant | null>
  /** All, newest first. `userId`: of this member. */
  byAccount(account: AccountId, userId?: string | null): Promise<readonly AppGrant[]>
  /** All of a member, in any workspace, that are not disconnected. */
  liveOf(userId: string): Promise<readonly AppGrant[]>
  lastUse(id: AppGrantId): Promise<AppGrantUse | null>
  /** Records a use, in memory at once and durably within a minute. */
  touch(id: AppGrantId, use: AppGrantUse): void
  create(grant: AppGrant, pool: Omit<NewPool, 'budgets'>, audit: AuditEntry): Promise<void>
  setLimit(grant: AppGrant, limit: Money | null, audit: AuditEntry): Promise<void>
  disconnect(appGrants: readonly AppGrant[], at: number, audits: readonly AuditEntry[]): Promise<void>
}
