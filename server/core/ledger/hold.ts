import type { SpendPool } from '../credentials/api-key'
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
}

/** How much of an amount comes out of each part of the balance. */
export type Split = Readonly<Record<BalancePart, Money>>

export interface Hold extends HoldRequest {
  readonly split: Split
}

/** `pool_exhausted` is judged before `insufficient_balance` (spec-answers 2). */
export type HoldRefusal = 'pool_exhausted' | 'insufficient_balance' | 'insufficient_paid_balance'
export type SettleRefusal = 'unknown_hold' | 'settled_differently' | 'exceeds_hold' | 'settling'

export interface Balance {
  readonly credit: Money
  readonly paid: Money
  /** credit + paid: what the entries sum to. */
  readonly posted: Money
  readonly held: Money
  /** posted - held: what a new hold can take. */
  readonly available: Money
  readonly toppedUp: Money
}

/**
 * The counters that decide: balance, held and spent, where calls from all sides meet. Every method is atomic: it sees and
 * leaves whole states only, however many run at once, which is what makes the cap hold under any concurrency. Always true:
 * available = posted - held >= 0, and no hold is granted that takes spent + held of a pool over the limit then in force.
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
  /** Money that came in, or went back, and is durable already. */
  credited(change: {
    account: AccountId
    part: BalancePart
    amount: Money
    toppedUp: Money
    pool?: PoolId
  }): Promise<void>
  balance(account: AccountId): Promise<Balance | null>
  pool(pool: PoolId): Promise<(SpendPool & { readonly held: Money }) | null>
  /** Opens an account with nothing in it, or a pool with nothing spent. Repeating changes nothing. */
  openAccount(account: AccountId): Promise<void>
  openPool(pool: PoolId, account: AccountId, limit: Money | null): Promise<void>
  setPoolLimit(pool: PoolId, limit: Money | null): Promise<void>
}

/** Counters that live in memory, and so are filled from what the last commit left, before anything is served. */
export interface RestorableCounters {
  restoreAccount(id: AccountId, credit: Money, paid: Money, toppedUp: Money): void
  /** A kept hold, as it was granted: it is not judged again. */
  restoreHold(hold: Hold): void
  restorePool(id: PoolId, accountId: AccountId, limit: Money | null, spent: Money): void
}
