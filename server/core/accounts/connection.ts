import type { AuditEntry } from '../audit'
import type { AccountId, ConnectionId, PoolId } from '../ids'
import type { Money } from '../money'

/**
 * An app that an owner let in. It stands beside the key: calls with its tokens are limited per connection, counted in its pool
 * and logged under its id. Letting the same app in again after a disconnect makes another one.
 */
export interface Connection {
  readonly id: ConnectionId
  readonly accountId: AccountId
  readonly poolId: PoolId
  readonly clientId: string
  /** What the app called itself when it was let in; kept when the app itself is forgotten. */
  readonly name: string
  readonly createdAt: number
  readonly disconnectedAt: number | null
}

export interface ConnectionUse {
  readonly at: number
  readonly address: string
}

/** Connections by account and app. Reads answer what was last written; every write is one atomic batch with its audit row. */
export interface ConnectionStore {
  /** The one that is not disconnected. */
  live(account: AccountId, clientId: string): Promise<Connection | null>
  byId(id: ConnectionId): Promise<Connection | null>
  /** All, newest first. */
  byAccount(account: AccountId): Promise<readonly Connection[]>
  lastUse(id: ConnectionId): Promise<ConnectionUse | null>
  /** Notes a use. In memory at once, durable within a minute. */
  touch(id: ConnectionId, use: ConnectionUse): void
  create(connection: Connection, limit: Money | null, audit: AuditEntry): Promise<void>
  setLimit(connection: Connection, limit: Money | null, audit: AuditEntry): Promise<void>
  disconnect(connections: readonly Connection[], at: number, audits: readonly AuditEntry[]): Promise<void>
}
