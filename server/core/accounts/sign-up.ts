import { auditEntry } from '../audit'
import type { Clock } from '../clock'
import { makeId } from '../ids'
import { KeyedMutex } from '../keyed-mutex'
import type { Ledger } from '../ledger/ledger'
import { type Money, micros } from '../money'
import type { Account } from './account'
import type { SetupToken } from './setup-token'
import type { AccountStore } from './store'

export const SIGNUP_CREDIT: Money = micros(2_000_000)

/** Where a sign-up came from. */
export interface SignUpOrigin {
  readonly address: string | null
  /** Whether it was made on this machine and came past no proxy. */
  readonly isFromThisMachine: boolean
}

const NOWHERE: SignUpOrigin = { address: null, isFromThisMachine: false }

/**
 * Opens the account of a user: the account, its 2 USD of signup credit and the operator flag, in one commit. Idempotent:
 * called by the sign-up hook, and again by `/api` when a failing hook left a user without one (spec-answers 4). Resolves
 * null when the database did not take it; then nothing was made. Whether the account is the first, and so operator, is decided
 * by the statement that writes it.
 */
export class SignUp {
  private readonly accounts: AccountStore
  private readonly ledger: Ledger
  private readonly clock: Clock
  private readonly setupToken: SetupToken
  private readonly firstIsOperator: boolean
  private readonly turns = new KeyedMutex()

  /** `firstIsOperator`: whether the first account may be, if it signs up on this machine. */
  constructor(parts: {
    accounts: AccountStore
    ledger: Ledger
    clock: Clock
    setupToken: SetupToken
    firstIsOperator: boolean
  }) {
    this.accounts = parts.accounts
    this.ledger = parts.ledger
    this.clock = parts.clock
    this.setupToken = parts.setupToken
    this.firstIsOperator = parts.firstIsOperator
  }

  openAccount(userId: string, origin: SignUpOrigin = NOWHERE): Promise<Account | null> {
    return this.turns.take(userId, async () => {
      const known = await this.accounts.byUser(userId)
      if (known) return known
      const createdAt = this.clock.now()
      const id = makeId('acct', createdAt)
      const credited = await this.ledger.credit({
        account: id,
        part: 'credit',
        kind: 'signup_credit',
        amount: SIGNUP_CREDIT,
        description: 'Signup credit',
        reference: `signup_credit:${userId}`,
        opening: { id, userId, mayBeOperator: this.firstIsOperator && origin.isFromThisMachine, createdAt },
        audit: auditEntry({
          at: createdAt,
          actor: { kind: 'owner', id: userId, address: origin.address },
          accountId: id,
          action: 'account.open',
        }),
      })
      if (!credited.ok) return null
      const account = await this.accounts.byUser(userId)
      if (account?.operator) this.setupToken.withdraw()
      return account
    })
  }
}
