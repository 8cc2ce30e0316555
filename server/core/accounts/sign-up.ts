import type { Clock } from '../clock'
import { makeId } from '../ids'
import type { Ledger } from '../ledger/ledger'
import { type Money, micros } from '../money'
import type { Account } from './account'
import type { AccountStore } from './store'
import { Turns } from './turns'

export const SIGNUP_CREDIT: Money = micros(2_000_000)

/**
 * Opens the account of a user: the account, its 2 USD of signup credit and the operator flag, in one commit. Idempotent:
 * called by the sign-up hook, and again by `/api` when a failing hook left a user without one (spec-answers 4). Resolves
 * null when the database did not take it; then nothing was made.
 */
export class SignUp {
  private readonly accounts: AccountStore
  private readonly ledger: Ledger
  private readonly clock: Clock
  private readonly firstIsOperator: boolean
  private readonly turns = new Turns()

  constructor(parts: { accounts: AccountStore; ledger: Ledger; clock: Clock; firstIsOperator: boolean }) {
    this.accounts = parts.accounts
    this.ledger = parts.ledger
    this.clock = parts.clock
    this.firstIsOperator = parts.firstIsOperator
  }

  /** One after the other over all users, so that exactly one is the first. */
  openAccount(userId: string, address: string | null = null): Promise<Account | null> {
    return this.turns.take('sign-up', async () => {
      const known = await this.accounts.byUser(userId)
      if (known) return known
      const createdAt = this.clock.now()
      const operator = this.firstIsOperator && (await this.accounts.count()) === 0
      const id = makeId('acct', createdAt)
      const credited = await this.ledger.credit({
        account: id,
        part: 'credit',
        kind: 'signup_credit',
        amount: SIGNUP_CREDIT,
        description: 'Signup credit',
        reference: `signup_credit:${userId}`,
        opening: { id, userId, operator, createdAt },
        audit: {
          id: makeId('audit', createdAt),
          at: createdAt,
          actor: { kind: 'owner', id: userId, address },
          accountId: id,
          keyId: null,
          action: 'account.open',
          detail: { operator },
        },
      })
      if (!credited.ok) return null
      const account: Account = { id, userId, operator, growthApproved: false, customLimits: null, createdAt }
      this.accounts.opened(account)
      return account
    })
  }
}
