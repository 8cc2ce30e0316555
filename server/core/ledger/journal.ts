import type { AuditEntry } from '../audit'
import type { IdempotencyRecord } from '../idempotency/idempotency-record'
import type { AccountId, PoolId, RequestId, StuckId } from '../ids'
import type { CallRecord } from '../usage/call-record'
import type { AccountChange, LedgerEntry } from './entry'
import type { CountedIn, Hold } from './hold'

/** A new customer account: the row that its first credit needs. */
export interface AccountOpening {
  readonly id: AccountId
  readonly userId: string
  readonly createdAt: number
}

/** A hold that outlives its process. Streams need it, because they respond before their charge is known (spec D4). */
export interface DurableHold {
  readonly hold: Hold
  /** The charge at the next start if the process dies before the stream ends: the usage metered at the time of this record. */
  readonly call: CallRecord
}

/** A unit of atomic writes. The log stores it as JSON, so the names of its members are a file format. */
export interface JournalRecord {
  readonly opening?: AccountOpening
  readonly call?: CallRecord
  readonly audit?: AuditEntry
  /** A recorded call whose charge this record reverses. */
  readonly undoes?: CallRecord
  readonly entries: readonly LedgerEntry[]
  readonly change?: AccountChange | undefined
  /** Makes a hold durable, or updates what it would be charged for. */
  readonly keeps?: DurableHold
  /** The durable hold that this record ends. */
  readonly ends?: RequestId | undefined
  /** The response that this charge paid for, for repeats of the request. A record that undoes the call deletes it. */
  readonly kept?: IdempotencyRecord | undefined
  readonly spent?: PoolCharge | undefined
  /** The stuck record that an operator decided with this one: it is removed. */
  readonly settles?: StuckId
  /** Changes that the tables have already, and older tables get with this record. */
  readonly direct?: readonly DirectChange[]
}

/** What a pool spent. The members of `CountedIn` are absent if it counts nowhere else. */
export interface PoolCharge extends Partial<CountedIn> {
  readonly poolId: PoolId
  readonly amount: number
  /** In the place of `parents` in logs of 0.9.0. */
  readonly parent?: PoolId
}

/**
 * A change that the tables got directly, as the log has it for older tables: money with a reference, or the state of a row. `seq` is
 * its row in `direct_changes`, which tables have exactly if they have the change.
 */
export type DirectChange = { readonly seq: number } & Change

type Change =
  | { readonly record: JournalRecord }
  /** `row`: by the names of the columns; null if it was deleted. */
  | { readonly table: string; readonly id: string; readonly row: Readonly<Record<string, unknown>> | null }

/** `lost`: another process owns the database by now, or may, and this one never learns whether the record was written. */
export type GroupFate = 'committed' | 'refused' | 'lost'

/**
 * `committed`: durable, survives a power loss. `refused`: nothing was written or will be, because of a database constraint
 * (`reference`: this reference is already booked) or, with a null `constraint`, because the database accepts no writes. `unknown`:
 * the database did not answer in time; `fate` resolves to the outcome later.
 */
export type AppendOutcome =
  | { readonly kind: 'committed' }
  | { readonly kind: 'refused'; readonly reason: string; readonly constraint: 'reference' | 'other' | null }
  | { readonly kind: 'unknown'; readonly fate: Promise<GroupFate> }

/** Space on the disk of the journal that is given up when the disk is full, so that the charges of calls in progress can be written. */
export interface DiskReserve {
  /** Why it was given up or could not be taken; null while it is there. */
  readonly problem: string | null
  /** Takes it, if the disk has room for it and as much again. Resolves to `problem`. */
  take(): Promise<string | null>
}

/** Gets each record once it is durable, and each call that moved no money. */
export interface JournalObserver {
  committed(record: JournalRecord): void
  noted?(call: CallRecord): void
}

/**
 * The durable side of the ledger. `append` is atomic per record. Records that arrive together share one commit, but fail
 * independently. Calls `onEnd` once with the outcome, whatever happens to the database.
 */
export interface Journal {
  append(record: JournalRecord, onEnd: (outcome: AppendOutcome) => void): void
  /** Writes a call that moved no money with the next commit. Best effort: calls are dropped under load, and counted. */
  note(call: CallRecord): void
}

/** Appends a record and waits for its outcome. */
export function appended(journal: Pick<Journal, 'append'>, record: JournalRecord): Promise<AppendOutcome> {
  return new Promise((resolve) => journal.append(record, resolve))
}
