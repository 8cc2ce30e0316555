import { count, desc, eq, lt } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { type Account, roleFlags, type StaffRole } from '../../../core/accounts/account'
import type { AccountDirectory } from '../../../core/accounts/directory'
import type { AccountStore } from '../../../core/accounts/store'
import type { AuditEntry } from '../../../core/audit'
import { GatheredLookups } from '../../../core/gathered-lookups'
import type { AccountId } from '../../../core/ids'
import { auditRow } from './audit/audit-row'
import { amongAll } from './driver/among-all'
import { accounts, auditLog } from './schema/accounts'

const COLUMNS = {
  id: accounts.id,
  userId: accounts.userId,
  suspension: accounts.suspension,
  growthApproved: accounts.growthApproved,
  customLimits: accounts.customLimits,
  maxKeys: accounts.maxKeys,
  createdAt: accounts.createdAt,
}
type AccountRow = Omit<Account, 'operator' | 'support'>

/**
 * Accounts in memory, written through, with the roles that the directory says. Each is read from the tables at its first use and never again. Balances
 * live in the counters and the ledger, not here.
 */
export class LibsqlAccounts implements AccountStore {
  private readonly db: LibSQLDatabase
  private readonly directory: Pick<AccountDirectory, 'roleOf' | 'setRole'>
  private readonly ids = new Map<AccountId, Account>()
  private readonly rows: GatheredLookups<AccountRow>
  /** Accounts that were looked up or opened since startup. */
  private readonly users = new Map<string, Account>()

  constructor(db: LibSQLDatabase, directory: Pick<AccountDirectory, 'roleOf' | 'setRole'>) {
    this.db = db
    this.directory = directory
    this.rows = new GatheredLookups(async (ids) => {
      const rows = await db.select(COLUMNS).from(accounts).where(amongAll(accounts.id, ids))
      return new Map(rows.map((row) => [row.id, row]))
    })
  }

  async byId(id: AccountId): Promise<Account | null> {
    const known = this.ids.get(id)
    if (known) return known
    const row = await this.rows.of(id)
    return row ? this.accountOf(row) : null
  }

  async byUser(userId: string): Promise<Account | null> {
    const known = this.users.get(userId)
    if (known) return known
    const [row] = await this.db.select(COLUMNS).from(accounts).where(eq(accounts.userId, userId))
    if (row && !this.users.has(userId)) this.opened(this.accountOf(row))
    return this.users.get(userId) ?? null
  }

  async count(): Promise<number> {
    const [row] = await this.db.select({ all: count() }).from(accounts)
    return row?.all ?? 0
  }

  async list(limit: number, after: AccountId | null): Promise<readonly Account[]> {
    const rows = await this.db
      .select(COLUMNS)
      .from(accounts)
      .where(after === null ? undefined : lt(accounts.id, after))
      .orderBy(desc(accounts.id))
      .limit(limit)
    return rows.map((row) => this.accountOf(row))
  }

  opened(account: Account): void {
    this.ids.set(account.id, account)
    this.users.set(account.userId, account)
  }

  async update(account: Account, audit: AuditEntry): Promise<void> {
    await this.db.batch([this.written(account), this.db.insert(auditLog).values(auditRow(audit))])
    this.changed(account)
  }

  async setRole(account: Account, role: StaffRole | null, audit: AuditEntry): Promise<Account> {
    await this.directory.setRole(account.id, role, audit)
    return this.changed(this.ids.get(account.id) ?? account)
  }

  /** Takes over the roles that the directory read again. */
  takeRoles(): void {
    for (const account of this.ids.values()) {
      const { operator, support } = roleFlags(this.directory.roleOf(account.id))
      if (operator !== account.operator || support !== account.support) this.changed(account)
    }
  }

  /** The statement that writes a changed account, for a batch with related changes. Call `changed` after the commit. */
  written(account: Account) {
    const { id, suspension, growthApproved, customLimits, maxKeys } = account
    const written = { suspension, growthApproved, customLimits, maxKeys }
    return this.db.update(accounts).set(written).where(eq(accounts.id, id))
  }

  changed(account: Account): Account {
    const changed = { ...account, ...roleFlags(this.directory.roleOf(account.id)) }
    this.ids.set(account.id, changed)
    if (this.users.has(account.userId)) this.users.set(account.userId, changed)
    return changed
  }

  /** An account that was read: as it is in memory, where it is never older, or else as it was read. */
  private accountOf(row: AccountRow): Account {
    const known = this.ids.get(row.id)
    if (known) return known
    const account = { ...row, ...roleFlags(this.directory.roleOf(row.id)) }
    this.ids.set(row.id, account)
    return account
  }
}
