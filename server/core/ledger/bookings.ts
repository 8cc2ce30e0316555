import type { AccountId, RequestId } from '../ids'
import type { Money } from '../money'
import type { Split } from './hold'

/** The transactions booked under one reference. */
export interface Booked {
  /** Their references: the reference itself, and follow-ups of the form `reference:...`. */
  readonly references: readonly string[]
  /** The money that they took back from the account, minus payments to it. */
  readonly takenBack: Money
}

/** Finds incoming and returned money in the ledger. Rejects while the database is unavailable. */
export interface Bookings {
  under(reference: string): Promise<Booked>
  /** The charge of a call, less the reversal of a failed commit. Null when it was not charged. */
  chargeOf(account: AccountId, request: RequestId): Promise<Split | null>
}
