import { and, type Column, eq, isNotNull, isNull, ne, or, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { AccountSettings, AccountSettingsStore } from '../../../core/accounts/account-settings'
import type { AccountAlerts } from '../../../core/accounts/alerts'
import type { AuditEntry } from '../../../core/audit'
import type { AccountId } from '../../../core/ids'
import { auditRow } from './audit/audit-trail'
import { isAmong } from './driver/among-all'
import { accountNotes, accountSettings, accounts, auditLog } from './schema/accounts'
import { connections } from './schema/connections'
import { limitRequests } from './schema/limit-requests'
import { requests } from './schema/usage'

/** Rows per statement, so that a long log does not keep charges waiting for the writer. */
const FORGOTTEN_AT_ONCE = 2000

export class LibsqlAccountSettings implements AccountSettingsStore {
  private readonly db: LibSQLDatabase
  private readonly applied: () => Promise<void>
  private readonly forgottenAtOnce: number

  /** `applied` resolves when the tables have every call that was recorded. */
  constructor(db: LibSQLDatabase, applied: () => Promise<void>, forgottenAtOnce = FORGOTTEN_AT_ONCE) {
    this.db = db
    this.applied = applied
    this.forgottenAtOnce = forgottenAtOnce
  }

  async of(account: AccountId): Promise<AccountSettings> {
    const [row] = await this.db.select().from(accountSettings).where(eq(accountSettings.accountId, account))
    return { timezone: row?.timezone ?? null, savedViews: row?.savedViews ?? [], alerts: row?.alerts ?? [] }
  }

  alerts(): Promise<readonly AccountAlerts[]> {
    const { accountId, timezone, alerts } = accountSettings
    return this.db
      .select({ accountId, timezone: sql<string>`coalesce(${timezone}, 'UTC')`, alerts })
      .from(accountSettings)
      .innerJoin(accounts, eq(accounts.id, accountId))
      .where(and(isNull(accounts.closedAt), sql`${alerts} <> '[]'`))
  }

  async change(account: AccountId, changes: Partial<AccountSettings>, audit: AuditEntry): Promise<void> {
    await this.db.batch([
      this.db
        .insert(accountSettings)
        .values({ accountId: account, ...changes })
        .onConflictDoUpdate({ target: accountSettings.accountId, set: { accountId: account, ...changes } }),
      this.db.insert(auditLog).values(auditRow(audit)),
    ])
  }

  async forgetTraces(account: AccountId): Promise<void> {
    await this.applied()
    for (let after = { at: -1, id: '' }; ; ) {
      const rows = await this.db.all<typeof after>(sql`SELECT at, id FROM ${requests} INDEXED BY requests_account
        WHERE account_id = ${account} AND at >= ${after.at} AND (at, id) > (${after.at}, ${after.id}) ORDER BY at, id LIMIT ${this.forgottenAtOnce}`)
      const last = rows.at(-1)
      if (!last) break
      const isPersonal = or(ne(requests.address, ''), isNotNull(requests.clientRequestId))
      const ids = rows.map(({ id }) => id)
      await this.db
        .update(requests)
        .set({ address: '', clientRequestId: null })
        .where(and(isAmong(requests.id, ids), isPersonal))
      after = last
    }
    await this.db.batch([
      ...forgottenTraces(this.db, account),
      this.db.update(limitRequests).set({ useCase: '', reason: null }).where(eq(limitRequests.accountId, account)),
      this.db.update(connections).set({ lastAddress: null }).where(eq(connections.accountId, account)),
      this.db.update(accountSettings).set({ savedViews: [], alerts: [] }).where(eq(accountSettings.accountId, account)),
      this.db.delete(accountNotes).where(eq(accountNotes.accountId, account)),
    ])
  }
}

const without = (column: Column) =>
  sql`json_remove(${column}, '$.email', '$.from', '$.to', '$.name', '$.note', '$.tags', '$.reason', '$.allowedIps')`

/** The statements that take from the audit log who the owner of a closed account is. */
function forgottenTraces(db: LibSQLDatabase, account: AccountId) {
  const ofAccount = eq(auditLog.accountId, account)
  return [
    db
      .update(auditLog)
      .set({ address: null, detail: without(auditLog.detail), before: without(auditLog.before) })
      .where(ofAccount),
    db
      .update(auditLog)
      .set({ detail: {}, before: null })
      .where(and(ofAccount, eq(auditLog.action, 'account.email'))),
  ] as const
}
