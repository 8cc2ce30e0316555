import { and, desc, eq, inArray, isNull } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { AppGrant, AppGrantStore, AppGrantUse } from '../../../core/accounts/app-grant'
import type { AuditEntry } from '../../../core/audit'
import type { NewPool } from '../../../core/credentials/store'
import type { AccountId, AppGrantId } from '../../../core/ids'
import type { Money } from '../../../core/money'
import { reasonOf } from '../../../core/result'
import { auditRow, insertAudit } from './audit/audit-trail'
import { auditLog } from './schema/accounts'
import { connections } from './schema/connections'
import { pools } from './schema/keys'

/** The last use is written again only when the stored one is older than this. */
const TOUCH_EVERY_MS = 30_000

/**
 * App grants. Those in use are cached in memory and written through. Like their pools, they
 * are read when they are first used.
 */
export class LibsqlAppGrants implements AppGrantStore {
  private readonly db: LibSQLDatabase
  private readonly onTrouble: (reason: string) => void
  private readonly inUse = new Map<string, AppGrant>()
  private readonly used = new Map<AppGrantId, AppGrantUse & { readonly written: number }>()
  /** How often apps were disconnected. */
  private ends = 0

  constructor(db: LibSQLDatabase, onTrouble: (reason: string) => void) {
    this.db = db
    this.onTrouble = onTrouble
  }

  known(userId: string, clientId: string): AppGrant | null {
    return this.inUse.get(nameOf(userId, clientId)) ?? null
  }

  async live(userId: string, clientId: string): Promise<AppGrant | null> {
    const known = this.known(userId, clientId)
    if (known) return known
    const { ends } = this
    const found = (await this.liveOf(userId)).find((one) => one.clientId === clientId)
    // A row read before an app was disconnected may be that app.
    if (found && ends === this.ends) this.inUse.set(nameOf(userId, clientId), found)
    return found ?? null
  }

  async byId(id: AppGrantId): Promise<AppGrant | null> {
    const [row] = await this.db.select().from(connections).where(eq(connections.id, id))
    return row ? connectionOf(row) : null
  }

  async byAccount(account: AccountId, userId: string | null = null): Promise<readonly AppGrant[]> {
    const rows = await this.db
      .select()
      .from(connections)
      .where(and(eq(connections.accountId, account), userId === null ? undefined : eq(connections.userId, userId)))
      .orderBy(desc(connections.id))
    return rows.map(connectionOf)
  }

  async liveOf(userId: string): Promise<readonly AppGrant[]> {
    const rows = await this.db
      .select()
      .from(connections)
      .where(and(eq(connections.userId, userId), isNull(connections.disconnectedAt)))
    return rows.map(connectionOf)
  }

  async lastUse(id: AppGrantId): Promise<AppGrantUse | null> {
    const use = this.used.get(id)
    if (use) return { at: use.at, address: use.address }
    const [row] = await this.db.select().from(connections).where(eq(connections.id, id))
    return row?.lastUsedAt == null ? null : { at: row.lastUsedAt, address: row.lastAddress ?? '' }
  }

  touch(id: AppGrantId, use: AppGrantUse): void {
    const before = this.used.get(id)
    const isDue = !before || before.address !== use.address || use.at - before.written >= TOUCH_EVERY_MS
    this.used.set(id, { ...use, written: isDue ? use.at : (before?.written ?? use.at) })
    if (!isDue) return
    const write = this.db
      .update(connections)
      .set({ lastUsedAt: use.at, lastAddress: use.address })
      .where(eq(connections.id, id))
    // Best effort: a use that was not written is written again half a minute later.
    write.then(undefined, (error: unknown) => this.onTrouble(reasonOf(error)))
  }

  async create(grant: AppGrant, pool: Omit<NewPool, 'budgets'>, audit: AuditEntry): Promise<void> {
    const { poolId, accountId } = grant
    await this.db.batch([
      this.db.insert(pools).values({ id: poolId, accountId, kind: 'app', ...pool }),
      this.db.insert(connections).values(grant),
      this.db.insert(auditLog).values(auditRow(audit)),
    ])
    this.inUse.set(nameOf(grant.userId, grant.clientId), grant)
  }

  async setLimit({ poolId }: AppGrant, limit: Money | null, audit: AuditEntry): Promise<void> {
    await this.db.batch([this.db.update(pools).set({ limit }).where(eq(pools.id, poolId)), insertAudit(this.db, audit)])
  }

  async disconnect(ended: readonly AppGrant[], at: number, audits: readonly AuditEntry[]): Promise<void> {
    const ids = ended.map(({ id }) => id)
    await this.db.batch([
      this.db.update(connections).set({ disconnectedAt: at }).where(inArray(connections.id, ids)),
      ...audits.map((audit) => this.db.insert(auditLog).values(auditRow(audit))),
    ])
    this.ends++
    for (const { userId, clientId } of ended) this.inUse.delete(nameOf(userId, clientId))
  }
}

function nameOf(userId: string, clientId: string): string {
  return `${userId} ${clientId}`
}

function connectionOf({ lastUsedAt: _at, lastAddress: _from, ...row }: typeof connections.$inferSelect): AppGrant {
  return row
}
