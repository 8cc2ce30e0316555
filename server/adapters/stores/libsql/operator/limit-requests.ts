import { and, desc, eq, lt } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { Account } from '../../../../core/accounts/account'
import type { LimitRequest, LimitRequestStore } from '../../../../core/accounts/staff/limit-request'
import type { AuditEntry } from '../../../../core/audit'
import type { AccountId, LimitRequestId } from '../../../../core/ids'
import type { LibsqlAccounts } from '../accounts'
import { auditRow } from '../audit/audit-trail'
import { auditLog } from '../schema/accounts'
import { limitRequests } from '../schema/limit-requests'

/** Requests for higher limits; a decision and the account that it changes are written in one batch. */
export class LibsqlLimitRequests implements LimitRequestStore {
  private readonly db: LibSQLDatabase
  private readonly accounts: LibsqlAccounts

  constructor(db: LibSQLDatabase, accounts: LibsqlAccounts) {
    this.db = db
    this.accounts = accounts
  }

  async byId(id: LimitRequestId): Promise<LimitRequest | null> {
    const [row] = await this.db.select().from(limitRequests).where(eq(limitRequests.id, id))
    return row ?? null
  }

  async pending(account: AccountId): Promise<LimitRequest | null> {
    const [row] = await this.list({ accountId: account, status: 'pending' }, 1, null)
    return row ?? null
  }

  async list(
    { accountId, status }: Parameters<LimitRequestStore['list']>[0],
    limit: number,
    after: LimitRequestId | null,
  ): Promise<readonly LimitRequest[]> {
    return this.db
      .select()
      .from(limitRequests)
      .where(
        and(
          accountId === null ? undefined : eq(limitRequests.accountId, accountId),
          status === null ? undefined : eq(limitRequests.status, status),
          after === null ? undefined : lt(limitRequests.id, after),
        ),
      )
      .orderBy(desc(limitRequests.id))
      .limit(limit)
  }

  async open(request: LimitRequest, audit: AuditEntry): Promise<boolean> {
    try {
      await this.db.batch([
        this.db.insert(limitRequests).values(request),
        this.db.insert(auditLog).values(auditRow(audit)),
      ])
      return true
    } catch (error) {
      if (await this.pending(request.accountId)) return false
      throw error
    }
  }

  async decide(decided: LimitRequest, account: Account | null, audit: AuditEntry): Promise<void> {
    const { status, reason, decidedAt } = decided
    const write = () =>
      this.db.batch([
        this.db.update(limitRequests).set({ status, reason, decidedAt }).where(eq(limitRequests.id, decided.id)),
        ...(account ? [this.accounts.written(account)] : []),
        this.db.insert(auditLog).values(auditRow(audit)),
      ])
    await (account ? this.accounts.changing(account, write) : write())
  }
}
