import { type Failure, failure } from '../failure'
import type { AccountId } from '../ids'
import type { Limits } from '../limits/tier'

/** Why and since when an account may do nothing. Its money stays. */
export interface Suspension {
  readonly at: number
  /** Shown to the owner, and to callers with its keys. */
  readonly reason: string
}

/** The rights of a person who runs the gateway. */
export type StaffRole = 'operator' | 'support'

/** A billing account, which the dashboard calls a workspace. Each user has one of their own. The ledger holds its money, the credential store its keys. */
export interface Account {
  readonly id: AccountId
  /** Its owner: the user's id in the sign-in library. */
  readonly userId: string
  /** May grant credit, set limits and prices, and see all accounts. */
  readonly operator: boolean
  /** May see all accounts, suspend them and disable their keys, but moves no money, sets no prices and sees no secrets. */
  readonly support: boolean
  /** Set while an operator has suspended the account. Its keys, apps and sessions are refused with the reason. */
  readonly suspension: Suspension | null
  /** When its owner closed it or an operator erased it, for good. Nothing is made or served for it from then on. */
  readonly closedAt: number | null
  readonly growthApproved: boolean
  /** Set by an operator; makes the account Enterprise. */
  readonly customLimits: Limits | null
  /** The number of live keys that an operator allowed, or null for the default. */
  readonly maxKeys: number | null
  readonly createdAt: number
}

/** The address of a closed account, in place of the owner's. Nothing is ever sent there. */
export function closedEmail(account: AccountId): string {
  return `${account}@deleted.invalid`
}

/** How an account states its role. */
export function roleFlags(role: StaffRole | null): Pick<Account, 'operator' | 'support'> {
  return { operator: role === 'operator', support: role === 'support' }
}

export function staffRole({ operator, support }: Pick<Account, 'operator' | 'support'>): StaffRole | null {
  if (operator) return 'operator'
  return support ? 'support' : null
}

export const ACCOUNT_CLOSED = failure('account_suspended', 'This account is closed for good.')

/** Why a request of the account is refused while it is suspended, or since it is closed, or null. */
export function suspensionProblem({ suspension, closedAt }: Pick<Account, 'suspension' | 'closedAt'>): Failure | null {
  if (closedAt !== null) return ACCOUNT_CLOSED
  if (!suspension) return null
  return failure(
    'account_suspended',
    `This account is suspended: ${suspension.reason.replace(/[.\s]*$/, '.')} Contact the operator of this gateway. Your balance is kept.`,
  )
}
