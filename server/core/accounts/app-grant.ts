import type { AuditEntry } from '../audit'
import type { AccountId, AppGrantId, PoolId } from '../ids'
import type { Money } from '../money'

/**
 * An app that an owner let in. It stands beside the key: calls with its tokens are limited per connection, counted in its pool
 * and logged under its id. Letting the same app in again after a disconnect makes another one.
 */
export interface AppGrant {
  readonly id: AppGrantId
  readonly accountId: AccountId
  readonly poolId: PoolId
  readonly clientId: string
  /** What the app called itself when it was let in; kept when the app itself is forgotten. */
  readonly name: string
  readonly createdAt: number
  readonly disconnectedAt: number | null
}

export interface AppGrantUse {
  readonly at: number
  readonly address: string
}

/** AppGrants by account and app. Reads answer what was last written; every write is one atomic batch with its audit row. */
export interface AppGrantStore {
  /** The one that is not disconnected. */
  live(account: AccountId, clientId: string): Promise<AppGrant | null>
  byId(id: AppGrantId): Promise<AppGrant | null>
  /** All, newest first. */
  byAccount(account: AccountId): Promise<readonly AppGrant[]>
  lastUse(id: AppGrantId): Promise<AppGrantUse | null>
  /** Notes a use. In memory at once, durable within a minute. */
  touch(id: AppGrantId, use: AppGrantUse): void
  create(grant: AppGrant, limit: Money | null, audit: AuditEntry): Promise<void>
  setLimit(grant: AppGrant, limit: Money | null, audit: AuditEntry): Promise<void>
  disconnect(appGrants: readonly AppGrant[], at: number, audits: readonly AuditEntry[]): Promise<void>
}
