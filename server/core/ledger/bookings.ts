import type { Money } from '../money'

/** What is booked under one reference. */
export interface Booked {
  /** Each transaction's reference: the reference itself, and later ones of the form `reference:...`. */
  readonly references: readonly string[]
  /** What these transactions took back from the account, less what they paid to it. */
  readonly takenBack: Money
}

/** Which money that came in or went back is in the ledger already. Rejects while the database does not answer. */
export interface Bookings {
  under(reference: string): Promise<Booked>
}
