import type { CallRecord } from '../usage/call-record'
import {
  type AppendOutcome,
  appended,
  type DiskReserve,
  type Journal,
  type JournalObserver,
  type JournalRecord,
} from './journal'
import type { LogCopy } from './log-copy'

/**
 * A record without effect: no hold has this id. It is larger than most charges and than a disk page, so that it fails when a charge
 * would fail.
 */
const PROBE: JournalRecord = { entries: [], ends: `req_${'0'.repeat(16_384)}` }

/** After this time without a charge, the next question writes a probe: a disk can fill up without calls. */
const FRESH_MS = 5_000
/** While charges fail, one new call in this time finds out whether they can be written again. */
const RETRY_MS = 1_000

/**
 * A journal with observers that knows whether charges can be written: from the outcome of the last one, the reserve of its disk, or by
 * probing.
 */
export class WatchedJournal implements Journal {
  private readonly journal: Journal
  /** Monotonic. */
  private readonly now: () => number
  /** Null where the journal is on no disk of this machine. */
  private readonly reserve: DiskReserve | null
  private readonly observers: readonly JournalObserver[]
  /** The log's second place; null without one. */
  private readonly copy: Pick<LogCopy, 'problem'> | null
  private lastProblem: string | null = null
  private learnedAt: number
  /** When it was last tried whether charges can be written again. */
  private triedAt = Number.NEGATIVE_INFINITY
  private probe: Promise<string | null> | null = null

  constructor(
    journal: Journal,
    now: () => number,
    reserve: DiskReserve | null = null,
    observers: readonly JournalObserver[] = [],
    copy: Pick<LogCopy, 'problem'> | null = null,
  ) {
    this.copy = copy
    this.journal = journal
    this.now = now
    this.reserve = reserve
    this.observers = observers
    this.learnedAt = now()
  }

  append(record: JournalRecord, onEnd: (outcome: AppendOutcome) => void): void {
    this.journal.append(record, (outcome) => {
      // A stream asks its upstream before its hold is made durable, so that one counts too.
      if (record.call || record.keeps) this.learn(outcome)
      try {
        if (outcome.kind === 'committed') for (const observer of this.observers) observer.committed(record)
      } finally {
        onEnd(outcome)
      }
    })
  }

  note(call: CallRecord): void {
    this.journal.note(call)
    for (const observer of this.observers) observer.noted?.(call)
  }

  /** Whether the last charge failed, the disk's reserve was given up for it, or this process is not sure of its lease: a new call must not ask its upstream. */
  get isFailing(): boolean {
    return this.known !== null
  }

  /**
   * For a new call while `isFailing`: whether charges can be written again. One call a second finds out, without its upstream; the others
   * are refused at once.
   */
  async recovers(): Promise<boolean> {
    if (this.probe !== null || this.now() - this.triedAt < RETRY_MS) return false
    return (await this.tried()) === null
  }

  /** Why no charge can be made now; null if charges can be made. After a failed charge, each call writes a probe until one succeeds. */
  async problem(): Promise<string | null> {
    if (!this.isFailing && this.now() - this.learnedAt < FRESH_MS) return null
    return this.tried()
  }

  private get known(): string | null {
    return this.lastProblem ?? this.reserve?.problem ?? this.copy?.problem ?? null
  }

  /** Takes back the reserve, then writes a probe. Callers at the same time share one. */
  private tried(): Promise<string | null> {
    this.triedAt = this.now()
    this.probe ??= this.write().finally(() => {
      this.probe = null
    })
    return this.probe
  }

  private async write(): Promise<string | null> {
    const full = this.reserve?.problem == null ? null : await this.reserve.take()
    return full ?? this.learn(await appended(this.journal, PROBE))
  }

  /** A charge refused by a constraint says nothing about the disk. */
  private learn(outcome: AppendOutcome): string | null {
    const problem = problemOf(outcome)
    if (problem !== null && this.lastProblem === null) this.triedAt = this.now()
    this.lastProblem = problem
    this.learnedAt = this.now()
    return this.known
  }
}

function problemOf(outcome: AppendOutcome): string | null {
  if (outcome.kind === 'unknown') return 'the database did not confirm the last write in time'
  return outcome.kind === 'refused' && outcome.constraint === null ? outcome.reason : null
}
