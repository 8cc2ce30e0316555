import { AuditLog } from '../features/audit/audit-log.tsx'
import { AUDIT_TEXT as TEXT } from '../messages/audit.ts'
import { SHELL_TEXT } from '../messages/shell.ts'

/** `/audit`: the changes of the account, newest first. */
export function Audit() {
  return <AuditLog scope="own" title={SHELL_TEXT.pagesOf.audit} lead={TEXT.lead} />
}
