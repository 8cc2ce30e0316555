import type { AccountId, CredentialId } from '../ids'
import type { Page } from '../page'
import type { CallRecord } from './call-record'
import type { UsageSums } from './sums'

export type UsageGrouping = 'key' | 'operation' | 'status' | 'model'

export interface UsageQuestion {
  readonly accountId: AccountId
  readonly keyId: CredentialId | null
  readonly operation: string | null
  readonly status: number | null
  readonly model: string | null
  /** Milliseconds; from inclusive, to exclusive. */
  readonly from: number
  readonly to: number
}

/** The longest range that can be asked for by the minute: it is read from the log, call by call. */
export const FINE_RANGE_MS = 6 * 3_600_000

export interface UsageGroup extends UsageSums {
  readonly name: string
}

export interface UsageFigures {
  /** One between each two edges that were asked for, in their order. */
  readonly buckets: readonly UsageSums[]
  /** Of the whole range, in no order; empty when no grouping was asked for. */
  readonly groups: readonly UsageGroup[]
}

export interface RequestFilter {
  readonly accountId: AccountId
  readonly keyId: CredentialId | null
  readonly operation: string | null
  readonly status: number | null
  readonly model: string | null
  readonly from: number | null
  readonly to: number | null
}

/**
 * What the durable log can be asked. Read-only, answered off the request thread, from committed rows only: a call is seen
 * as soon as its answer was sent when it was charged, and moments later when it was not.
 */
export interface UsageReports {
  /**
   * What was called in the asked range, exact at both ends, between each two of `edges`: at least two, rising, the first at or
   * before `from`, the last at or after `to`. An edge within the range is the start of a quarter of an hour of UTC, as every
   * hour and day of every time zone is, or, in a range of at most `FINE_RANGE_MS`, the start of a minute; a call is never lost
   * where one is not, only counted in the bucket beside.
   */
  usage(question: UsageQuestion, edges: readonly number[], grouping: UsageGrouping | null): Promise<UsageFigures>
  /**
   * Newest first, by keyset: as fast at any depth. A page of a filter that few calls match may be short, or empty, though more
   * follow: only a `next` of null says that it is the last. Null when the cursor is none that we gave.
   */
  requests(filter: RequestFilter, limit: number, cursor: string | null): Promise<Page<CallRecord> | null>
  /**
   * The call of that account, and of that key where one is named, with this id, the gateway's or the caller's own; the newest
   * where several match.
   */
  request(account: AccountId, key: CredentialId | null, id: string): Promise<CallRecord | null>
}
