import { type Actor, type AuditEntry, auditEntry } from '../audit'
import type { Clock } from '../clock'
import type { Budget } from '../credentials/api-key'
import type { CredentialStore } from '../credentials/store'
import type { Failure } from '../failure'
import { type AccountId, memberPool, type PoolId } from '../ids'
import { KeyedMutex } from '../keyed-mutex'
import type { BudgetWindow, HoldStore, PoolSpending } from '../ledger/hold'
import { poolBudget } from '../ledger/pool-budget'
import { ok, type Result } from '../result'
import { periodAround } from '../usage/calendar'
import { endedRaises } from './key-form'
import { accepted, type Submitted } from './submitted'

/** A pool that is no key's and no app's: all that has it as an ancestor counts in it. */
export interface GroupPool {
  readonly id: PoolId
  readonly accountId: AccountId
  /** That of an account is `accountPool(accountId)`, and needs not be named by others. */
  readonly kind: 'member' | 'account'
}

interface PoolBudgetsParts {
  readonly credentials: Pick<CredentialStore, 'budgetsOf' | 'spendings' | 'openPool' | 'setBudgets' | 'movePool'>
  readonly holds: HoldStore
  readonly clock: Clock
}

/**
 * Budgets of an account and of its members. When a promise resolves, the change is durable and applies to the next request. Changes of one account run
 * one at a time.
 */
export class PoolBudgets {
  private readonly parts: PoolBudgetsParts
  private readonly mutex = new KeyedMutex()

  constructor(parts: PoolBudgetsParts) {
    this.parts = parts
  }

  /** Its budgets and their current periods; empty for a pool that was never opened. */
  async of(pool: PoolId): Promise<{ readonly budgets: readonly Budget[]; readonly windows: readonly BudgetWindow[] }> {
    const [budgets, reading] = await Promise.all([
      this.parts.credentials.budgetsOf(pool),
      this.parts.holds.pool(pool, this.parts.clock.now()),
    ])
    return { budgets, windows: reading?.windows ?? [] }
  }

  /** The pool of a member, if it was opened. */
  async memberPool(account: AccountId, userId: string): Promise<PoolId | null> {
    const id = memberPool(account, userId)
    return (await this.parts.holds.pool(id, this.parts.clock.now())) === null ? null : id
  }

  /** Opens a pool without budgets, so that keys and apps may name it as their parent. Idempotent. */
  open(pool: GroupPool): Promise<void> {
    return this.mutex.take(pool.accountId, () => this.opened(pool))
  }

  /** Replaces the budgets of a pool, and opens it if there is none. What its periods have spent already counts. Idempotent. */
  set(
    pool: GroupPool,
    sent: Submitted<{ readonly budgets: readonly Budget[] }>,
    actor: Actor,
  ): Promise<Result<null, Failure>> {
    const { id, accountId, kind } = pool
    return this.mutex.take(accountId, async () => {
      const now = this.parts.clock.now()
      const parsed = accepted(sent, endedRaises(sent.form.budgets ?? [], now))
      if (!parsed.ok) return parsed
      const { budgets } = parsed.value
      await this.opened(pool)
      const before = { budgets: await this.parts.credentials.budgetsOf(id) }
      // Read before the change, so that nothing can fail after it. The counters include what is spent in between.
      const spendings = await this.spendings(id, budgets, now)
      const detail = { pool: id, budgets }
      const audit = auditEntry({ at: now, actor, accountId, action: `${kind}.budgets`, detail, before })
      await this.parts.credentials.setBudgets(id, budgets, audit)
      await this.parts.holds.setPoolBudgets(id, budgets.map(poolBudget), now, spendings)
      return ok(null)
    })
  }

  /**
   * From now on a key's or app's pool counts in another one, or with null in its account's alone. With it goes what it spent in the current periods: a
   * budget counts what is below it now.
   */
  move(accountId: AccountId, pool: PoolId, parent: PoolId | null, audit: AuditEntry): Promise<void> {
    return this.mutex.take(accountId, async () => {
      const { credentials, holds, clock } = this.parts
      const now = clock.now()
      await holds.load(accountId, pool)
      if (parent !== null) await holds.load(accountId, parent)
      const chains = [holds.counted(pool, now), parent === null ? null : holds.counted(parent, now)]
      const starts = [...new Set(chains.flatMap((chain) => chain?.windows.map(([, , start]) => start) ?? []))]
      // Read before the change. The counters include what is spent in between.
      const spendings = await credentials.spendings(pool, starts)
      await credentials.movePool(pool, parent, audit)
      const byStart = new Map(spendings.map((spending, at) => [starts[at] ?? 0, spending]))
      await holds.movePool(pool, parent, now, byStart)
    })
  }

  /** In the tables first: then both count the same charges from the beginning. */
  private async opened({ id, accountId, kind }: GroupPool): Promise<void> {
    if ((await this.parts.holds.pool(id, this.parts.clock.now())) !== null) return
    await this.parts.credentials.openPool({ id, accountId, kind })
    await this.parts.holds.openPool({ id, account: accountId, limit: null, kind })
  }

  /** What was durable in the current period of each budget. */
  spendings(id: PoolId, budgets: readonly Budget[], now: number): Promise<readonly PoolSpending[]> {
    const from = budgets.map(({ period, timezone }) => periodAround(now, period, timezone).start)
    return this.parts.credentials.spendings(id, from)
  }
}
