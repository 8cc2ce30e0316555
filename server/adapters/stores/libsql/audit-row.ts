import type { AuditEntry } from '../../../core/audit'
import type { auditLog } from './schema/accounts'

export function auditRow(entry: AuditEntry): typeof auditLog.$inferInsert {
  const { actor, ...rest } = entry
  return { ...rest, actorKind: actor.kind, actorId: actor.id, address: actor.address }
}
