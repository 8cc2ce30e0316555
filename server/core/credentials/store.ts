import type { AuditEntry } from '../audit'
import type { AccountId, KeyId, PoolId } from '../ids'
import type { PoolKind, PoolSpending } from '../ledger/hold'
import type { Money } from '../money'
import type { ApiKey, Budget, ScopeBudget } from './api-key'
import type { KeyLists } from './key-lists'

/** A change of a key and of its pool. */
export interface KeyChange {
  readonly key: ApiKey
  readonly pool?: Partial<Pick<NewPool, 'limit' | 'budgets' | 'scopeBudget'>>
}

/** The end of a key and its time. */
export type EndOfKey = { readonly disabledAt: number } | { readonly revokedAt: number }

/** The spend pool of a new key. `parentId`: the pool of the app that made it. */
export interface NewPool {
  readonly limit: Money | null
  readonly budgets: readonly Budget[]
  readonly scopeBudget?: ScopeBudget | null
  readonly parentId?: PoolId | null
}

/** The keys of an account that are neither revoked nor past their grace period; disabled and expired ones are among them. */
export interface LiveKeys {
  /** How many no other key has replaced. */
  readonly own: number
  readonly replaced: number
  /** The pools of those with the name asked for: a key and its successors share one. */
  readonly poolsOfName: readonly PoolId[]
}

/**
 * Keys by hash and id. Reads see the latest write: a change applies to every request that starts after its promise resolves
 * (spec D3). Every write is one atomic batch with its audit row, durable when it resolves. It rejects, without any change,
 * when the database is unavailable.
 */
export interface CredentialStore {
  byHash(hash: string): Promise<ApiKey | null>
  /** The key as it is in memory; null if `byHash` must be asked. */
  known(hash: string): ApiKey | null
  /** Whether `byHash` finds it without a query. */
  isInMemory(hash: string): boolean
  byId(id: KeyId): Promise<ApiKey | null>
  readonly lists: KeyLists
  /** All keys that the account ever had, newest first. */
  byAccount(account: AccountId): Promise<readonly ApiKey[]>
  /** The facts for whether the account may have one more key, or one of this name, without a look at each of them. */
  liveKeys(account: AccountId, name: string | null, at: number): Promise<LiveKeys>
  budgetsOf(pool: PoolId): Promise<readonly Budget[]>
  scopeBudgetOf(pool: PoolId): Promise<ScopeBudget | null>
  /** A pool's durable spending by calls that began at each of these times or later, and in total, read in one step. */
  spendings(pool: PoolId, from: readonly number[]): Promise<readonly PoolSpending[]>
  /** A pool without a limit, which nothing is in yet. */
  openPool(pool: { readonly id: PoolId; readonly accountId: AccountId; readonly kind: PoolKind }): Promise<void>
  setBudgets(pool: PoolId, budgets: readonly Budget[], audit: AuditEntry): Promise<void>
  movePool(pool: PoolId, parent: PoolId | null, audit: AuditEntry): Promise<void>
  lastUsedAt(key: KeyId): Promise<number | null>
  /** Records a use, in memory at once and durably within a minute. A crash loses at most that minute. */
  touch(key: KeyId, at: number): void
  /** `madeBy`: the member who made it; without one it is a key of the workspace. */
  create(key: ApiKey, pool: NewPool, audit: AuditEntry, madeBy?: string): Promise<void>
  update(change: KeyChange, audit: AuditEntry): Promise<void>
  /** Disables or revokes keys, in one batch with an audit row for each. */
  end(keys: readonly ApiKey[], change: EndOfKey, audits: readonly AuditEntry[]): Promise<void>
  /** Gives keys to another member, or to the workspace, in one batch with an audit row for each. */
  giveTo(keys: readonly ApiKey[], madeBy: string | null, audits: readonly AuditEntry[]): Promise<void>
  /** The members who made these keys. */
  makersOf(account: AccountId, keys: readonly KeyId[]): Promise<ReadonlyMap<KeyId, string>>
  /** The successor, of the same member, and the replaced key, in one batch. */
  rotate(successor: ApiKey, replaced: ApiKey, audit: AuditEntry): Promise<void>
}
