import type { KeyId } from '../../../../core/ids'
import type { AppendOutcome, Journal, JournalRecord } from '../../../../core/ledger/journal'
import type { CallRecord } from '../../../../core/usage/call-record'
import type { GroupCommit } from './group-commit'
import type { Applier } from './log-applier'

/**
 * The journal of a database file. What the database itself must judge (an account's opening, money with a reference) goes to
 * the tables at once; charges and reversals, which the counters have judged, go to the log, and the tables follow.
 */
export class LogJournal implements Journal {
  private readonly direct: GroupCommit
  private readonly logged: GroupCommit
  private readonly applier: Applier

  constructor(parts: { direct: GroupCommit; logged: GroupCommit; applier: Applier }) {
    this.direct = parts.direct
    this.logged = parts.logged
    this.applier = parts.applier
  }

  get droppedNotes(): number {
    return this.applier.droppedNotes
  }

  async append(record: JournalRecord): Promise<AppendOutcome> {
    if (!needsVerdict(record)) return this.logged.append(record)
    // What is taken may have come back by a reversal that is in the log only: the tables would find too little there.
    if (record.change && record.change.paid < 0) await this.applier.applied().catch(() => undefined)
    return this.direct.append(record)
  }

  note(call: CallRecord): void {
    this.applier.note(call)
  }

  touch(key: KeyId, at: number): void {
    this.applier.touch(key, at)
  }

  /** Resolves when everything that was given so far has ended and is in the tables, if they take it. */
  async drained(): Promise<void> {
    do {
      await this.direct.drained()
      await this.logged.drained()
      await this.applier.applied().catch(() => undefined) // told by the applier; the log keeps it
    } while (this.direct.isBusy || this.logged.isBusy)
  }
}

function needsVerdict({ opening, audit, entries }: JournalRecord): boolean {
  return opening !== undefined || audit !== undefined || entries.some((entry) => entry.reference !== null)
}
