import { eq } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { type Account, roleFlags, type StaffRole } from '../../../core/accounts/account'
import type { AccountDirectory } from '../../../core/accounts/directory'
import type { AccountStore } from '../../../core/accounts/store'
import type { AuditEntry } from '../../../core/audit'
import type { AccountId } from '../../../core/ids'
import type { RestorableCounters } from '../../../core/ledger/hold'
import { auditRow } from './audit/audit-row'
import { packedRows } from './driver/packed-rows'
import { RESTORE_BATCH, restoredRows } from './journal/restored-rows'
import { accounts, auditLog } from './schema/accounts'

/** Accounts in memory, written through, with the roles that the directory says. Balances live in the counters and the ledger, not here. */
export class LibsqlAccounts implements AccountStore {
  private readonly db: LibSQLDatabase
  private readonly directory: Pick<AccountDirectory, 'roleOf' | 'setRole'>
  private readonly ids = new Map<AccountId, Account>()
  /** Accounts that were looked up or opened since startup. */
  private readonly users = new Map<string, Account>()

  constructor(db: LibSQLDatabase, directory: Pick<AccountDirectory, 'roleOf' | 'setRole'>) {
    this.db = db
    this.directory = directory
  }

  /** Loads all accounts and, into the counters, their balances, before anything is served. */
  async restore(counters: Pick<RestorableCounters, 'restoreAccount'>): Promise<void> {
    const page = (after: AccountId | null) => packedRows(this.db, accounts, after, RESTORE_BATCH)
    for await (const row of restoredRows(page)) {
      this.ids.set(row.id, this.accountOf(row))
      counters.restoreAccount(row.id, row.credit, row.paid, row.toppedUp, row.debt)
    }
  }

  async byId(id: AccountId): Promise<Account | null> {
    return this.ids.get(id) ?? null
  }

  /** Queries a user that is not in memory: it was not loaded at startup, or its commit was acknowledged too late. */
  async byUser(userId: string): Promise<Account | null> {
    const known = this.users.get(userId)
    if (known) return known
    const [row] = await this.db.select().from(accounts).where(eq(accounts.userId, userId))
    if (row && !this.users.has(userId)) this.opened(this.ids.get(row.id) ?? this.accountOf(row))
    return this.users.get(userId) ?? null
  }

  async count(): Promise<number> {
    return this.ids.size
  }

  async list(limit: number, after: AccountId | null): Promise<readonly Account[]> {
    const all = [...this.ids.values()].sort((a, b) => (a.id < b.id ? 1 : -1))
    return (after ? all.filter((account) => account.id < after) : all).slice(0, limit)
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

  private accountOf({ credit: _c, paid: _p, toppedUp: _t, debt: _d, ...row }: typeof accounts.$inferSelect): Account {
    return { ...row, ...roleFlags(this.directory.roleOf(row.id)) }
  }
}
