import type { Money } from '../money'

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
}
