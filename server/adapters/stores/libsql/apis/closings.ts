import { and, asc, eq, inArray } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { ApiClosing, ClosingStore } from '../../../../core/apis/closings'
import type { AuditEntry } from '../../../../core/audit'
import type { ImportedName } from '../../../../core/catalog/operation'
import type { AccountId } from '../../../../core/ids'
import { auditRow } from '../audit/audit-row'
import { auditLog } from '../schema/accounts'
import { apiClosings } from '../schema/apis'

/** The operations that are closed to accounts. */
export class LibsqlClosings implements ClosingStore {
  private readonly db: LibSQLDatabase

  constructor(db: LibSQLDatabase) {
    this.db = db
  }

  async all(): Promise<readonly ApiClosing[]> {
    return this.db.select().from(apiClosings).orderBy(asc(apiClosings.at), asc(apiClosings.accountId))
  }

  async add(closing: ApiClosing): Promise<void> {
    await this.db.batch([this.db.insert(apiClosings).values(closing).onConflictDoNothing()])
  }

  async lift(operations: readonly ImportedName[], account: AccountId | null, audit: AuditEntry): Promise<void> {
    const ofThese = inArray(apiClosings.operation, [...operations])
    await this.db.batch([
      this.db.insert(auditLog).values(auditRow(audit)),
      this.db.delete(apiClosings).where(account === null ? ofThese : and(ofThese, eq(apiClosings.accountId, account))),
    ])
  }
}
