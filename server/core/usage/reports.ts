import type { AccountId, KeyId } from '../ids'
import type { Money } from '../money'
import type { Page } from '../page'
import type { CallRecord } from './call-record'

/** Sums over counted calls (spec-answers 8). */
export interface UsageSums {
  readonly requests: number
  readonly failedRequests: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly charged: Money
}

export type UsageGrouping = 'key' | 'operation' | 'status' | 'model'

export interface UsageQuestion {
  readonly accountId: AccountId
  readonly keyId: KeyId | null
  readonly operation: string | null
  readonly status: number | null
  /** Milliseconds; from inclusive, to exclusive. */
  readonly from: number
  readonly to: number
}

/** One cell of the report: the sums of a slot of time and a group. */
export interface UsageCell extends UsageSums {
  readonly at: number
  readonly keyId: KeyId
  readonly operation: string
  readonly status: number
}

export interface RequestFilter {
  readonly accountId: AccountId
  readonly keyId: KeyId | null
  readonly operation: string | null
  readonly status: number | null
  readonly from: number | null
  readonly to: number | null
}

/**
 * What the durable log can be asked. Read-only, answered off the request thread, from committed rows only: a call is seen
 * as soon as its answer was sent when it was charged, and moments later when it was not.
 */
export interface UsageReports {
  /** Cells of at most a quarter of an hour, edges exact. */
  usage(question: UsageQuestion): Promise<readonly UsageCell[]>
  /** Newest first, by keyset: as fast at any depth. Null when the cursor is none that we gave. */
  requests(filter: RequestFilter, limit: number, cursor: string | null): Promise<Page<CallRecord> | null>
  /**
   * The call of that account, and of that key where one is named, with this id, the gateway's or the caller's own; the newest
   * where several match.
   */
  request(account: AccountId, key: KeyId | null, id: string): Promise<CallRecord | null>
}
