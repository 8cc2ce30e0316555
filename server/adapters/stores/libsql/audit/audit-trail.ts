import { and, desc, eq, gte, lt, type SQL, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { AuditEntry, AuditFilter, AuditTrail, OperatorActs } from '../../../../core/audit'
import type { AccountId, AuditId, KeyId } from '../../../../core/ids'
import type { Page } from '../../../../core/page'
import { auditLog } from '../schema/accounts'

/** The maximum number of entries that one page of a filter scans. */
const WINDOW = 20_000

/** Reads the audit log. Its entries are written together with the changes that they record. */
export class LibsqlAuditTrail implements AuditTrail {
  private readonly db: LibSQLDatabase

  constructor(db: LibSQLDatabase) {
    this.db = db
  }

  ofKey(account: AccountId, key: KeyId, limit: number, cursor: string | null): Promise<Page<AuditEntry> | null> {
    return this.find({ ...ALL, accountId: account, keyId: key }, limit, cursor)
  }

  ofAccount(account: AccountId, limit: number, cursor: string | null): Promise<Page<AuditEntry> | null> {
    return this.find({ ...ALL, accountId: account }, limit, cursor)
  }

  async write(entry: AuditEntry): Promise<void> {
    await this.db.insert(auditLog).values(auditRow(entry))
  }

  async find(filter: AuditFilter, limit: number, cursor: string | null): Promise<Page<AuditEntry> | null> {
    if (cursor !== null && !/^audit_[0-9a-f]{32}$/.test(cursor)) return null
    const { accountId, keyId, actorKind, action, from, to } = filter
    const range = and(
      accountId === null ? undefined : eq(auditLog.accountId, accountId),
      cursor === null ? undefined : lt(auditLog.id, cursor as AuditId), // its form was just checked
    )
    const last = await this.lastOfWindow(range)
    const rows = await this.db
      .select()
      .from(auditLog)
      .where(
        and(
          range,
          last === null ? undefined : gte(auditLog.id, last),
          keyId === null ? undefined : eq(auditLog.keyId, keyId),
          actorKind === null ? undefined : eq(auditLog.actorKind, actorKind),
          action === null ? undefined : isAction(action),
          from === null ? undefined : gte(auditLog.at, from),
          to === null ? undefined : lt(auditLog.at, to),
        ),
      )
      .orderBy(desc(auditLog.id))
      .limit(limit + 1)
    const shown = rows.slice(0, limit)
    return { rows: shown.map(auditEntryOf), next: rows.length > limit ? (shown.at(-1)?.id ?? null) : last }
  }

  /** The last entry that a page of this range scans; null when it scans all of them. */
  private async lastOfWindow(range: SQL | undefined): Promise<AuditId | null> {
    const ids = this.db.select({ id: auditLog.id }).from(auditLog).where(range).orderBy(desc(auditLog.id))
    const [last] = await ids.limit(1).offset(WINDOW - 1)
    return last?.id ?? null
  }
}

const ALL = { keyId: null, actorKind: null, action: null, from: null, to: null } as const

/** The action itself, or one that begins with it and a point. Without LIKE, in which a caller's `%` would be a wildcard. */
function isAction(action: string): SQL {
  const group = `${action}.`
  return sql`(${auditLog.action} = ${action} OR substr(${auditLog.action}, 1, ${group.length}) = ${group})`
}

const MAX_ROWS = 500

/** Reads the audit log in the order of commits, which its ids do not have after the clock was set. */
export function operatorActs(db: LibSQLDatabase): OperatorActs {
  const lastRow = async () => {
    const [last] = await db.select({ row: sql<number | null>`max(rowid)` }).from(auditLog)
    return last?.row ?? 0
  }
  return {
    async after(position) {
      const last = await lastRow()
      if (position === null || last <= position) return { acts: [], position: last }
      const rows = await db
        .select({ entry: auditLog, row: sql<number>`rowid` })
        .from(auditLog)
        .where(and(sql`rowid > ${position} AND rowid <= ${last}`, eq(auditLog.actorKind, 'operator')))
        .orderBy(sql`rowid`)
        .limit(MAX_ROWS)
      const acts = rows.map(({ entry }) => auditEntryOf(entry))
      return { acts, position: rows.length < MAX_ROWS ? last : (rows.at(-1)?.row ?? last) }
    },
  }
}

export function auditRow(entry: AuditEntry): typeof auditLog.$inferInsert {
  const { actor, ...rest } = entry
  return { ...rest, actorKind: actor.kind, actorId: actor.id, address: actor.address }
}

/** Writes an entry, or replaces the one that it was joined with (`JoinedChanges`). */
export function insertAudit(db: LibSQLDatabase, entry: AuditEntry) {
  const row = auditRow(entry)
  return db
    .insert(auditLog)
    .values(row)
    .onConflictDoUpdate({ target: auditLog.id, set: { detail: row.detail } })
}

function auditEntryOf(row: typeof auditLog.$inferSelect): AuditEntry {
  const { actorKind: kind, actorId, address, ...rest } = row
  return { ...rest, actor: { kind, id: actorId, address } }
}
