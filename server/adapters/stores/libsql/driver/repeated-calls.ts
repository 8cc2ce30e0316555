import { MINUTE_MS } from '../../../../core/clock'
import type { AccountId } from '../../../../core/ids'
import type { CallRecord } from '../../../../core/usage/call-record'

/** Rows per account and minute for calls that cost nothing. Further ones are counted on the first of their kind. */
export const FREE_ROWS = 600
const MAX_LATE_MINUTES = 60
/** Refusals before any work: one row per key, code, operation and minute (spec D4). */
const COUNTED_STATUSES: ReadonlySet<number> = new Set([401, 402, 403, 429])

/**
 * Decides which calls get a row of their own, so that no caller fills the disk with calls that cost nothing. The others are counted on the
 * first of their kind in the same minute, which has a row. Calls that were charged, or whose upstream was asked, always get a row.
 */
export class RepeatedCalls {
  private minute = 0
  private readonly rows = new Map<AccountId, number>()
  private readonly firsts = new Map<string, { readonly first: CallRecord; repeats: number }>()
  private readonly pending = new Set<{ readonly first: CallRecord; repeats: number }>()

  get waiting(): number {
    return this.pending.size
  }

  /** Whether the call is counted on an earlier one. Otherwise it needs a row. */
  counts(call: CallRecord): boolean {
    if (call.charged !== null || call.upstream) return false
    const minute = Math.floor(call.at / MINUTE_MS)
    // A slow call began in an earlier minute. A clock that was set back does not count as one.
    if (minute > this.minute || minute < this.minute - MAX_LATE_MINUTES) this.startMinute(minute)
    const rows = this.rows.get(call.accountId) ?? 0
    const isFull = rows >= FREE_ROWS
    if (!isFull && !COUNTED_STATUSES.has(call.status)) {
      this.rows.set(call.accountId, rows + 1)
      return false
    }
    const { accountId, keyId, operation, model, status, code } = call
    const name = isFull ? `${accountId} ${status} ${code}` : `${keyId} ${status} ${code} ${operation} ${model}`
    const known = this.firsts.get(name)
    if (!known) {
      this.rows.set(call.accountId, rows + 1)
      this.firsts.set(name, { first: call, repeats: 0 })
      return false
    }
    known.repeats++
    this.pending.add(known)
    return true
  }

  /** Removes and returns what was counted since the last time: each first call, with how many more there were. At most `max`. */
  take(max: number): CallRecord[] {
    const taken: CallRecord[] = []
    for (const counted of this.pending) {
      if (taken.length >= max) break
      taken.push({ ...counted.first, repeats: counted.repeats })
      counted.repeats = 0
      this.pending.delete(counted)
    }
    return taken
  }

  /** Pending rows stay: they are of the first calls of the minute before. */
  private startMinute(minute: number): void {
    this.minute = minute
    this.rows.clear()
    this.firsts.clear()
  }
}
