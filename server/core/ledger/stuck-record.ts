import type { AccountId, RequestId, StuckId } from '../ids'
import { type Money, micros } from '../money'
import type { JournalRecord } from './journal'

/** A record of the journal that breaks a rule of the tables. While it is stuck, its account holds no money. */
export interface StuckRecord {
  readonly id: StuckId
  /** When the record was made. */
  readonly at: number
  /** Null for a record that names no account. */
  readonly accountId: AccountId | null
  readonly requestId: RequestId | null
  /**
   * `log`: it was acknowledged before the tables saw it, so its caller has the answer. `direct`: the tables refused it first, so its
   * caller got a 503 and was not charged.
   */
  readonly source: 'log' | 'direct'
  /** The rule that it breaks, as the database names it. */
  readonly reason: string
  readonly record: JournalRecord
}

/** `reversal`: gives back what a call was charged whose caller got a 503. `other`: moves no money. */
export type StuckKind = 'charge' | 'reversal' | 'other'

export function stuckKind({ entries }: JournalRecord): StuckKind {
  const kind = entries.find((entry) => entry.kind === 'charge' || entry.kind === 'reversal')?.kind
  return kind === 'charge' || kind === 'reversal' ? kind : 'other'
}

/** The amount that the record charges or gives back; zero if it moves no money of the account. */
export function stuckAmount({ entries }: JournalRecord): Money {
  const moved = entries.filter(({ kind }) => kind === 'charge' || kind === 'reversal')
  return micros(moved.reduce((sum, { amount }) => sum + amount, 0))
}

/** Whether booking it is still owed to somebody: all but a charge whose caller got a 503. */
export function isDue({ source, record }: StuckRecord): boolean {
  return source === 'log' || stuckKind(record) === 'reversal'
}

/** The stuck records of the accounts. */
export interface StuckStore {
  /** Oldest first, at most `limit`, after the one with the id `after`. */
  page(limit: number, after: StuckId | null): Promise<readonly StuckRecord[]>
  byId(id: StuckId): Promise<StuckRecord | null>
  counts(): Promise<{ readonly records: number; readonly accounts: number }>
  /** Whether the counters have its money already: it was granted and captured since they were filled. */
  isCounted(stuck: StuckRecord): boolean
  /** Closes the accounts of stuck records for holds, and opens those that have none any more. */
  refresh(): Promise<void>
}
