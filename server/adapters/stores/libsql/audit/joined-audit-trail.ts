import type { AuditEntry, AuditFilter, AuditTrail } from '../../../../core/audit'
import type { AccountId, KeyId } from '../../../../core/ids'
import { joinedPages, type Page } from '../../../../core/page'

/** The audit logs of the control database and of a cell as one: what concerns an account is written to the cell. Ids sort by time in both. */
export class JoinedAuditTrail implements AuditTrail {
  private readonly control: AuditTrail
  private readonly cell: AuditTrail

  constructor(control: AuditTrail, cell: AuditTrail) {
    this.control = control
    this.cell = cell
  }

  ofKey(account: AccountId, key: KeyId, limit: number, cursor: string | null): Promise<Page<AuditEntry> | null> {
    return this.joined(limit, (trail) => trail.ofKey(account, key, limit, cursor))
  }

  ofAccount(account: AccountId, limit: number, cursor: string | null): Promise<Page<AuditEntry> | null> {
    return this.joined(limit, (trail) => trail.ofAccount(account, limit, cursor))
  }

  find(filter: AuditFilter, limit: number, cursor: string | null): Promise<Page<AuditEntry> | null> {
    return this.joined(limit, (trail) => trail.find(filter, limit, cursor))
  }

  write(entry: AuditEntry): Promise<void> {
    return (entry.accountId === null ? this.control : this.cell).write(entry)
  }

  private async joined(
    limit: number,
    read: (trail: AuditTrail) => Promise<Page<AuditEntry> | null>,
  ): Promise<Page<AuditEntry> | null> {
    const [one, other] = await Promise.all([read(this.control), read(this.cell)])
    return one && other && joinedPages([one, other], limit)
  }
}
