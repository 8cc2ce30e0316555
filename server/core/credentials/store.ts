import type { AuditEntry } from '../audit'
import type { AccountId, KeyId, PoolId } from '../ids'
import type { Money } from '../money'
import type { ApiKey, Budget } from './api-key'

/** What a change sets: the key's own columns, and its pool's. */
export interface KeyChange {
  readonly key: ApiKey
  readonly pool?: { readonly limit?: Money | null; readonly budget?: Budget | null }
}

/**
 * Keys by hash and id. Reads answer what was last written: a change binds the next request that begins after its promise
 * resolved (spec-answers 3). Every write is one atomic batch, its audit row included, durable before it resolves; it
 * rejects, and nothing changed, when the database does not take it.
 */
export interface CredentialStore {
  byHash(hash: string): Promise<ApiKey | null>
  byId(id: KeyId): Promise<ApiKey | null>
  /** Newest first. */
  byAccount(account: AccountId): Promise<readonly ApiKey[]>
  budgetOf(pool: PoolId): Promise<Budget | null>
  /** What the ledger has of a pool's spending by calls that began at `from` or later, and in all, read in one step. */
  spending(pool: PoolId, from: number): Promise<{ readonly inPeriod: Money; readonly inAll: Money }>
  lastUsedAt(key: KeyId): Promise<number | null>
  /** Notes a use. In memory at once, durable within a minute; lost at worst for that minute in a crash. */
  touch(key: KeyId, at: number): void
  create(key: ApiKey, pool: { limit: Money | null; budget: Budget | null }, audit: AuditEntry): Promise<void>
  update(change: KeyChange, audit: AuditEntry): Promise<void>
  /** The successor and the replaced key, in one batch. */
  rotate(successor: ApiKey, replaced: ApiKey, audit: AuditEntry): Promise<void>
}
