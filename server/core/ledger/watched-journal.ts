import type { AppendOutcome, Journal, JournalRecord } from './journal'

/**
 * A record without effect: no hold has this id. It is larger than most charges and than a disk page, so that it fails when a charge
 * would fail.
 */
const PROBE: JournalRecord = { entries: [], ends: `req_${'0'.repeat(16_384)}` }

/** A journal that knows whether charges can be written: from the outcome of the last one, and after a failure by probing. */
export class WatchedJournal implements Journal {
  private readonly journal: Journal
  private acceptsCharges = true
  private probe: Promise<boolean> | null = null

  constructor(journal: Journal) {
    this.journal = journal
  }

  append(record: JournalRecord): Promise<AppendOutcome> {
    const outcome = this.journal.append(record)
    if (record.call) void outcome.then((result) => this.learn(result))
    return outcome
  }

  note(...call: Parameters<Journal['note']>): void {
    this.journal.note(...call)
  }

  /** Whether a charge can be made now. After a failed charge, each call writes a probe record until one succeeds. */
  async canCharge(): Promise<boolean> {
    if (this.acceptsCharges) return true
    this.probe ??= this.journal.append(PROBE).then((result) => {
      this.probe = null
      return this.learn(result)
    })
    return this.probe
  }

  /** A charge refused by a constraint says nothing about the disk. */
  private learn(outcome: AppendOutcome): boolean {
    this.acceptsCharges = outcome.kind === 'committed' || (outcome.kind === 'refused' && outcome.constraint !== null)
    return this.acceptsCharges
  }
}
