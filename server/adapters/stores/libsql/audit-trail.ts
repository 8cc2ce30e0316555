import { and, desc, eq, lt } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { AuditEntry, AuditTrail } from '../../../core/audit'
import type { AccountId, AuditId, KeyId } from '../../../core/ids'
import type { Page } from '../../../core/page'
import { auditRow } from './audit-row'
import { auditLog } from './schema/accounts'

/** Reads the audit log. Its entries are written together with the changes that they record. */
export class LibsqlAuditTrail implements AuditTrail {
  private readonly db: LibSQLDatabase

  constructor(db: LibSQLDatabase) {
    this.db = db
  }

  ofKey(account: AccountId, key: KeyId, limit: number, cursor: string | null): Promise<Page<AuditEntry> | null> {
    return this.page(account, key, limit, cursor)
  }

  ofAccount(account: AccountId, limit: number, cursor: string | null): Promise<Page<AuditEntry> | null> {
    return this.page(account, null, limit, cursor)
  }

  async write(entry: AuditEntry): Promise<void> {
    await this.db.insert(auditLog).values(auditRow(entry))
  }

  private async page(
    account: AccountId,
    key: KeyId | null,
    limit: number,
    cursor: string | null,
  ): Promise<Page<AuditEntry> | null> {
    if (cursor !== null && !/^audit_[0-9a-f]{32}$/.test(cursor)) return null
    const rows = await this.db
      .select()
      .from(auditLog)
      .where(
        and(
          eq(auditLog.accountId, account),
          key === null ? undefined : eq(auditLog.keyId, key),
          cursor === null ? undefined : lt(auditLog.id, cursor as AuditId), // its form was just checked
        ),
      )
      .orderBy(desc(auditLog.id))
      .limit(limit + 1)
    const shown = rows.slice(0, limit)
    const entries = shown.map(
      ({ actorKind, actorId, address, ...row }): AuditEntry => ({
        ...row,
        actor: { kind: actorKind, id: actorId, address },
      }),
    )
    return { rows: entries, next: rows.length > limit ? (shown.at(-1)?.id ?? null) : null }
  }
}
