import { count, desc, eq, lt, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { type Account, roleFlags, type StaffRole } from '../../../core/accounts/account'
import type { AccountDirectory } from '../../../core/accounts/directory'
import type { AccountStore } from '../../../core/accounts/store'
import type { AuditEntry } from '../../../core/audit'
import { builtOnce } from '../../../core/built-once'
import { GatheredLookups } from '../../../core/gathered-lookups'
import type { AccountId } from '../../../core/ids'
import { auditRow } from './audit/audit-trail'
import { amongAll, asList } from './driver/among-all'
import { InDoubt } from './driver/in-doubt'
import { accounts, auditLog } from './schema/accounts'
import { accountDirectory } from './schema/identity'

const COLUMNS = {
  id: accounts.id,
  userId: accounts.userId,
  suspension: accounts.suspension,
  closedAt: accounts.closedAt,
  growthApproved: accounts.growthApproved,
  customLimits: accounts.customLimits,
  maxKeys: accounts.maxKeys,
  createdAt: accounts.createdAt,
}
type AccountRow = Omit<Account, 'operator' | 'support'>

/**
 * Accounts in memory, written through, with the roles that the directory says. Each is read from the tables at its first use, and again only after
 * a change of it failed. Balances live in the counters and the ledger, not here.
 */
export class LibsqlAccounts implements AccountStore {
  private readonly db: LibSQLDatabase
  private readonly byUserId: ReturnType<typeof queries>['byUserId']
  private readonly directory: Pick<AccountDirectory, 'roleOf' | 'setRole'>
  private readonly ids = new Map<AccountId, Account>()
  private readonly rows: GatheredLookups<AccountRow>
  /** Accounts that were looked up or opened since startup. */
  private readonly users = new Map<string, Account>()
  private readonly doubts: InDoubt<AccountId>

  /** `settled`: of the write queue. */
  constructor(
    db: LibSQLDatabase,
    directory: Pick<AccountDirectory, 'roleOf' | 'setRole'>,
    settled: () => Promise<void>,
  ) {
    this.db = db
    this.directory = directory
    const { byIds, byUserId } = queries(db)
    this.byUserId = byUserId
    const read = (ids: readonly string[]) => byIds().all({ ids: asList(ids) })
    this.rows = new GatheredLookups(async (ids) => new Map((await read(ids)).map((row) => [row.id, row])))
    this.doubts = new InDoubt(settled, async (ids) => {
      for (const row of await read(ids)) this.changed({ ...row, operator: false, support: false })
    })
  }

  async byId(id: AccountId): Promise<Account | null> {
    if (this.doubts.has(id)) await this.doubts.resolve()
    const known = this.ids.get(id)
    if (known) return known
    const row = await this.rows.of(id)
    return row ? this.accountOf(row) : null
  }

  known(id: AccountId): Account | null {
    return this.doubts.has(id) ? null : (this.ids.get(id) ?? null)
  }

  knownByUser(userId: string): Account | null {
    const known = this.users.get(userId)
    return known && !this.doubts.has(known.id) ? known : null
  }

  async byUser(userId: string): Promise<Account | null> {
    const seen = this.users.get(userId)
    if (seen && this.doubts.has(seen.id)) await this.doubts.resolve()
    const known = this.users.get(userId)
    if (known) return known
    const [row] = await this.byUserId().all({ userId })
    if (row && !this.users.has(userId)) this.opened(this.accountOf(row))
    return this.users.get(userId) ?? null
  }

  async count(): Promise<number> {
    const [row] = await this.db.select({ all: count() }).from(accounts)
    return row?.all ?? 0
  }

  async list(limit: number, after: AccountId | null): Promise<readonly Account[]> {
    await this.doubts.resolve()
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
    await this.changing(account, () =>
      this.db.batch([this.written(account), this.db.insert(auditLog).values(auditRow(audit))]),
    )
  }

  handedOver(account: Account, userId: string): void {
    this.users.delete(account.userId)
    this.changed({ ...account, userId })
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

  /** Commits a change of an account, which `write` has `written`, and then has it in memory. */
  async changing(account: Account, write: () => Promise<unknown>): Promise<void> {
    await this.doubts.changing([account.id], write)
    this.changed(account)
  }

  /** The statement that writes a changed account, for a batch with related changes (`changing`). */
  written(account: Account) {
    const { id, suspension, closedAt, growthApproved, customLimits, maxKeys } = account
    const written = { suspension, closedAt, growthApproved, customLimits, maxKeys }
    return this.db.update(accounts).set(written).where(eq(accounts.id, id))
  }

  private changed(account: Account): Account {
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

function queries(db: LibSQLDatabase) {
  const select = () => db.select(COLUMNS).from(accounts)
  return {
    byIds: builtOnce(() => select().where(amongAll(accounts.id, 'ids')).prepare()),
    byUserId: builtOnce(() =>
      select()
        .innerJoin(accountDirectory, eq(accountDirectory.accountId, accounts.id))
        .where(eq(accountDirectory.userId, sql.placeholder('userId')))
        .prepare(),
    ),
  }
}
