import { and, count, desc, eq, gt, isNull, lte, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { AuditEntry } from '../../../core/audit'
import { builtOnce } from '../../../core/built-once'
import type { ApiKey, Budget, ScopeBudget } from '../../../core/credentials/api-key'
import type { CredentialStore, EndOfKey, KeyChange, LiveKeys, NewPool } from '../../../core/credentials/store'
import { GatheredLookups } from '../../../core/gathered-lookups'
import type { AccountId, KeyId, PoolId } from '../../../core/ids'
import type { PoolKind } from '../../../core/ledger/hold'
import { auditRow, insertAudit } from './audit/audit-trail'
import { amongAll, asList, isAmong } from './driver/among-all'
import { InDoubt } from './driver/in-doubt'
import type { LogApplier } from './journal/log-applier'
import { KEY_COLUMNS, type KeyRow, LibsqlKeyLists, live, withAllowlist } from './key-lists'
import { KeyTable } from './key-table'
import { poolSpendings } from './ledger/pool-spendings'
import { auditLog } from './schema/accounts'
import { budgetsOf, keys, pools } from './schema/keys'

/** The last use is written again only when the stored one is older than this. */
const TOUCH_EVERY_MS = 30_000

/**
 * Keys in memory, written through: a key is read from the tables at its first use and never again, and the next lookup sees a change,
 * because memory is updated after the commit and before the change's promise resolves. So what is in memory is never older than what was
 * read; where a change failed, it is read again. Lookups by id or account, for owners only, start from the table's indexes.
 */
export class LibsqlCredentials implements CredentialStore {
  readonly lists: LibsqlKeyLists
  private readonly db: LibSQLDatabase
  private readonly queries: ReturnType<typeof queries>
  private readonly groups: Pick<LogApplier, 'touch'>
  private readonly applied: () => Promise<void>
  private readonly keys = new KeyTable()
  private readonly doubts: InDoubt<string>
  /** Anybody can make keys up. */
  private readonly rows: GatheredLookups<KeyRow>
  private readonly budgets: GatheredLookups<{ readonly all: readonly Budget[]; readonly scope: ScopeBudget | null }>
  /** Durable last uses: a list asks for those of all its keys at once. */
  private readonly lastUses: GatheredLookups<number>
  /** Last uses since startup. */
  private readonly used = new Map<KeyId, { at: number; written: number }>()

  /** `applied` resolves when the tables contain every acknowledged charge. */
  constructor(
    db: LibSQLDatabase,
    {
      groups,
      applied,
      settled,
    }: {
      readonly groups: Pick<LogApplier, 'touch'>
      readonly applied: () => Promise<void>
      /** Of the write queue. */
      readonly settled: () => Promise<void>
    },
  ) {
    this.db = db
    this.groups = groups
    this.applied = applied
    this.lists = new LibsqlKeyLists(db, applied)
    this.queries = queries(db)
    const { byHashes, budgets, lastUses } = this.queries
    const read = (hashes: readonly string[]) => byHashes().all({ hashes: asList(hashes) })
    this.rows = new GatheredLookups(async (hashes) => new Map((await read(hashes)).map((row) => [row.hash, row])))
    this.doubts = new InDoubt(settled, async (hashes) => {
      for (const row of await read(hashes)) this.keys.set(withAllowlist(row))
    })
    this.budgets = new GatheredLookups(async (ids) => {
      const rows = await budgets().all({ ids: asList(ids) })
      return new Map(rows.map((row) => [row.id, { all: budgetsOf(row.budgets), scope: row.scope }]))
    })
    this.lastUses = new GatheredLookups(async (ids) => {
      const rows = await lastUses().all({ ids: asList(ids) })
      return new Map(rows.flatMap(({ id, at }) => (at === null ? [] : [[id, at]])))
    })
  }

  async byHash(hash: string): Promise<ApiKey | null> {
    if (this.doubts.has(hash)) await this.doubts.resolve()
    const known = this.keys.get(hash)
    if (known) return known
    const row = await this.rows.of(hash)
    return row ? this.keyOf(row) : null
  }

  known(hash: string): ApiKey | null {
    return this.doubts.has(hash) ? null : this.keys.get(hash)
  }

  isInMemory(hash: string): boolean {
    return this.keys.get(hash) !== null
  }

  async byId(id: KeyId): Promise<ApiKey | null> {
    await this.doubts.resolve()
    const [row] = await this.queries.byId().all({ id })
    return row ? this.keyOf(row) : null
  }

  async byAccount(account: AccountId): Promise<readonly ApiKey[]> {
    await this.doubts.resolve()
    const rows = await this.queries.byAccount().all({ account })
    return rows.map((row) => this.keyOf(row))
  }

  async liveKeys(account: AccountId, name: string | null, at: number): Promise<LiveKeys> {
    const isLive = and(eq(keys.accountId, account), live(at))
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

  async budgetsOf(pool: PoolId): Promise<readonly Budget[]> {
    return (await this.budgets.of(pool))?.all ?? []
  }

  async scopeBudgetOf(pool: PoolId): Promise<ScopeBudget | null> {
    return (await this.budgets.of(pool))?.scope ?? null
  }

  async spendings(pool: PoolId, from: readonly number[]) {
    await this.applied()
    return poolSpendings(
      this.db,
      from.map((start) => [pool, start]),
    )
  }

  async openPool(pool: { readonly id: PoolId; readonly accountId: AccountId; readonly kind: PoolKind }): Promise<void> {
    await this.db.insert(pools).values(pool).onConflictDoNothing()
  }

  setBudgets(id: PoolId, budgets: readonly Budget[], audit: AuditEntry): Promise<void> {
    return this.setPool(id, { budgets }, audit)
  }

  movePool(id: PoolId, parentId: PoolId | null, audit: AuditEntry): Promise<void> {
    return this.setPool(id, { parentId }, audit)
  }

  private async setPool(
    id: PoolId,
    row: Partial<Pick<typeof pools.$inferSelect, 'budgets' | 'parentId'>>,
    audit: AuditEntry,
  ): Promise<void> {
    await this.db.batch([this.db.update(pools).set(row).where(eq(pools.id, id)), insertAudit(this.db, audit)])
  }

  async lastUsedAt(key: KeyId): Promise<number | null> {
    const use = this.used.get(key)
    if (use) return use.at
    return this.lastUses.of(key)
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

  async create(key: ApiKey, pool: NewPool, audit: AuditEntry, madeBy: string | null = null): Promise<void> {
    await this.db.batch([
      this.db.insert(pools).values({ id: key.poolId, accountId: key.accountId, ...pool }),
      this.db.insert(keys).values({ ...rowOf(key), madeBy }),
      this.db.insert(auditLog).values(auditRow(audit)),
    ])
    this.keys.set(key)
  }

  async update({ key, pool }: KeyChange, audit: AuditEntry): Promise<void> {
    await this.doubts.changing([key.hash], () =>
      this.db.batch([
        this.db.update(keys).set(rowOf(key)).where(eq(keys.id, key.id)),
        ...(pool ? [this.db.update(pools).set(pool).where(eq(pools.id, key.poolId))] : []),
        insertAudit(this.db, audit),
      ]),
    )
    this.keys.set(key)
  }

  async end(ended: readonly ApiKey[], change: EndOfKey, audits: readonly AuditEntry[]): Promise<void> {
    if (ended.length === 0) return
    const ids = ended.map(({ id }) => id)
    const hashes = ended.map(({ hash }) => hash)
    await this.doubts.changing(hashes, () =>
      this.db.batch([
        this.db.update(keys).set(change).where(isAmong(keys.id, ids)),
        this.db.insert(auditLog).values(audits.map(auditRow)),
      ]),
    )
    for (const key of ended) this.keys.set({ ...key, ...change })
  }

  async giveTo(given: readonly ApiKey[], madeBy: string | null, audits: readonly AuditEntry[]): Promise<void> {
    if (given.length === 0) return
    const ids = given.map(({ id }) => id)
    await this.db.batch([
      this.db.update(keys).set({ madeBy }).where(isAmong(keys.id, ids)),
      this.db.insert(auditLog).values(audits.map(auditRow)),
    ])
  }

  async makersOf(account: AccountId, ids: readonly KeyId[]): Promise<ReadonlyMap<KeyId, string>> {
    const made = and(eq(keys.accountId, account), isAmong(keys.id, ids))
    const rows = await this.db.select({ id: keys.id, madeBy: keys.madeBy }).from(keys).where(made)
    return new Map(rows.flatMap(({ id, madeBy }) => (madeBy === null ? [] : [[id, madeBy]])))
  }

  async rotate(successor: ApiKey, replaced: ApiKey, audit: AuditEntry): Promise<void> {
    await this.doubts.changing([replaced.hash], () =>
      this.db.batch([
        this.db.update(keys).set(rowOf(replaced)).where(eq(keys.id, replaced.id)),
        this.db.insert(keys).values({
          ...rowOf(successor),
          madeBy: sql`(SELECT ${keys.madeBy} FROM ${keys} WHERE ${keys.id} = ${replaced.id})`,
        }),
        this.db.insert(auditLog).values(auditRow(audit)),
      ]),
    )
    this.keys.set(replaced)
    this.keys.set(successor)
  }

  /** A key that was read: as it is in memory, where it is newer, or else as it was read. */
  private keyOf(row: KeyRow): ApiKey {
    const known = this.keys.get(row.hash)
    if (known) return known
    const key = withAllowlist(row)
    this.keys.set(key)
    return key
  }
}

function rowOf(key: ApiKey) {
  const { allowlist: _parsed, ...row } = key
  return row
}

function queries(db: LibSQLDatabase) {
  const select = () => db.select(KEY_COLUMNS).from(keys)
  return {
    byHashes: builtOnce(() => select().where(amongAll(keys.hash, 'hashes')).prepare()),
    byId: builtOnce(() =>
      select()
        .where(eq(keys.id, sql.placeholder('id')))
        .prepare(),
    ),
    byAccount: builtOnce(() =>
      select()
        .where(eq(keys.accountId, sql.placeholder('account')))
        .orderBy(desc(keys.id))
        .prepare(),
    ),
    budgets: builtOnce(() =>
      db
        .select({ id: pools.id, budgets: pools.budgets, scope: pools.scopeBudget })
        .from(pools)
        .where(amongAll(pools.id, 'ids'))
        .prepare(),
    ),
    lastUses: builtOnce(() =>
      db.select({ id: keys.id, at: keys.lastUsedAt }).from(keys).where(amongAll(keys.id, 'ids')).prepare(),
    ),
  }
}
