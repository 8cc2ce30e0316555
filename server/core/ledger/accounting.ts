import type { Money } from '../money'
import type { EntryKind, LedgerEntry } from './entry'

/** From `from` to before `to`. */
export interface BookPeriod {
  readonly from: number
  readonly to: number
}

/**
 * One ledger account over a period. Balances are credits minus debits, so a customer's balance is positive, what the gateway gave away is
 * negative, and all accounts together sum to zero. `closing` = `opening` + `credits` - `debits`.
 */
export interface LedgerBalance {
  /** A ledger account, such as `acct_1/paid` or `house/revenue`. */
  readonly account: string
  readonly opening: Money
  readonly debits: Money
  readonly credits: Money
  readonly closing: Money
}

/** The day of entries that are in no closed day yet. */
export const OPEN_DAY = 'open'

/** One ledger account on one day on which it moved anything, or of a period in which it did not. */
export interface DayBalance extends LedgerBalance {
  /** The UTC day, `open` for entries of days that are not closed, or empty if the account did not move in the period. */
  readonly day: string
}

export interface BookEntry extends LedgerEntry {
  /** The order of commits. */
  readonly seq: number
}

/** The flow of one kind between two ledger accounts, those of all customers taken together (`customers/paid`). */
export interface Flow {
  readonly kind: EntryKind
  readonly debit: string
  readonly credit: string
  /** Before the period, and within it. */
  readonly earlier: Money
  readonly amount: Money
  readonly entries: number
}

/** The books of a period as of one moment: entries that are booked while they are read do not appear. */
export interface Books {
  /** Every ledger account with a balance or a movement: customers by id, then the gateway's own. In pieces that fit in memory, as the others. */
  balances(): AsyncGenerator<readonly LedgerBalance[], void>
  /** The same by day: each line begins with what the one before of its account ended with. */
  days(): AsyncGenerator<readonly DayBalance[], void>
  /** The sums of all entries up to the end of the period. */
  flows(): Promise<readonly Flow[]>
  /** In the order of commits, in pieces that fit in memory. */
  entries(): AsyncGenerator<readonly BookEntry[], void>
}

/** Reads the books, a bounded number of rows at a time. */
export interface Accounting {
  books(period: BookPeriod): Promise<Books>
  /**
   * The archive that has charges which a report of this period would read: any of the period if it lists `entries`, or else those of a closed day in which it
   * begins or ends. Null if the books have all.
   */
  archiveOf(period: BookPeriod, reads: 'entries' | 'sums'): Promise<string | null>
}
