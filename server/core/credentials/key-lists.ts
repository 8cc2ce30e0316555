import type { AccountId, KeyId, PoolId } from '../ids'
import { type Page, pagedRows } from '../page'
import type { ApiKey, KeyStatus } from './api-key'

/** Filters for keys; without a member, any key matches. */
export interface KeySearch {
  /** A part of the name in any letter case, or the last four characters. */
  readonly q?: string | undefined
  /** As keys have it: trimmed, in normal form C. */
  readonly tag?: string | undefined
  readonly id?: string | undefined
}

export interface KeyQuery extends KeySearch {
  /** `live`: every status except revoked. */
  readonly among: KeyStatus | 'live' | 'all'
  readonly sort: 'created' | 'name' | 'status' | 'spent' | 'last_used'
  readonly order: 'asc' | 'desc'
}

export interface KeySummary {
  /** Of the keys that match a search. At most 10,000 revoked ones are counted. */
  readonly counts: Readonly<Record<KeyStatus, number>>
  /** How many live keys of the account have each tag, by name. Of more than 200 tags, those of most keys. */
  readonly tags: readonly { readonly name: string; readonly keys: number }[]
}

/** The part of a key that is shown with a record of it. */
export type KeyLabel = Pick<ApiKey, 'id' | 'name' | 'prefix' | 'last4' | 'poolId'>

/**
 * Lists of an account's keys. Each method reads what it returns and no more, by index: an account may have any number of revoked keys. They
 * include every change and charge that was acknowledged before the call; a last use is up to a minute late as a sort key.
 */
export interface KeyLists {
  /** The same of the keys that one member made; of all for null. */
  seenBy(userId: string | null): KeyLists
  /** A page after a key of the account, in a total order. Null if `after` is no key of the account. */
  page(
    account: AccountId,
    query: KeyQuery,
    at: number,
    options: { readonly limit: number; readonly after: string | null },
  ): Promise<Page<ApiKey> | null>
  summary(account: AccountId, search: KeySearch, at: number): Promise<KeySummary>
  byIds(account: AccountId, ids: readonly string[]): Promise<readonly ApiKey[]>
  /** The newest live key of each pool, newest first, then the newest of those of `pools` that have no live key. */
  ofPools(account: AccountId, pools: readonly PoolId[], at: number): Promise<readonly KeyLabel[]>
  /** The newest 10,000 keys, to resolve the ids in reports. */
  names(account: AccountId): Promise<readonly Pick<ApiKey, 'id' | 'name' | 'last4' | 'revokedAt'>[]>
  /** The keys that have a tag, revoked ones among them. */
  withTag(account: AccountId, tag: string): Promise<readonly KeyId[]>
}

/** The live keys that apps created, newest first. */
export async function keysOfApps(lists: KeyLists, account: AccountId, at: number): Promise<readonly ApiKey[]> {
  const made: ApiKey[] = []
  for await (const key of keysAmong(lists, account, 'live', at)) if (key.createdBy !== null) made.push(key)
  return made
}

/** Keys of an account, newest first, read in pages of 200. */
export function keysAmong(lists: KeyLists, account: AccountId, among: KeyQuery['among'], at: number) {
  const query = { among, sort: 'created', order: 'desc' } as const
  return pagedRows((after) => lists.page(account, query, at, { limit: 200, after }))
}
