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
  /** The budget scope that the call named. Counts only if its pool has a budget for each. */
  readonly scope?: string | null
  readonly amount: Money
  /** Whether signup credit may pay for it. */
  readonly creditPays: boolean
  /** When the call began. Decides to which period of a budget it belongs. */
  readonly at: number
}

/** Whose spending a pool counts: of a key and its successors, of an app with the keys that it made, or of all that has it as an ancestor. */
export type PoolKind = 'key' | 'app' | 'member' | 'account' | 'scope'

/** The scopes that one key may name in one period of their budget. */
export const MAX_SCOPES = 10_000

/** A new pool, with nothing spent. */
export interface PoolOpening {
  readonly id: PoolId
  readonly account: AccountId
  readonly limit: Money | null
  /** A known pool of the same account, in which all counts too that this one holds and spends. Null: the account's own pool, if it has one. */
  readonly parent?: PoolId | null | undefined
  readonly kind?: PoolKind | undefined
}

/** A pool's budget, as the counters store it. */
export interface PoolBudget extends Pick<Budget, 'period' | 'timezone'> {
  readonly limit: Money
  /** What a call may hold in addition that began before `until`. */
  readonly raise?: { readonly amount: Money; readonly until: number } | null
}

/** A pool now. */
export interface PoolReading extends SpendPool {
  readonly held: Money
  /** The rest of its limit or of an ancestor's, whichever is least; at least zero. Null without any limit. */
  readonly remaining: Money | null
  /** The same of limits and budgets, without what calls in progress hold. */
  readonly available: Money | null
  /** The current periods of its own budgets. */
  readonly windows: readonly BudgetWindow[]
}

/** The current period of a budget. */
export interface BudgetWindow extends Pick<Budget, 'period'> {
  /** With the raise, while there is one. */
  readonly limit: Money
  readonly startsAt: number
  readonly endsAt: number
  readonly spent: Money
  readonly held: Money
}

/** A pool's durable spending, read in one step: since the start of a period, and in total. */
export interface PoolSpending {
  readonly inPeriod: Money
  readonly inAll: Money
}

/** How an amount is split between the parts of the balance. */
export type Split = Readonly<Record<BalancePart, Money>>

export interface Hold extends HoldRequest {
  readonly split: Split
}

/** Where the spending of a pool counts too: its ancestors, and the periods of all their budgets and its own. */
export interface CountedIn {
  readonly parents: readonly PoolId[]
  readonly windows: readonly SpentWindow[]
}

/** A period of a pool's budget. */
export type SpentWindow = readonly [pool: PoolId, period: Budget['period'], startsAt: number]

/** A hold whose amount to capture is set. */
export interface FixedHold {
  readonly hold: Hold
  readonly split: Split
  /** False if it was captured before. */
  readonly first: boolean
  /** Null if it counts in its pool alone, without a budget. */
  readonly counted: CountedIn | null
}

/** The pool whose limit, or whose budget, leaves less than the amount: the call's own or the nearest ancestor. */
export interface Exhausted {
  readonly pool: PoolId
  readonly kind: PoolKind
  /** Null: its limit. */
  readonly window: BudgetWindow | null
}

/** Limits and budgets are checked before the account's balance (spec D2). */
export type HoldRefusal =
  | Exhausted
  /** The key has named as many scopes in this period as it may. */
  | 'too_many_scopes'
  | 'insufficient_balance'
  | 'insufficient_paid_balance'
  /** A record of the account is stuck, and an operator has to decide (ADR 10). */
  | 'account_under_review'
export type SettleRefusal = 'unknown_hold' | 'settled_differently' | 'exceeds_hold' | 'settling'

/** The money of a refund: `paid` is reserved until the refund is booked, and the rest then becomes debt. */
export interface SetAside {
  readonly paid: Money
  readonly debt: Money
}

export interface Balance {
  readonly credit: Money
  readonly paid: Money
  /** Refunded money that was already spent. While there is debt, nothing can be held. */
  readonly debt: Money
  /** credit + paid - debt: the sum of the entries. */
  readonly posted: Money
  readonly held: Money
  /** The money for a new hold: credit + paid - held, or zero while there is debt. */
  readonly available: Money
  readonly toppedUp: Money
}

/**
 * The counters that decide whether a call may spend: balance, held and spent. Every method is atomic, which is what enforces the
 * limits under any concurrency. Those that answer at once need `load` first. Invariants: available = posted - held >= 0. No hold is granted that takes spent + held of a pool
 * or of an ancestor above its current limit, or spent + held of a period of one of their budgets above that budget.
 *
 * A hold ends once. `fix` sets the amount (held -> settling), then either `captured` or `release` follows.
 */
export interface HoldStore {
  /**
   * Brings an account, and a pool, into memory; null if they are there. Needed before a hold, and before every other commit that changes them: read
   * after it they would have the change already, and what follows it would count it twice. Does nothing for those that do not exist. Rejects if they
   * cannot be read.
   */
  load(account: AccountId, pool?: PoolId | null, scope?: string | null, at?: number): Promise<void> | null
  /** A request can hold only once: a second hold, even after a capture, is a bug and throws. */
  hold(request: HoldRequest): Result<Hold, HoldRefusal>
  /** Sets the amount to capture, at most what was held, credit first. Repeating it with the same amount returns the same split. */
  fix(request: RequestId, amount: Money): Result<FixedHold, SettleRefusal>
  /**
   * Call once the fixed amount is durable: held goes down, spent goes up, and the rest becomes available again. `undone`: a reversal
   * follows, so a repeated capture must find no hold instead of a successful charge.
   */
  captured(request: RequestId, undone?: boolean): void
  /** Releases the whole hold, unless it is settling and `evenSettling` is not set. Returns false when there was nothing to release. */
  release(request: RequestId, evenSettling?: boolean): boolean
  /** Adds money that is already durable. `repaid`: what came in in addition to `amount` and paid back debt. */
  credited(change: {
    account: AccountId
    part: BalancePart
    amount: Money
    toppedUp: Money
    repaid?: Money
    pool?: PoolId
    /** When the call began whose charge is reversed, and the scope that it named. */
    at?: number
    scope?: string | null | undefined
  }): void
  /**
   * Reserves the money of a refund from paid money that is not held, so that it cannot be spent before the refund is booked. Must be
   * followed by `takenBack` or `putBack`. Until then balance and debt do not change: they follow the journal.
   */
  setAside(account: AccountId, amount: Money): SetAside
  /** Call once the refund is durable: removes the reserved money and adds `debt`. `toppedUp` is subtracted from the total topped up. */
  takenBack(account: AccountId, taken: SetAside, toppedUp: Money): void
  /** Call if the refund was not booked: the reserved money can be spent again. */
  putBack(account: AccountId, taken: SetAside): void
  /**
   * Reserves the whole amount from what is available, credit first, so that it cannot be spent before a debit is booked. Null when less
   * is available. Must be followed by `debited` or `undebited`.
   */
  reserve(account: AccountId, amount: Money): Split | null
  /** Call once the debit is durable. */
  debited(account: AccountId, taken: Split): void
  /** Call if the debit was not booked. */
  undebited(account: AccountId, taken: Split): void
  /**
   * Adds to what is posted and spent, without a hold: an operator decided about a record that the counters had otherwise. Amounts may be
   * negative; a part of the balance stops at zero. `at`: when the call began. Does nothing to an account or pool that is unknown.
   */
  corrected(change: Correction): void
  balance(account: AccountId): Promise<Balance | null>
  /** The total that an account topped up; null if the account must be loaded first. */
  toppedUp(account: AccountId): Money | null
  /** With the windows at `at`. */
  pool(pool: PoolId, at: number): Promise<PoolReading | null>
  /** Where a charge counts of a call that began at `at`: null if in this pool alone, without a budget. Needs `load`. */
  counted(pool: PoolId, at: number): CountedIn | null
  /** Opens an empty account, or a pool with nothing spent, before the commit that makes it. Idempotent. */
  openAccount(account: AccountId): Promise<void>
  openPool(pool: PoolOpening): Promise<void>
  setPoolLimit(pool: PoolId, limit: Money | null): Promise<void>
  /**
   * Replaces a pool's budgets, each of another period. `spendings`: of each budget, what was durable in its period at `at`; the counters add what
   * they have counted since, and calls in progress in full. A budget whose period and time zone stay keeps its counters.
   */
  setPoolBudgets(
    pool: PoolId,
    budgets: readonly PoolBudget[],
    at: number,
    spendings: readonly PoolSpending[],
  ): Promise<void>
  /** Sets, or with null removes, what each scope may spend that calls of this pool name. Calls in progress count in full. */
  setScopeBudget(pool: PoolId, budget: PoolBudget | null): Promise<void>
  /**
   * From now on the pool counts below another one, or with null below its account's alone, with its calls in progress and what it spent in the periods
   * at `at` of the ancestors' budgets. `spendings`: what of that was durable, by the start of each period. What ancestors spent in all stays. Atomic.
   */
  movePool(pool: PoolId, parent: PoolId | null, at: number, spendings: ReadonlyMap<number, PoolSpending>): Promise<void>
}

/** Micro-USD to add to the counters. */
export interface Correction extends Readonly<Record<BalancePart, number>> {
  readonly account: AccountId
  readonly spent?:
    | {
        readonly poolId: PoolId
        readonly amount: number
        readonly at: number
        readonly scope?: string | null | undefined
      }
    | undefined
}

/** The balance of an account, as the tables have it. */
export interface StoredAccount extends Readonly<Record<BalancePart, Money>> {
  readonly toppedUp: Money
  readonly debt: Money
}

/** A pool, as the tables have it. */
export interface StoredPool extends Pick<SpendPool, 'accountId' | 'limit' | 'spent'> {
  readonly parentId?: PoolId | null
  readonly kind?: PoolKind
  readonly budgets: readonly StoredBudget[]
  readonly scopeBudget?: PoolBudget | null
}

export interface StoredBudget {
  readonly budget: PoolBudget
  readonly at: number
  /** In the period at `at`. */
  readonly spent: Money
  /** In the period before that: a call may have begun in it. */
  readonly spentBefore: Money
}

/** Where counters are read at their first use. Null for what does not exist. Rejects if the database does not answer. */
export interface StoredCounters {
  account(id: AccountId): Promise<StoredAccount | null>
  pool(id: PoolId): Promise<StoredPool | null>
  /** What a scope of a pool has spent, in the period of its budget at `at` and in the one before. Sees every acknowledged charge. */
  scope(pool: PoolId, scope: string, period: PoolBudget['period']): Promise<Omit<StoredBudget, 'budget'>>
}

/** Counters in memory, which are read from the tables at their first use. */
export interface RestorableCounters extends Pick<HoldStore, 'load'> {
  /** From where they are read. Call once, when the tables have every charge of earlier processes, and before any other method. */
  readFrom(stored: StoredCounters): void
  /** Restores a durable hold as it was granted, without checking it again. Its account and pool must be loaded. */
  restoreHold(hold: Hold): void
  /** The accounts that hold nothing until an operator has decided. Replaces those given before. */
  review(accounts: ReadonlySet<AccountId>): void
}
