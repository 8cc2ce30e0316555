import { and, desc, eq, isNotNull, lt, type SQL, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { StaffRole } from '../../../core/accounts/account'
import type { AccountDirectory, NewPlace, Place } from '../../../core/accounts/directory'
import type { AuditEntry } from '../../../core/audit'
import type { CellName } from '../../../core/cluster/cells'
import type { AccountId } from '../../../core/ids'
import { auditRow } from './audit/audit-row'
import { auditLog } from './schema/accounts'
import { accountDirectory as directory } from './schema/directory'
import { identityUser } from './schema/identity'

/** The roles are in memory, written through. */
export class LibsqlDirectory implements AccountDirectory {
  private readonly db: LibSQLDatabase
  private readonly roles = new Map<AccountId, StaffRole>()
  /** Rises with each change of a role here. */
  private changes = 0

  constructor(db: LibSQLDatabase) {
    this.db = db
  }

  /** Loads the roles, before anything is served, and again after another gateway changed one. */
  async restore(): Promise<void> {
    const { accountId, role } = directory
    const changes = this.changes
    const staff = await this.db.select({ accountId, role }).from(directory).where(isNotNull(role))
    // What was read may be older than what a change here wrote meanwhile.
    if (changes !== this.changes) return this.restore()
    this.roles.clear()
    for (const one of staff) if (one.role) this.roles.set(one.accountId, one.role)
  }

  async place({ accountId, userId, mayBeOperator, createdAt, cells }: NewPlace): Promise<Place> {
    const role = sql`iif(${mayBeOperator ? 1 : 0} AND NOT EXISTS (SELECT 1 FROM ${directory}), 'operator', NULL)`
    await this.db
      .insert(directory)
      .select(sql`SELECT ${accountId}, ${userId}, ${role}, ${createdAt}, ${emptiest(cells)}`)
      .onConflictDoNothing()
    const placed = await this.placeOf(userId)
    if (!placed) throw new Error('the account of a user was not stored')
    // An older row may have another role by now.
    if (placed.accountId === accountId) this.remember(accountId, placed.role)
    return placed
  }

  async placeOf(userId: string): Promise<Place | null> {
    const [placed] = await this.db.select().from(directory).where(eq(directory.userId, userId))
    return placed ?? null
  }

  async search(text: string, limit: number, after: AccountId | null): Promise<readonly AccountId[]> {
    const { email, name } = identityUser
    const pattern = `%${text.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`
    const found = await this.db
      .select({ accountId: directory.accountId })
      .from(directory)
      .innerJoin(identityUser, eq(identityUser.id, directory.userId))
      .where(
        and(
          sql`(lower(${email}) LIKE ${pattern} ESCAPE '\\' OR lower(${name}) LIKE ${pattern} ESCAPE '\\')`,
          after === null ? undefined : lt(directory.accountId, after),
        ),
      )
      .orderBy(desc(directory.accountId))
      .limit(limit)
    return found.map(({ accountId }) => accountId)
  }

  async has(account: AccountId): Promise<boolean> {
    const { accountId } = directory
    const found = await this.db.select({ accountId }).from(directory).where(eq(accountId, account))
    return found.length > 0
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
    this.changes++
    if (role) this.roles.set(account, role)
    else this.roles.delete(account)
  }
}

/** Part of the statement that places an account, so that no two of them count the same accounts. */
function emptiest(cells: readonly CellName[]): SQL {
  const [only] = cells
  if (cells.length === 1) return sql`${only}`
  return sql`(SELECT value FROM json_each(${JSON.stringify(cells)}) AS open
    ORDER BY (SELECT count(*) FROM ${directory} WHERE ${directory.cell} = open.value), open.key LIMIT 1)`
}
