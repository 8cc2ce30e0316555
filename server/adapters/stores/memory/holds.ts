import type { AccountId, PoolId, RequestId } from '../../../core/ids'
import type { BalancePart } from '../../../core/ledger/entry'
import type {
  Balance,
  Correction,
  CountedIn,
  FixedHold,
  Hold,
  HoldRefusal,
  HoldRequest,
  HoldStore,
  PoolBudget,
  PoolOpening,
  PoolReading,
  PoolSpending,
  SetAside,
  SettleRefusal,
  Split,
  StoredBudget,
} from '../../../core/ledger/hold'
import { type Money, micros, min, minus, plus, ZERO } from '../../../core/money'
import { err, ok, type Result } from '../../../core/result'
import { BudgetCounter } from './budget-counter'
import { PoolCounters, type PoolOwner } from './pool-counters'
import { ScopePools } from './scope-pools'

interface AccountCounters extends PoolOwner {
  posted: Record<BalancePart, Money>
  held: Record<BalancePart, Money>
  toppedUp: Money
  debt: Money
}
interface EndedHold {
  readonly hold: Hold
  readonly captured: Split
}
interface OpenHold {
  readonly hold: Hold
  pool: PoolCounters | null
  settling: Split | null
  /** The ancestors that its record names, once a pool above it moved while the charge was written. */
  recorded?: readonly PoolId[]
}

/** At least this many ended captures are remembered, so that a repeated capture gets the same result. */
const REMEMBERED = 4096

/**
 * The counters of the one process that owns the database. Atomic because each method runs from its first read to its last
 * write without an `await`, so nothing else can run in between (50 ns per hold).
 */
export class MemoryHolds implements HoldStore {
  private readonly accounts = new Map<AccountId, AccountCounters>()
  private readonly pools = new Map<PoolId, PoolCounters>()
  /** Of pools with a budget for each scope that their calls name. */
  private readonly scopes = new Map<PoolId, ScopePools>()
  private readonly open = new Map<RequestId, OpenHold>()
  /** Ended captures in two generations. When the newer one is full, the older one is dropped as a whole. */
  private ended = new Map<RequestId, EndedHold>()
  private endedBefore = new Map<RequestId, EndedHold>()
  private underReview: ReadonlySet<AccountId> = new Set()

  restoreAccount(id: AccountId, credit: Money, paid: Money, toppedUp: Money, debt = ZERO): void {
    const held = { credit: ZERO, paid: ZERO }
    this.accounts.set(id, { posted: { credit, paid }, held, toppedUp, debt: notNegative(debt), pool: null })
  }

  /** Call for its account and its parent first. */
  restorePool(
    opening: PoolOpening,
    spent: Money,
    budgets: readonly StoredBudget[] = [],
    scopeBudget: PoolBudget | null = null,
  ): void {
    const { id, account, parent = null } = opening
    const owner = this.accountOf(account)
    const pool = new PoolCounters(opening, spent, parent === null ? null : this.poolOf(parent), owner)
    pool.budgets = budgets.map((one) => new BudgetCounter(one.budget, one.at, one.spent, one.spentBefore))
    if (scopeBudget) this.scopes.set(id, new ScopePools(pool, scopeBudget))
    this.pools.set(id, pool)
    if (opening.kind !== 'account') return
    owner.pool = pool
    for (const { hold } of this.open.values())
      if (hold.account === account && hold.pool !== null) pool.holdHere(hold.at, hold.amount)
  }

  /** Everything was restored or opened. */
  load(_account: AccountId, pool: PoolId | null = null, scope: string | null = null, at = 0): Promise<void> | null {
    if (pool !== null && scope !== null && this.lacksScope(pool, scope)) this.addScope(pool, scope, nothing(at))
    return null
  }

  review(accounts: ReadonlySet<AccountId>): void {
    this.underReview = accounts
  }

  restoreHold(hold: Hold): void {
    move(this.accountOf(hold.account).held, hold.split, 1)
    const spends = hold.pool === null ? null : this.spendPool(hold.pool, hold.scope)
    const pool = spends === 'too_many_scopes' ? this.poolOf(hold.pool as PoolId) : spends
    pool?.hold(hold.at, hold.amount)
    this.open.set(hold.request, { hold, pool, settling: null })
  }

  hold(request: HoldRequest): Result<Hold, HoldRefusal> {
    if (this.open.has(request.request) || this.endedAs(request.request))
      throw new Error(`request ${request.request} has its hold already`)
    if (request.amount < 0) throw new RangeError('a hold is never negative')
    const account = this.accounts.get(request.account)
    if (!account) throw new Error(`unknown account ${request.account}`)
    if (this.underReview.has(request.account)) return err('account_under_review')
    const pool = request.pool === null ? null : this.spendPool(request.pool, request.scope)
    if (pool === 'too_many_scopes') return err(pool)
    const exhausted = pool === null ? null : pool.exhausted(request.at, request.amount)
    if (exhausted !== null) return err(exhausted)
    if (account.debt > 0) return err('insufficient_balance')
    const free = request.creditPays ? minus(account.posted.credit, account.held.credit) : ZERO
    const fromCredit = min(free, request.amount)
    const fromPaid = minus(request.amount, fromCredit)
    if (fromPaid > account.posted.paid - account.held.paid) {
      const withCredit = account.posted.credit - account.held.credit + account.posted.paid - account.held.paid
      return err(
        !request.creditPays && withCredit >= request.amount ? 'insufficient_paid_balance' : 'insufficient_balance',
      )
    }
    const hold: Hold = { ...request, split: { credit: fromCredit, paid: fromPaid } }
    move(account.held, hold.split, 1)
    pool?.hold(request.at, request.amount)
    this.open.set(request.request, { hold, pool, settling: null })
    return ok(hold)
  }

  fix(request: RequestId, amount: Money): Result<FixedHold, SettleRefusal> {
    const ended = this.endedAs(request)
    if (ended) {
      const same = ended.captured.credit + ended.captured.paid === amount
      return same
        ? ok({ hold: ended.hold, split: ended.captured, first: false, counted: null })
        : err('settled_differently')
    }
    const open = this.open.get(request)
    if (!open) return err('unknown_hold')
    if (open.settling) return err('settling')
    if (amount < 0) throw new RangeError('a capture is never negative')
    if (amount > open.hold.amount) return err('exceeds_hold')
    const credit = min(open.hold.split.credit, amount)
    open.settling = { credit, paid: minus(amount, credit) }
    const { hold, settling: split, pool } = open
    return ok({ hold, split, first: true, counted: pool === null ? null : pool.counted(hold.at) })
  }

  captured(request: RequestId, undone = false): void {
    const open = this.open.get(request)
    if (!open?.settling) throw new Error(`request ${request} is not settling`)
    const { hold, settling } = open
    this.end(open, settling.credit + settling.paid)
    const account = this.accountOf(hold.account)
    move(account.posted, settling, -1)
    if (!undone) this.remember(hold, settling)
  }

  release(request: RequestId, evenSettling = false): boolean {
    const open = this.open.get(request)
    if (!open || (open.settling && !evenSettling)) return false
    this.end(open, 0)
    return true
  }

  credited(change: Parameters<HoldStore['credited']>[0]): void {
    const account = this.accountOf(change.account)
    const debt = notNegative(minus(account.debt, change.repaid ?? ZERO))
    account.posted[change.part] = plus(account.posted[change.part], change.amount)
    account.toppedUp = plus(account.toppedUp, change.toppedUp)
    account.debt = debt
    if (change.pool) this.livePool(change.pool, change.scope)?.corrected(change.at, -change.amount)
  }

  setAside(id: AccountId, amount: Money): SetAside {
    const account = this.accountOf(id)
    const paid = min(amount, minus(account.posted.paid, account.held.paid))
    account.held.paid = plus(account.held.paid, paid)
    return { paid, debt: minus(amount, paid) }
  }

  takenBack(id: AccountId, taken: SetAside, toppedUp: Money): void {
    const account = this.accountOf(id)
    const debt = notNegative(plus(account.debt, taken.debt))
    account.held.paid = minus(account.held.paid, taken.paid)
    account.posted.paid = minus(account.posted.paid, taken.paid)
    account.toppedUp = minus(account.toppedUp, toppedUp)
    account.debt = debt
  }

  putBack(id: AccountId, taken: SetAside): void {
    const account = this.accountOf(id)
    account.held.paid = minus(account.held.paid, taken.paid)
  }

  reserve(id: AccountId, amount: Money): Split | null {
    const account = this.accountOf(id)
    const free = minus(account.posted.credit, account.held.credit)
    const credit = min(free, amount)
    const split = { credit, paid: minus(amount, credit) }
    if (account.debt > 0 || split.paid > account.posted.paid - account.held.paid) return null
    move(account.held, split, 1)
    return split
  }

  debited(id: AccountId, taken: Split): void {
    const account = this.accountOf(id)
    move(account.held, taken, -1)
    move(account.posted, taken, -1)
  }

  undebited(id: AccountId, taken: Split): void {
    move(this.accountOf(id).held, taken, -1)
  }

  corrected({ account: id, spent, ...parts }: Correction): void {
    const account = this.accounts.get(id)
    if (account)
      for (const part of ['credit', 'paid'] as const)
        account.posted[part] = micros(Math.max(0, account.posted[part] + parts[part]))
    if (spent) this.livePool(spent.poolId, spent.scope)?.corrected(spent.at, spent.amount)
  }

  async balance(id: AccountId): Promise<Balance | null> {
    const account = this.accounts.get(id)
    if (!account) return null
    const { credit, paid } = account.posted
    const posted = plus(credit, paid)
    const held = plus(account.held.credit, account.held.paid)
    const { debt, toppedUp } = account
    const available = debt > 0 ? ZERO : minus(posted, held)
    return { credit, paid, debt, posted: minus(posted, debt), held, available, toppedUp }
  }

  toppedUp(id: AccountId): Money | null {
    return this.accounts.get(id)?.toppedUp ?? null
  }

  /** All open holds: how many, and their sum. */
  openHolds(): { readonly count: number; readonly amount: number } {
    let amount = 0
    for (const { hold } of this.open.values()) amount += hold.amount
    return { count: this.open.size, amount }
  }

  async pool(id: PoolId, at: number): Promise<PoolReading | null> {
    return this.pools.get(id)?.reading(at) ?? null
  }

  counted(id: PoolId, at: number): CountedIn | null {
    return this.poolOf(id).counted(at)
  }

  async openAccount(id: AccountId): Promise<void> {
    if (!this.accounts.has(id)) this.restoreAccount(id, ZERO, ZERO, ZERO)
  }

  async openPool(opening: PoolOpening): Promise<void> {
    if (!this.pools.has(opening.id)) this.restorePool(opening, ZERO)
  }

  async setPoolLimit(id: PoolId, limit: Money | null): Promise<void> {
    this.poolOf(id).limit = limit
  }

  async setPoolBudgets(
    id: PoolId,
    budgets: readonly PoolBudget[],
    at: number,
    spendings: readonly PoolSpending[],
  ): Promise<void> {
    const pool = this.poolOf(id)
    const made = pool.setBudgets(budgets, at, spendings)
    if (pool.held === 0 || made.length === 0) return
    for (const { hold, pool: of } of this.open.values())
      if (of?.isBelow(pool)) for (const budget of made) budget.hold(hold.at, hold.amount)
  }

  async movePool(
    id: PoolId,
    parent: PoolId | null,
    at: number,
    spendings: ReadonlyMap<number, PoolSpending>,
  ): Promise<void> {
    const pool = this.poolOf(id)
    const next = parent === null ? null : this.poolOf(parent)
    if (next?.isBelow(pool)) throw new Error(`pool ${parent} is below ${id}`)
    const below = [...this.open.values()].filter((open) => open.pool?.isBelow(pool))
    for (const open of below) if (open.settling) open.recorded ??= open.pool?.counted(open.hold.at)?.parents ?? []
    for (const { hold } of below) pool.above?.settle(hold.at, hold.amount, 0)
    pool.above?.moved(at, -1, pool.spent, spendings)
    pool.parent = next
    pool.above?.moved(at, 1, pool.spent, spendings)
    for (const { hold } of below) pool.above?.hold(hold.at, hold.amount)
  }

  async setScopeBudget(id: PoolId, budget: PoolBudget | null): Promise<void> {
    const [pool, scopes] = [this.poolOf(id), this.scopesOf(id)]
    if (budget === null) this.scopes.delete(id)
    else if (scopes?.budget.period === budget.period) scopes.change(budget)
    // Each scope is read again before its next hold, with its calls in progress.
    else this.scopes.set(id, new ScopePools(pool, budget))
  }

  /** Whether a scope must be added before a hold can count in it. */
  protected lacksScope(id: PoolId, scope: string): boolean {
    return this.scopesOf(id)?.get(scope) === null
  }

  /** Takes in what calls in progress hold that named it. Does nothing if the key may name no more. */
  protected addScope(id: PoolId, scope: string, stored: Omit<StoredBudget, 'budget'>): void {
    const pool = this.scopesOf(id)?.add(scope, stored) ?? null
    if (pool === null) return
    for (const open of this.open.values()) {
      if (open.hold.pool !== id || open.hold.scope !== scope) continue
      open.pool = pool
      pool.holdHere(open.hold.at, open.hold.amount)
    }
  }

  protected scopesOf(id: PoolId): ScopePools | null {
    return this.scopes.get(id) ?? null
  }

  /** Where a new hold counts first. */
  private spendPool(id: PoolId, scope: string | null | undefined): PoolCounters | 'too_many_scopes' {
    const scopes = scope == null ? null : this.scopesOf(id)
    return scope == null || scopes === null ? this.poolOf(id) : (scopes.get(scope) ?? 'too_many_scopes')
  }

  /** The pool of what was spent, or of its scope while that is in memory. */
  private livePool(id: PoolId, scope: string | null | undefined): PoolCounters | null {
    return (scope == null ? null : this.scopesOf(id)?.get(scope)) ?? this.pools.get(id) ?? null
  }

  protected hasAccount(id: AccountId): boolean {
    return this.accounts.has(id)
  }

  protected hasPool(id: PoolId): boolean {
    return this.pools.has(id)
  }

  private end({ hold, pool, recorded }: OpenHold, spent: number): void {
    this.open.delete(hold.request)
    pool?.settle(hold.at, hold.amount, spent)
    if (pool && recorded) {
      // What a pool spent in all is what the tables say, which count what a record names.
      for (const id of pool.counted(hold.at)?.parents ?? []) this.poolOf(id).addSpent(-spent)
      for (const id of recorded) this.poolOf(id).addSpent(spent)
    }
    move(this.accountOf(hold.account).held, hold.split, -1)
  }

  private remember(hold: Hold, captured: Split): void {
    this.ended.set(hold.request, { hold, captured })
    if (this.ended.size < REMEMBERED) return
    this.endedBefore = this.ended
    this.ended = new Map()
  }

  private endedAs(request: RequestId): EndedHold | undefined {
    return this.ended.get(request) ?? this.endedBefore.get(request)
  }

  private accountOf(id: AccountId): AccountCounters {
    const account = this.accounts.get(id)
    if (!account) throw new Error(`unknown account ${id}`)
    return account
  }

  private poolOf(id: PoolId): PoolCounters {
    const pool = this.pools.get(id)
    if (!pool) throw new Error(`unknown pool ${id}`)
    return pool
  }
}

function nothing(at: number): Omit<StoredBudget, 'budget'> {
  return { at, spent: ZERO, spentBefore: ZERO }
}

function move(counters: Record<BalancePart, Money>, split: Split, sign: 1 | -1): void {
  counters.credit = micros(counters.credit + sign * split.credit)
  counters.paid = micros(counters.paid + sign * split.paid)
}

/** Debt is what an account owes. A negative debt would be money that cannot be spent. */
function notNegative(debt: Money): Money {
  if (debt < 0) throw new RangeError(`debt below zero: ${debt}`)
  return debt
}
