import type { AccountId } from '../ids'
import type { Limits } from '../limits/tier'

/** A billing account: one per owner. Its money stands in the ledger, its keys in the credential store. */
export interface Account {
  readonly id: AccountId
  /** The sign-in library's user. */
  readonly userId: string
  /** May grant credit, set limits and prices, and see all accounts. */
  readonly operator: boolean
  readonly growthApproved: boolean
  /** Set by an operator; makes the account Enterprise. */
  readonly customLimits: Limits | null
  /** Live keys that an operator allowed; null: as many as any account may have. */
  readonly mostKeys: number | null
  readonly createdAt: number
}
