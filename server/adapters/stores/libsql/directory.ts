import { and, desc, eq, gt, isNotNull, lt, ne, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { closedEmail, type StaffRole } from '../../../core/accounts/account'
import type {
  AccountDirectory,
  DirectoryEntry,
  NewDirectoryEntry,
  UserOfAccount,
} from '../../../core/accounts/directory'
import type { AuditEntry } from '../../../core/audit'
import { builtOnce } from '../../../core/built-once'
import type { AccountId } from '../../../core/ids'
import { auditRow } from './audit/audit-trail'
import { accounts, auditLog } from './schema/accounts'
import { accountDirectory as directory, identityMember, identityOrganization, identityUser } from './schema/identity'

/** The roles are in memory, written through. */
export class LibsqlDirectory implements AccountDirectory {
  private readonly db: LibSQLDatabase
  private readonly entries: () => ReturnType<typeof entryQuery>
  private readonly roles = new Map<AccountId, StaffRole>()
  /** Rises with each change of a role here. */
  private changes = 0

  constructor(db: LibSQLDatabase) {
    this.db = db
    this.entries = builtOnce(() => entryQuery(db))
  }

  /** Reads the roles. The returned function takes them over; it throws if one changed here meanwhile, because the read roles may be older. */
  async read(): Promise<() => void> {
    const { accountId, role } = directory
    const changes = this.changes
    const staff = await this.db.select({ accountId, role }).from(directory).where(isNotNull(role))
    return () => {
      if (changes !== this.changes) throw new Error('a role changed while all were read')
      this.roles.clear()
      for (const one of staff) if (one.role) this.roles.set(one.accountId, one.role)
    }
  }

  async assign({ accountId, userId, mayBeOperator, createdAt }: NewDirectoryEntry): Promise<DirectoryEntry> {
    const role = sql`iif(${mayBeOperator ? 1 : 0} AND NOT EXISTS (SELECT 1 FROM ${directory}), 'operator', NULL)`
    const its = sql`FROM ${directory} JOIN ${identityUser} ON ${identityUser.id} = ${directory.userId} WHERE ${directory.userId} = ${userId}`
    await this.db.batch([
      this.db
        .insert(directory)
        .select(sql`SELECT ${accountId}, ${userId}, ${role}, ${createdAt}`)
        .onConflictDoNothing(),
      // The user's own workspace.
      this.db.run(sql`INSERT INTO ${identityOrganization} (id, name, slug, created_at)
        SELECT ${directory.accountId}, ${identityUser.name}, ${directory.accountId}, ${createdAt} ${its} ON CONFLICT DO NOTHING`),
      this.db.run(sql`INSERT INTO ${identityMember} (id, organization_id, user_id, role, created_at)
        SELECT ${directory.accountId}, ${directory.accountId}, ${userId}, 'owner', ${createdAt} ${its} ON CONFLICT DO NOTHING`),
    ])
    const known = await this.byUser(userId)
    if (!known) throw new Error('the account of a user was not stored')
    // An older row may have another role by now. A new one has none.
    if (known.accountId !== accountId || known.role === null) return known
    this.remember(accountId, known.role)
    return known
  }

  private async byUser(userId: string): Promise<DirectoryEntry | null> {
    const [known] = await this.entries().all({ userId })
    return known ?? null
  }

  async search(text: string, limit: number, after: AccountId | null): Promise<readonly AccountId[]> {
    const { email, name } = identityUser
    const pattern = `%${text.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`
    const found = await this.db
      .select({ accountId: directory.accountId })
      .from(directory)
      .innerJoin(accounts, eq(accounts.id, directory.accountId))
      .innerJoin(identityUser, eq(identityUser.id, accounts.userId))
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

  users(limit: number, after: AccountId | null): Promise<readonly UserOfAccount[]> {
    const { accountId } = directory
    return this.db
      .select({ accountId, userId: sql<string>`coalesce(${accounts.userId}, ${directory.userId})` })
      .from(directory)
      .leftJoin(accounts, eq(accounts.id, accountId))
      .where(after === null ? undefined : gt(accountId, after))
      .orderBy(accountId)
      .limit(limit)
  }

  roleOf(account: AccountId): StaffRole | null {
    return this.roles.get(account) ?? null
  }

  withRole(role: StaffRole): readonly AccountId[] {
    return [...this.roles].flatMap(([account, its]) => (its === role ? account : []))
  }

  /** Whether another account is operator whose owner can sign in: a closed account has no owner. */
  async hasOperatorBeside(account: AccountId): Promise<boolean> {
    const others = await this.db
      .select({ id: directory.accountId, email: identityUser.email })
      .from(directory)
      .leftJoin(identityUser, eq(identityUser.id, directory.userId))
      .where(and(eq(directory.role, 'operator'), ne(directory.accountId, account)))
    return others.some(({ id, email }) => email !== closedEmail(id))
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

function entryQuery(db: LibSQLDatabase) {
  return db
    .select()
    .from(directory)
    .where(eq(directory.userId, sql.placeholder('userId')))
    .prepare()
}
