import type { Budget, SpendPool } from '../credentials/api-key'
import type { AccountId, PoolId, RequestId } from '../ids'
import type { Money } from '../money'
import type { Result } from '../result'
import type { BalancePart } from './entry'

export interface HoldRequest {
  readonly request: RequestId
  readonly account: AccountId
  /** Null for a credential without a spending limit of its own. */
  readonly pool: PoolId | null
  readonly amount: Money
  /** Whether signup credit may pay for it. */
  readonly creditPays: boolean
  /** When the call began: the period of a budget that it belongs to. */
  readonly at: number
}

/** A pool's budget, as its counters know it. */
export interface PoolBudget extends Pick<Budget, 'period' | 'timezone'> {
  readonly limit: Money
}

/** The period of a budget that is running. */
export interface BudgetWindow {
  readonly limit: Money
  readonly startsAt: number
  readonly endsAt: number
  readonly spent: Money
  readonly held: Money
}

/** What the ledger's durable side knows of a pool's spending, read in one step: since the start of a period, and in all. */
export interface PoolSpending {
  readonly inPeriod: Money
  readonly inAll: Money
}

/** How much of an amount comes out of each part of the balance. */
export type Split = Readonly<Record<BalancePart, Money>>

export interface Hold extends HoldRequest {
  readonly split: Split
}

/** What the key may spend is judged before what the account has (spec-answers 2): its limit, then its budget. */
export type HoldRefusal = 'pool_exhausted' | 'budget_exhausted' | 'insufficient_balance' | 'insufficient_paid_balance'
export type SettleRefusal = 'unknown_hold' | 'settled_differently' | 'exceeds_hold' | 'settling'

/** What a refund takes: `paid` is set aside until it is booked, the rest becomes debt then. */
export interface SetAside {
  readonly paid: Money
  readonly debt: Money
}

export interface Balance {
  readonly credit: Money
  readonly paid: Money
  /** What a refund took back that was spent already. While there is any, nothing can be held. */
  readonly debt: Money
  /** credit + paid - debt: what the entries sum to. */
  readonly posted: Money
  readonly held: Money
  /** What a new hold can take: credit + paid - held, and nothing while there is debt. */
  readonly available: Money
  readonly toppedUp: Money
}

/**
 * The counters that decide: balance, held and spent, where calls from all sides meet. Every method is atomic: it sees and
 * leaves whole states only, however many run at once, which is what makes the cap hold under any concurrency. Always true:
 * available = posted - held >= 0, and no hold is granted that takes spent + held of a pool over the limit then in force, or
 * spent + held of a budget's period over the budget.
 *
 * A hold ends once. `fix` names the amount (held -> settling), then exactly one of `captured`, `released` follows.
 */
export interface HoldStore {
  /** A request holds at most once in its life: a second hold, also after a capture, is a bug and throws. */
  hold(request: HoldRequest): Promise<Result<Hold, HoldRefusal>>
  /** Fixes what will be captured, at most what was held, credit first. The same amount again gives the same split. */
  fix(request: RequestId, amount: Money): Promise<Result<{ hold: Hold; split: Split; first: boolean }, SettleRefusal>>
  /**
   * The fixed amount is durable: held goes down, spent goes up, the rest returns to available. `undone`: its reversal
   * follows, so that a repeated capture finds no hold, instead of being told that the charge stands.
   */
  captured(request: RequestId, undone?: boolean): Promise<void>
  /** Gives everything back. A hold that is settling is left alone unless `evenSettling`. False when there was none to end. */
  release(request: RequestId, evenSettling?: boolean): Promise<boolean>
  /** Money that came in, or went back, and is durable already. `repaid`: what came in beside `amount` and paid debt back. */
  credited(change: {
    account: AccountId
    part: BalancePart
    amount: Money
    toppedUp: Money
    repaid?: Money
    pool?: PoolId
    /** When the call began whose charge goes back. */
    at?: number
  }): Promise<void>
  /**
   * Sets aside what a refund takes, out of what is paid and not held, so that nobody spends it before it is booked. `takenBack`
   * or `putBack` ends it. Until then the balance and the debt stay as they are: they follow the journal.
   */
  setAside(account: AccountId, amount: Money): Promise<SetAside>
  /** What was set aside is gone, durably; `debt` of it is owed from now on. `toppedUp`: how much less counts as topped up. */
  takenBack(account: AccountId, taken: SetAside, toppedUp: Money): Promise<void>
  /** Nothing was booked: what was set aside can be spent again. */
  putBack(account: AccountId, taken: SetAside): Promise<void>
  balance(account: AccountId): Promise<Balance | null>
  pool(pool: PoolId): Promise<(SpendPool & { readonly held: Money }) | null>
  /** Opens an account with nothing in it, or a pool with nothing spent. Repeating changes nothing. */
  openAccount(account: AccountId): Promise<void>
  openPool(pool: PoolId, account: AccountId, limit: Money | null): Promise<void>
  setPoolLimit(pool: PoolId, limit: Money | null): Promise<void>
  /**
   * Gives a pool a budget, or takes it away with null. What was spent in the period that runs at `at` is what the durable side
   * had then, and what this store has counted beyond that; calls under way count in full.
   */
  setPoolBudget(pool: PoolId, budget: PoolBudget | null, at: number, spending: PoolSpending): Promise<void>
  /** The period that runs at `at`; null without a budget. */
  budget(pool: PoolId, at: number): Promise<BudgetWindow | null>
}

/** Counters that live in memory, and so are filled from what the last commit left, before anything is served. */
export interface RestorableCounters {
  restoreAccount(id: AccountId, credit: Money, paid: Money, toppedUp: Money, debt?: Money): void
  /** A kept hold, as it was granted: it is not judged again. */
  restoreHold(hold: Hold): void
  restorePool(id: PoolId, accountId: AccountId, limit: Money | null, spent: Money): void
  /** After `restorePool`. `spent` is what the ledger has for the period that runs at `at`. */
  restoreBudget(id: PoolId, budget: PoolBudget, at: number, spent: Money): void
}
