import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { AuditEntry } from '../../../../core/audit'
import { auditLog } from '../schema/accounts'

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

export function auditEntryOf(row: typeof auditLog.$inferSelect): AuditEntry {
  const { actorKind: kind, actorId, address, ...rest } = row
  return { ...rest, actor: { kind, id: actorId, address } }
}
