import type { KeyId } from '../../../../core/ids'
import type { AppendOutcome, Journal, JournalRecord } from '../../../../core/ledger/journal'
import type { JournalState } from '../../../../core/telemetry/telemetry'
import type { CallRecord } from '../../../../core/usage/call-record'
import type { GroupCommit } from './group-commit'
import type { LogApplier } from './log-applier'

/**
 * The journal of a database file. Records that the database itself must check (opening an account, money with a reference) are written
 * to the tables at once. Charges and reversals, which the counters have checked, go to the log and are applied to the tables later.
 */
export class LogJournal implements Journal {
  private readonly direct: GroupCommit
  private readonly logged: GroupCommit
  private readonly applier: LogApplier

  constructor(parts: { direct: GroupCommit; logged: GroupCommit; applier: LogApplier }) {
    this.direct = parts.direct
    this.logged = parts.logged
    this.applier = parts.applier
  }

  get droppedNotes(): number {
    return this.applier.droppedNotes
  }

  append(record: JournalRecord): Promise<AppendOutcome> {
    return needsVerdict(record) ? this.appendDirect(record) : this.logged.append(record)
  }

  private async appendDirect(record: JournalRecord): Promise<AppendOutcome> {
    // The money may come from a reversal that is only in the log so far, so the tables would report too little.
    if (record.change && (record.change.paid < 0 || record.change.credit < 0))
      await this.applier.applied().catch(() => undefined)
    return this.direct.append(record)
  }

  get backlog(): Pick<JournalState, 'waiting' | 'waitingMs'> {
    const [direct, logged] = [this.direct.backlog, this.logged.backlog]
    return { waiting: direct.waiting + logged.waiting, waitingMs: Math.max(direct.waitingMs, logged.waitingMs) }
  }

  note(call: CallRecord): void {
    this.applier.note(call)
  }

  touch(key: KeyId, at: number): void {
    this.applier.touch(key, at)
  }

  /** Resolves when all records so far have ended and are in the tables, unless the database refuses them. */
  async drained(): Promise<void> {
    do {
      await this.direct.drained()
      await this.logged.drained()
      await this.applier.applied().catch(() => undefined) // reported by the applier; the log keeps it
    } while (this.direct.isBusy || this.logged.isBusy)
  }
}

function needsVerdict({ opening, audit, settles, entries }: JournalRecord): boolean {
  const isOwners = opening !== undefined || audit !== undefined || settles !== undefined
  return isOwners || entries.some((entry) => entry.reference !== null)
}
