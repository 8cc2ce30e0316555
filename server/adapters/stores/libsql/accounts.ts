import { eq, gt } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { Account } from '../../../core/accounts/account'
import type { AccountStore } from '../../../core/accounts/store'
import type { AuditEntry } from '../../../core/audit'
import type { AccountId } from '../../../core/ids'
import type { RestorableCounters } from '../../../core/ledger/hold'
import { auditRow } from './audit/audit-row'
import { RESTORE_BATCH, restoredRows } from './journal/restored-rows'
import { accounts, auditLog } from './schema/accounts'

/** Accounts in memory, written through. Balances live in the counters and the ledger, not here. */
export class LibsqlAccounts implements AccountStore {
  private readonly db: LibSQLDatabase
  private readonly ids = new Map<AccountId, Account>()
  /** Accounts that were looked up or opened since startup. */
  private readonly users = new Map<string, Account>()

  constructor(db: LibSQLDatabase) {
    this.db = db
  }

  /** Loads all accounts and, into the counters, their balances, before anything is served. */
  async restore(counters: Pick<RestorableCounters, 'restoreAccount'>): Promise<void> {
    const page = (after: AccountId | null) =>
      this.db
        .select()
        .from(accounts)
        .where(after === null ? undefined : gt(accounts.id, after))
        .orderBy(accounts.id)
        .limit(RESTORE_BATCH)
    for await (const { credit, paid, toppedUp, debt, ...account } of restoredRows(page)) {
      this.ids.set(account.id, account)
      counters.restoreAccount(account.id, credit, paid, toppedUp, debt)
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
    if (row && !this.users.has(userId)) this.opened(this.ids.get(row.id) ?? accountOf(row))
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

  /** The statement that writes a changed account, for a batch with related changes. Call `changed` after the commit. */
  written(account: Account) {
    const { id, operator, support, suspension, growthApproved, customLimits, maxKeys } = account
    const written = { operator, support, suspension, growthApproved, customLimits, maxKeys }
    return this.db.update(accounts).set(written).where(eq(accounts.id, id))
  }

  changed(account: Account): void {
    this.ids.set(account.id, account)
    if (this.users.has(account.userId)) this.users.set(account.userId, account)
  }
}

function accountOf({
  credit: _c,
  paid: _p,
  toppedUp: _t,
  debt: _d,
  ...account
}: typeof accounts.$inferSelect): Account {
  return account
}
