import type { AccountId } from '../ids'
import type { Limits } from '../limits/tier'

/** A billing account; each owner has one. The ledger holds its money, the credential store its keys. */
export interface Account {
  readonly id: AccountId
  /** The user's id in the sign-in library. */
  readonly userId: string
  /** May grant credit, set limits and prices, and see all accounts. */
  readonly operator: boolean
  readonly growthApproved: boolean
  /** Set by an operator; makes the account Enterprise. */
  readonly customLimits: Limits | null
  /** The number of live keys that an operator allowed, or null for the default. */
  readonly maxKeys: number | null
  readonly createdAt: number
}
