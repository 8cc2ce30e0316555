import { HOUR_MS, MINUTE_MS } from '../clock'
import type { AccountId, CredentialId, RequestId } from '../ids'
import type { Money } from '../money'
import type { Page } from '../page'
import type { CallRecord } from './call-record'
import type { LatencyCounts } from './latency'
import type { UsageSums } from './sums'

/** `scope`: of the charged calls that named a budget scope, over whole UTC days. */
export type UsageGrouping = 'key' | 'operation' | 'status' | 'model' | 'scope'

export interface UsageQuestion {
  readonly accountId: AccountId
  readonly keyId: CredentialId | null
  /** Only calls of these keys, where it is set. */
  readonly keyIds?: readonly CredentialId[] | null
  readonly operation: string | null
  readonly status: number | null
  readonly model: string | null
  /** Milliseconds; from inclusive, to exclusive. */
  readonly from: number
  readonly to: number
}

/** Whose latencies, over a range that is widened to whole quarters of an hour. */
export type LatencyQuestion = Omit<UsageQuestion, 'status'>

/** The latencies of one operation at one provider. Empty texts where there is none. */
export interface LatencyGroup {
  readonly operation: string
  readonly provider: string
  readonly model: string
  readonly counts: LatencyCounts
}

/** Usage is summed per quarter of an hour, since the hours and days of every time zone start with one. */
export const QUARTER_HOUR_MS = 15 * MINUTE_MS

/** The longest range for reports by the minute, because they are read from individual calls. */
export const FINE_RANGE_MS = 6 * HOUR_MS

export interface UsageGroup extends UsageSums {
  readonly name: string
}

export interface UsageFigures {
  /** One bucket between each two consecutive edges. */
  readonly buckets: readonly UsageSums[]
  /** Groups of the whole range, unordered. Empty without a grouping. */
  readonly groups: readonly UsageGroup[]
  /**
   * Set if calls of the range may have been removed from the log: what is older than this is counted in whole quarters of an hour, also where
   * the range begins or ends within one.
   */
  readonly wholeQuarterHoursBefore: number | null
}

/** The target of a search of the request log. The form of its text decides (`requestSearch`). */
export type RequestSearch =
  | { readonly by: 'status'; readonly status: number }
  | { readonly by: 'code'; readonly code: string }
  | { readonly by: 'address'; readonly address: string }
  /** The operations of a path; none for a path that does not exist. */
  | { readonly by: 'operations'; readonly operations: readonly string[] }
  /** A request by the gateway's or the caller's id, or, if there is none, an operation or a code that is not a failure's. */
  | { readonly by: 'name'; readonly text: string }

export interface RequestFilter {
  readonly accountId: AccountId
  readonly keyId: CredentialId | null
  /** Only calls of these keys, where it is set. */
  readonly keyIds?: readonly CredentialId[] | null
  readonly operation: string | null
  readonly status: number | null
  readonly model: string | null
  readonly from: number | null
  readonly to: number | null
  readonly search?: RequestSearch | null
  /** The keys and apps whose calls the reader may see, also by a search for an id; null for all. */
  readonly seen?: readonly CredentialId[] | null
}

/** Failed calls of one operation for one reason, and the newest of them. */
export interface ErrorGroup {
  readonly operation: string
  readonly status: number
  /** Empty for a failure without a code of its own. */
  readonly code: string
  readonly calls: number
  readonly lastAt: number
  readonly lastId: RequestId
  readonly lastMessage: string | null
}

export interface ErrorReport {
  /** The most frequent first. */
  readonly groups: readonly ErrorGroup[]
  /** Whether older failures of the range are not counted, because there are too many. */
  readonly isPartial: boolean
}

/**
 * Reads usage from the durable log, off the request thread, from committed rows only. A charged call is visible as soon as its
 * response was sent, an uncharged one moments later.
 */
export interface UsageReports {
  /**
   * The usage of a range, exact at both ends, in buckets between consecutive `edges`: at least two, ascending, the first at or before
   * `from`, the last at or after `to`. Edges within the range must start a quarter of an hour in UTC, as every hour and day of every
   * time zone does. In a range of at most `FINE_RANGE_MS` they may start a minute. With any other edge no call is lost, but it may be
   * counted in the neighbouring bucket.
   */
  usage(question: UsageQuestion, edges: readonly number[], grouping: UsageGrouping | null): Promise<UsageFigures>
  /** What was given back of the charges of such calls. */
  refunded(question: UsageQuestion): Promise<Money>
  /** How long calls took that were served, or failed with a 5xx. */
  latencies(question: LatencyQuestion): Promise<readonly LatencyGroup[]>
  /** Why calls that match a filter failed, by operation, status and code. Ignores its search. */
  errors(filter: RequestFilter): Promise<ErrorReport>
  /**
   * Calls, newest first, with keyset pagination, which is equally fast at any depth. If few calls match the filter, a page may be short
   * or empty although more follow: only a null `next` marks the last page. Null when the cursor is unknown. A search for an id finds
   * the calls with it, whatever else the filter says.
   */
  requests(filter: RequestFilter, limit: number, cursor: string | null): Promise<Page<CallRecord> | null>
  /**
   * Finds a call of an account, or of one of its keys, by the gateway's or the caller's id. The newest if several match.
   */
  request(account: AccountId, key: CredentialId | null, id: string): Promise<CallRecord | null>
  /** The archive of the month in which a call would have been made that has this id; null for another id, or if that month is in no archive. */
  archiveOfCall(id: string): Promise<string | null>
  /** The archives that have charges of an account, the oldest first. */
  archivesOf(account: AccountId): Promise<readonly string[]>
}
