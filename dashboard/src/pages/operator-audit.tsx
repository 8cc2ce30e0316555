import { AuditLog } from '../features/audit/audit-log.tsx'
import { OperatorOnly } from '../features/operator/operator-only.tsx'
import { AUDIT_TEXT as TEXT } from '../messages/audit.ts'
import { SHELL_TEXT } from '../messages/shell.ts'

/** `/operator/audit`: the changes of the whole gateway. */
export function OperatorAudit() {
  const title = SHELL_TEXT.pagesOf.operatorAudit
  return (
    <OperatorOnly title={title}>
      <AuditLog scope="gateway" title={title} lead={TEXT.operatorLead} />
    </OperatorOnly>
  )
}
