import type { AccountId, RequestId } from '../ids'
import type { Money } from '../money'
import type { Split } from './hold'

/** The transactions booked under one reference. */
export interface Booked {
  /** Their references: the reference itself, and follow-ups of the form `reference:...`. */
  readonly references: readonly string[]
  /** What they took back from the account, minus what they paid to it. */
  readonly takenBack: Money
}

/** Finds incoming and returned money in the ledger. Rejects while the database is unavailable. */
export interface Bookings {
  under(reference: string): Promise<Booked>
  /** What a call was charged, less what a failed commit reversed. Null when it was not charged. */
  chargeOf(account: AccountId, request: RequestId): Promise<Split | null>
  /** Whether the stored response of a call was given to a repeat. */
  isGivenAgain(request: RequestId): Promise<boolean>
}
