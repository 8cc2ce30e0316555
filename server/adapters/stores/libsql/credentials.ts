import { and, count, desc, eq, gt, isNull, lte, or, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { AuditEntry } from '../../../core/audit'
import type { CellClaims } from '../../../core/cluster/cells'
import { Allowlist } from '../../../core/credentials/allowlist'
import type { ApiKey, Budget } from '../../../core/credentials/api-key'
import type { CredentialStore, KeyChange, LiveKeys } from '../../../core/credentials/store'
import type { AccountId, KeyId, PoolId } from '../../../core/ids'
import type { PoolBudget, RestorableCounters } from '../../../core/ledger/hold'
import { poolBudget } from '../../../core/ledger/pool-budget'
import { type Money, micros } from '../../../core/money'
import { periodAround } from '../../../core/usage/calendar'
import { auditRow } from './audit/audit-row'
import { packedRows } from './driver/packed-rows'
import { SLOT_MS } from './journal/group-statements'
import type { Applier } from './journal/log-applier'
import { RESTORE_BATCH, restoredRows } from './journal/restored-rows'
import { KeyTable } from './key-table'
import { auditLog } from './schema/accounts'
import { keys, pools } from './schema/keys'

/** The last use is written again only when the stored one is older than this. */
const TOUCH_EVERY_MS = 30_000

/**
 * Keys in memory, written through: reading a key costs no query, and the next lookup sees a change,
 * because memory is updated after the commit and before the change's promise resolves. Lookups by id or account, for owners only,
 * start from the table's indexes.
 */
export class LibsqlCredentials implements CredentialStore {
  private readonly db: LibSQLDatabase
  private readonly groups: Pick<Applier, 'touch'>
  private readonly applied: () => Promise<void>
  private readonly claims: CellClaims | null
  private readonly keys = new KeyTable()
  private readonly budgets = new Map<PoolId, Budget>()
  /** Last uses since startup. */
  private readonly used = new Map<KeyId, { at: number; written: number }>()

  /** `applied` resolves when the tables contain every acknowledged charge. `claims`: null for the only cell. */
  constructor(
    db: LibSQLDatabase,
    {
      groups,
      applied,
      claims,
    }: {
      readonly groups: Pick<Applier, 'touch'>
      readonly applied: () => Promise<void>
      readonly claims: CellClaims | null
    },
  ) {
    this.db = db
    this.groups = groups
    this.applied = applied
    this.claims = claims
  }

  /** Loads all keys and, into the counters, all pools, before anything is served. */
  async restore(counters: Pick<RestorableCounters, 'restorePool'>): Promise<void> {
    // One string for each account, however many pools name it.
    const accounts = new Map<AccountId, AccountId>()
    for await (const pool of restoredRows((after: PoolId | null) => packedRows(this.db, pools, after, RESTORE_BATCH))) {
      const accountId = accounts.get(pool.accountId) ?? pool.accountId
      accounts.set(accountId, accountId)
      counters.restorePool(pool.id, accountId, pool.limit, pool.spent)
      if (pool.budget) this.budgets.set(pool.id, pool.budget)
    }
    for await (const { lastUsedAt: _, ...row } of restoredRows((after: KeyId | null) =>
      packedRows(this.db, keys, after, RESTORE_BATCH),
    )) {
      this.keys.set({ ...row, allowlist: Allowlist.of(row.allowedIps) })
    }
  }

  async byHash(hash: string): Promise<ApiKey | null> {
    const key = this.keys.get(hash)
    if (key === null) await this.claims?.assertNobodys(hash)
    return key
  }

  async byId(id: KeyId): Promise<ApiKey | null> {
    const [row] = await this.db.select({ hash: keys.hash }).from(keys).where(eq(keys.id, id))
    return row ? this.byHash(row.hash) : null
  }

  async byAccount(account: AccountId): Promise<readonly ApiKey[]> {
    const rows = await this.db
      .select({ hash: keys.hash })
      .from(keys)
      .where(eq(keys.accountId, account))
      .orderBy(desc(keys.id))
    return rows.flatMap(({ hash }) => this.keys.get(hash) ?? [])
  }

  async liveKeys(account: AccountId, name: string | null, at: number): Promise<LiveKeys> {
    const isLive = and(
      eq(keys.accountId, account),
      isNull(keys.revokedAt),
      or(isNull(keys.stopsAt), gt(keys.stopsAt, at)),
    )
    const [[counted], named] = await this.db.batch([
      this.db
        .select({ all: count(), replaced: count(keys.replacedBy) })
        .from(keys)
        .where(isLive),
      this.db
        .selectDistinct({ poolId: keys.poolId })
        .from(keys)
        .where(and(isLive, eq(keys.name, name ?? ''))),
    ])
    const { all = 0, replaced = 0 } = counted ?? {}
    return { own: all - replaced, replaced, poolsOfName: named.map(({ poolId }) => poolId) }
  }

  /** Keys that end on their own within this time. */
  async expiring(from: number, to: number): Promise<readonly Pick<ApiKey, 'id' | 'accountId' | 'expiresAt'>[]> {
    return this.db
      .select({ id: keys.id, accountId: keys.accountId, expiresAt: keys.expiresAt })
      .from(keys)
      .where(
        and(
          gt(keys.expiresAt, from),
          lte(keys.expiresAt, to),
          isNull(keys.revokedAt),
          isNull(keys.disabledAt),
          isNull(keys.replacedBy),
        ),
      )
  }

  async budgetOf(pool: PoolId): Promise<Budget | null> {
    return this.budgets.get(pool) ?? null
  }

  async spending(pool: PoolId, from: number) {
    await this.applied()
    const [row] = await this.spendings([[pool, from]])
    if (!row) throw new Error(`unknown pool ${pool}`)
    return row
  }

  /** The spending of many pools, each since its own start time, from the summary that every charge updates. */
  private async spendings(pools: readonly (readonly [PoolId, number])[]) {
    const windows = JSON.stringify(pools.map(([pool, from]) => [pool, Math.floor(from / SLOT_MS)]))
    const rows = await this.db.all<{ id: PoolId; inAll: number; inPeriod: number }>(sql`
      SELECT p.id AS id, p.spent AS inAll, (
        SELECT coalesce(sum(u.charged), 0) FROM keys k
        JOIN usage_rollup u ON u.account_id = k.account_id AND u.slot >= w.value->>1 AND u.key_id = k.id
        WHERE k.account_id = p.account_id AND k.pool_id = p.id) AS inPeriod
      FROM json_each(${windows}) w JOIN pools p ON p.id = w.value->>0`)
    return rows.map(({ id, inAll, inPeriod }) => ({ id, inAll: micros(inAll), inPeriod: micros(inPeriod) }))
  }

  /** The budgets at `now` according to the ledger, after `restore`, for the counters. */
  async restoreBudgets(now: number): Promise<{ id: PoolId; budget: PoolBudget; spent: Money }[]> {
    const found: { id: PoolId; budget: PoolBudget; spent: Money }[] = []
    const all = [...this.budgets]
    // Building a calendar is expensive, and most budgets share a few time zones.
    const starts = new Map<string, number>()
    const startOf = ({ period, timezone }: Budget) => {
      const name = `${period} ${timezone}`
      const start = starts.get(name) ?? periodAround(now, period, timezone).start
      starts.set(name, start)
      return start
    }
    for (let i = 0; i < all.length; i += RESTORE_BATCH) {
      const page = all.slice(i, i + RESTORE_BATCH)
      for (const { id, inPeriod } of await this.spendings(page.map(([pool, budget]) => [pool, startOf(budget)]))) {
        const budget = this.budgets.get(id)
        if (budget) found.push({ id, budget: poolBudget(budget), spent: inPeriod })
      }
    }
    return found
  }

  async lastUsedAt(key: KeyId): Promise<number | null> {
    const use = this.used.get(key)
    if (use) return use.at
    const [row] = await this.db.select({ at: keys.lastUsedAt }).from(keys).where(eq(keys.id, key))
    return row?.at ?? null
  }

  touch(key: KeyId, at: number): void {
    const use = this.used.get(key)
    if (use && at - use.written < TOUCH_EVERY_MS) {
      use.at = Math.max(use.at, at)
      return
    }
    this.used.set(key, { at, written: at })
    this.groups.touch(key, at)
  }

  async create(key: ApiKey, pool: { limit: Money | null; budget: Budget | null }, audit: AuditEntry): Promise<void> {
    await this.claims?.key(key.hash)
    await this.db.batch([
      this.db.insert(pools).values({ id: key.poolId, accountId: key.accountId, ...pool }),
      this.db.insert(keys).values(rowOf(key)),
      this.db.insert(auditLog).values(auditRow(audit)),
    ])
    this.keys.set(key)
    if (pool.budget) this.budgets.set(key.poolId, pool.budget)
  }

  async update({ key, pool }: KeyChange, audit: AuditEntry): Promise<void> {
    await this.db.batch([
      this.db.update(keys).set(rowOf(key)).where(eq(keys.id, key.id)),
      ...(pool ? [this.db.update(pools).set(pool).where(eq(pools.id, key.poolId))] : []),
      this.db.insert(auditLog).values(auditRow(audit)),
    ])
    this.keys.set(key)
    if (pool?.budget) this.budgets.set(key.poolId, pool.budget)
    else if (pool?.budget === null) this.budgets.delete(key.poolId)
  }

  async disable(disabled: readonly ApiKey[], at: number, audits: readonly AuditEntry[]): Promise<void> {
    if (disabled.length === 0) return
    const ids = JSON.stringify(disabled.map(({ id }) => id))
    await this.db.batch([
      this.db.update(keys).set({ disabledAt: at }).where(sql`${keys.id} IN (SELECT value FROM json_each(${ids}))`),
      this.db.insert(auditLog).values(audits.map(auditRow)),
    ])
    for (const key of disabled) this.keys.set({ ...key, disabledAt: at })
  }

  async rotate(successor: ApiKey, replaced: ApiKey, audit: AuditEntry): Promise<void> {
    await this.claims?.key(successor.hash)
    await this.db.batch([
      this.db.update(keys).set(rowOf(replaced)).where(eq(keys.id, replaced.id)),
      this.db.insert(keys).values(rowOf(successor)),
      this.db.insert(auditLog).values(auditRow(audit)),
    ])
    this.keys.set(replaced)
    this.keys.set(successor)
  }
}

function rowOf(key: ApiKey) {
  const { allowlist: _parsed, ...row } = key
  return row
}
