import type { AuditEntry } from '../../../../core/audit'
import type { auditLog } from '../schema/accounts'

export function auditRow(entry: AuditEntry): typeof auditLog.$inferInsert {
  const { actor, ...rest } = entry
  return { ...rest, actorKind: actor.kind, actorId: actor.id, address: actor.address }
}

export function auditEntryOf(row: typeof auditLog.$inferSelect): AuditEntry {
  const { actorKind: kind, actorId, address, ...rest } = row
  return { ...rest, actor: { kind, id: actorId, address } }
}
