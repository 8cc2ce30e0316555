import { eq } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { AuditEntry } from '../../../core/audit'
import { Allowlist } from '../../../core/credentials/allowlist'
import type { ApiKey, Budget } from '../../../core/credentials/api-key'
import type { CredentialStore, KeyChange } from '../../../core/credentials/store'
import type { AccountId, KeyId, PoolId } from '../../../core/ids'
import type { Money } from '../../../core/money'
import type { Applier } from './applier'
import { auditRow } from './audit-row'
import { auditLog } from './schema/accounts'
import { keys, pools } from './schema/keys'

/** A use is written again only when the stored one is older than this. */
const TOUCH_EVERY_MS = 30_000

/**
 * Keys in memory, written through: a read costs no query, and a change is seen by the next look-up, because the memory
 * follows the commit before the change's promise resolves.
 */
export class LibsqlCredentials implements CredentialStore {
  private readonly db: LibSQLDatabase
  private readonly groups: Pick<Applier, 'touch'>
  private readonly hashes = new Map<string, ApiKey>()
  private readonly ids = new Map<KeyId, ApiKey>()
  private readonly accounts = new Map<AccountId, ApiKey[]>()
  private readonly budgets = new Map<PoolId, Budget>()
  private readonly used = new Map<KeyId, { at: number; written: number }>()

  constructor(db: LibSQLDatabase, groups: Pick<Applier, 'touch'>) {
    this.db = db
    this.groups = groups
  }

  /** Reads all keys, before anything is served. Gives the pools, for the counters. */
  async restore(): Promise<{ id: PoolId; accountId: AccountId; limit: Money | null; spent: Money }[]> {
    for (const row of await this.db.select().from(keys).orderBy(keys.id)) {
      const { lastUsedAt, ...facts } = row
      this.remember({ ...facts, allowlist: Allowlist.of(row.allowedIps) })
      if (lastUsedAt !== null) this.used.set(row.id, { at: lastUsedAt, written: lastUsedAt })
    }
    const all = await this.db.select().from(pools)
    for (const pool of all) if (pool.budget) this.budgets.set(pool.id, pool.budget)
    return all
  }

  async byHash(hash: string): Promise<ApiKey | null> {
    return this.hashes.get(hash) ?? null
  }

  async byId(id: KeyId): Promise<ApiKey | null> {
    return this.ids.get(id) ?? null
  }

  async byAccount(account: AccountId): Promise<readonly ApiKey[]> {
    return [...(this.accounts.get(account) ?? [])].reverse()
  }

  async budgetOf(pool: PoolId): Promise<Budget | null> {
    return this.budgets.get(pool) ?? null
  }

  async lastUsedAt(key: KeyId): Promise<number | null> {
    return this.used.get(key)?.at ?? null
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
    await this.db.batch([
      this.db.insert(pools).values({ id: key.poolId, accountId: key.accountId, ...pool }),
      this.db.insert(keys).values(rowOf(key)),
      this.db.insert(auditLog).values(auditRow(audit)),
    ])
    this.remember(key)
    if (pool.budget) this.budgets.set(key.poolId, pool.budget)
  }

  async update({ key, pool }: KeyChange, audit: AuditEntry): Promise<void> {
    await this.db.batch([
      this.db.update(keys).set(rowOf(key)).where(eq(keys.id, key.id)),
      ...(pool ? [this.db.update(pools).set(pool).where(eq(pools.id, key.poolId))] : []),
      this.db.insert(auditLog).values(auditRow(audit)),
    ])
    this.remember(key)
    if (pool?.budget) this.budgets.set(key.poolId, pool.budget)
    else if (pool?.budget === null) this.budgets.delete(key.poolId)
  }

  async rotate(successor: ApiKey, replaced: ApiKey, audit: AuditEntry): Promise<void> {
    await this.db.batch([
      this.db.update(keys).set(rowOf(replaced)).where(eq(keys.id, replaced.id)),
      this.db.insert(keys).values(rowOf(successor)),
      this.db.insert(auditLog).values(auditRow(audit)),
    ])
    this.remember(replaced)
    this.remember(successor)
  }

  private remember(key: ApiKey): void {
    this.hashes.set(key.hash, key)
    this.ids.set(key.id, key)
    const own = this.accounts.get(key.accountId)
    const place = own?.findIndex((other) => other.id === key.id) ?? -1
    if (!own) this.accounts.set(key.accountId, [key])
    else if (place < 0) own.push(key)
    else own[place] = key
  }
}

function rowOf(key: ApiKey) {
  const { allowlist: _parsed, ...row } = key
  return row
}
