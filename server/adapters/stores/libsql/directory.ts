import { eq, isNotNull, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { StaffRole } from '../../../core/accounts/account'
import type { AccountDirectory, NewPlace, Place } from '../../../core/accounts/directory'
import type { AuditEntry } from '../../../core/audit'
import { MAIN_CELL } from '../../../core/cluster/cells'
import type { AccountId } from '../../../core/ids'
import { auditRow } from './audit/audit-row'
import { auditLog } from './schema/accounts'
import { accountDirectory as directory } from './schema/directory'

/** The roles are in memory, written through. */
export class LibsqlDirectory implements AccountDirectory {
  private readonly db: LibSQLDatabase
  private readonly roles = new Map<AccountId, StaffRole>()

  constructor(db: LibSQLDatabase) {
    this.db = db
  }

  /** Loads the roles, before anything is served. */
  async restore(): Promise<void> {
    const { accountId, role } = directory
    const staff = await this.db.select({ accountId, role }).from(directory).where(isNotNull(role))
    for (const one of staff) this.remember(one.accountId, one.role)
  }

  async place({ accountId, userId, mayBeOperator, createdAt }: NewPlace): Promise<Place> {
    const role = sql`iif(${mayBeOperator ? 1 : 0} AND NOT EXISTS (SELECT 1 FROM ${directory}), 'operator', NULL)`
    await this.db
      .insert(directory)
      .select(sql`SELECT ${accountId}, ${userId}, ${role}, ${createdAt}, ${MAIN_CELL}`)
      .onConflictDoNothing()
    const [placed] = await this.db.select().from(directory).where(eq(directory.userId, userId))
    if (!placed) throw new Error('the account of a user was not stored')
    this.remember(placed.accountId, placed.role)
    return placed
  }

  roleOf(account: AccountId): StaffRole | null {
    return this.roles.get(account) ?? null
  }

  withRole(role: StaffRole): readonly AccountId[] {
    return [...this.roles].flatMap(([account, its]) => (its === role ? account : []))
  }

  async setRole(account: AccountId, role: StaffRole | null, audit: AuditEntry): Promise<void> {
    const [changed] = await this.db.batch([
      this.db
        .update(directory)
        .set({ role })
        .where(eq(directory.accountId, account))
        .returning({ role: directory.role }),
      this.db.insert(auditLog).values(auditRow(audit)),
    ])
    if (changed.length === 0) throw new Error(`the account ${account} is not in the directory`)
    this.remember(account, role)
  }

  private remember(account: AccountId, role: StaffRole | null): void {
    if (role) this.roles.set(account, role)
    else this.roles.delete(account)
  }
}
