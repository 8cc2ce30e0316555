import type { AppendOutcome, Journal, JournalRecord } from './journal'

/**
 * Changes nothing: no hold has this id. It is larger than most charges and than a page of the disk, so that it does not fit where
 * a charge would not.
 */
const PROBE: JournalRecord = { entries: [], ends: `req_${'0'.repeat(16_384)}` }

/** A journal that knows whether charges go down: from the end of the last one, and, while none does, by trying. */
export class WatchedJournal implements Journal {
  private readonly journal: Journal
  private takesCharges = true
  private probe: Promise<boolean> | null = null

  constructor(journal: Journal) {
    this.journal = journal
  }

  append(record: JournalRecord): Promise<AppendOutcome> {
    const outcome = this.journal.append(record)
    if (record.call) void outcome.then((end) => this.learn(end))
    return outcome
  }

  note(...call: Parameters<Journal['note']>): void {
    this.journal.note(...call)
  }

  /** Whether a charge can be made now. After a failed one this writes a record without effect, one at a time, until one is taken. */
  async canCharge(): Promise<boolean> {
    if (this.takesCharges) return true
    this.probe ??= this.journal.append(PROBE).then((end) => {
      this.probe = null
      return this.learn(end)
    })
    return this.probe
  }

  /** A charge that a rule forbids says nothing about the disk. */
  private learn(end: AppendOutcome): boolean {
    this.takesCharges = end.kind === 'committed' || (end.kind === 'refused' && end.constraint !== null)
    return this.takesCharges
  }
}
