import type { AppendOutcome, Journal, JournalRecord } from './journal'

/**
 * A record without effect: no hold has this id. It is larger than most charges and than a disk page, so that it fails when a charge
 * would fail.
 */
const PROBE: JournalRecord = { entries: [], ends: `req_${'0'.repeat(16_384)}` }

/** After this time without a charge, the next question writes a probe: a disk can fill up while nobody calls. */
const FRESH_MS = 5_000

/** A journal that knows whether charges can be written: from the outcome of the last one, or by probing. */
export class WatchedJournal implements Journal {
  private readonly journal: Journal
  /** Monotonic. */
  private readonly now: () => number
  private lastProblem: string | null = null
  private learnedAt: number
  private probe: Promise<string | null> | null = null

  constructor(journal: Journal, now: () => number) {
    this.journal = journal
    this.now = now
    this.learnedAt = now()
  }

  append(record: JournalRecord): Promise<AppendOutcome> {
    const outcome = this.journal.append(record)
    if (record.call) void outcome.then((result) => this.learn(result))
    return outcome
  }

  note(...call: Parameters<Journal['note']>): void {
    this.journal.note(...call)
  }

  /** Why no charge can be made now; null if charges can be made. After a failed charge, each call writes a probe until one succeeds. */
  async problem(): Promise<string | null> {
    if (this.lastProblem === null && this.now() - this.learnedAt < FRESH_MS) return null
    this.probe ??= this.journal.append(PROBE).then((result) => {
      this.probe = null
      return this.learn(result)
    })
    return this.probe
  }

  /** A charge refused by a constraint says nothing about the disk. */
  private learn(outcome: AppendOutcome): string | null {
    this.lastProblem = problemOf(outcome)
    this.learnedAt = this.now()
    return this.lastProblem
  }
}

function problemOf(outcome: AppendOutcome): string | null {
  if (outcome.kind === 'unknown') return 'the database did not confirm the last write in time'
  return outcome.kind === 'refused' && outcome.constraint === null ? outcome.reason : null
}
