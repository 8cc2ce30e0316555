import type { AuditEntry } from '../audit'
import type { IdempotencyRecord } from '../idempotency/idempotency-record'
import type { AccountId, PoolId, RequestId } from '../ids'
import type { CallRecord } from '../usage/call-record'
import type { AccountChange, LedgerEntry } from './entry'
import type { Hold } from './hold'

/** A customer account as it is opened: the row that the first credit of the account needs. */
export interface AccountOpening {
  readonly id: AccountId
  readonly userId: string
  /** Whether it becomes operator if it is the first account; the statement that writes it decides. */
  readonly mayBeOperator: boolean
  readonly createdAt: number
}

/** A hold that outlives its process: of a stream, whose first byte goes out before its charge is known (spec-answers 4). */
export interface DurableHold {
  readonly hold: Hold
  /** What a start charges when the process died before the stream ended: what was metered when this was written. */
  readonly call: CallRecord
}

/** What goes down together or not at all. */
export interface JournalRecord {
  readonly opening?: AccountOpening
  readonly call?: CallRecord
  readonly audit?: AuditEntry
  /** A recorded success whose charge this record reverses. */
  readonly undoes?: CallRecord
  readonly entries: readonly LedgerEntry[]
  readonly change?: AccountChange
  /** Makes a hold last, or what it would be charged for newer. */
  readonly keeps?: DurableHold
  /** A kept hold that this record ends. */
  readonly ends?: RequestId
  /** The answer that this charge paid for, for its repeats. A record that undoes the call takes it back. */
  readonly kept?: IdempotencyRecord
  readonly spent?: { readonly poolId: PoolId; readonly amount: number }
}

/**
 * `committed`: durable, it survives a power loss. `refused`: nothing of it was written and never will be,
 * because a rule of the database forbids it (`constraint`: an entry of this reference is booked already, or any other rule) or because
 * the database does not take writes. `unknown`: the
 * database gave no answer in time; `fate` tells later which of the two it was.
 */
export type AppendOutcome =
  | { readonly kind: 'committed' }
  | { readonly kind: 'refused'; readonly reason: string; readonly constraint: 'reference' | 'other' | null }
  | { readonly kind: 'unknown'; readonly fate: Promise<'committed' | 'refused'> }

/**
 * The durable side of the ledger. `append` is atomic per record; records that arrive together share one commit, yet one
 * record's failure is its own. Never rejects for what a database does.
 */
export interface Journal {
  append(record: JournalRecord): Promise<AppendOutcome>
  /** Writes a call that moved no money, with the next commit. Best effort: dropped under pressure, and counted. */
  note(call: CallRecord): void
}
