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

/** The source of a sign-up. */
export interface SignUpOrigin {
  readonly address: string | null
  /** Whether the request was made on this machine and not through a proxy. */
  readonly isFromThisMachine: boolean
}

const UNKNOWN_ORIGIN: SignUpOrigin = { address: null, isFromThisMachine: false }

/**
 * Opens a user's account: the account, its 2 USD signup credit and the operator flag, in one commit. Idempotent: the sign-up
 * hook calls it, and `/api` calls it again if that hook failed (spec-answers 4). Returns null, having written nothing, when the
 * database is unavailable. The SQL statement itself decides whether the account is the first and becomes the operator.
 */
export class SignUp {
  private readonly accounts: AccountStore
  private readonly ledger: Ledger
  private readonly clock: Clock
  private readonly setupToken: SetupToken
  private readonly firstIsOperator: boolean
  private readonly mutex = new KeyedMutex()

  /** `firstIsOperator`: whether the first account becomes the operator if it signs up on this machine. */
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

  openAccount(userId: string, origin: SignUpOrigin = UNKNOWN_ORIGIN): Promise<Account | null> {
    return this.mutex.take(userId, async () => {
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
