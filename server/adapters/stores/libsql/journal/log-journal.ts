import type { KeyId } from '../../../../core/ids'
import { inTimeOrNull } from '../../../../core/in-time'
import type { AppendOutcome, Journal, JournalRecord } from '../../../../core/ledger/journal'
import type { LogCopy } from '../../../../core/ledger/log-copy'
import type { JournalState } from '../../../../core/telemetry/telemetry'
import type { CallRecord } from '../../../../core/usage/call-record'
import { DatabaseError } from '../driver/worker/worker-connection'
import type { GroupCommit } from './group-commit'
import type { GroupSink, WriteEnd } from './group-sink'
import type { Group } from './group-statements'
import type { LogApplier } from './log-applier'
import type { LogFile } from './log-file'

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

  append(record: JournalRecord, onEnd: (outcome: AppendOutcome) => void): void {
    if (needsVerdict(record)) void this.appendDirect(record, onEnd)
    else this.logged.append(record, onEnd)
  }

  private async appendDirect(record: JournalRecord, onEnd: (outcome: AppendOutcome) => void): Promise<void> {
    // The money may come from a reversal that is only in the log so far, so the tables would report too little.
    if (record.change && (record.change.paid < 0 || record.change.credit < 0))
      await this.applier.applied().catch(() => undefined)
    this.direct.append(record, onEnd)
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

/** A log larger than this is emptied as soon as little of it is left to apply. */
const EMPTY_ABOVE_BYTES = 32 * 1024 * 1024
/** About one batch. */
const LITTLE_BYTES = 512 * 1024
/** If more than this is not applied, groups wait for a batch, so that the tables never fall far behind. */
const LAG_BYTES = 4 * 1024 * 1024
/** The longest that a group waits for the tables. They may be stuck, which the log makes up for. */
const MAX_WAIT_MS = 50
/** A write that the disk refused is tried again after this time, if the other place may have it. */
const RETRY_MS = 500
/** While the database rejects writes, charges beyond this size are refused with 503, uncharged. */
const MAX_UNAPPLIED_BYTES = 256 * 1024 * 1024

/**
 * Writes a group as one line of the log: one write and one sync, then it is committed. The tables follow later. Accepts charges and
 * reversals only. Notes are written by the applier.
 */
export class LogSink implements GroupSink {
  private readonly log: Pick<LogFile, 'append' | 'empty' | 'size' | 'lastNumber' | 'isBroken'>
  private readonly copy: Pick<LogCopy, 'append'> | null
  private readonly applier: Pick<
    LogApplier,
    'add' | 'applied' | 'step' | 'emptied' | 'isBehind' | 'lastApplied' | 'unappliedBytes'
  >
  private readonly onTrouble: (what: string, reason: string) => void
  private readonly emptyAbove: number
  private readonly lag: number
  private readonly maxUnapplied: number

  constructor(
    parts: {
      log: LogSink['log']
      /** The second place of the log, if there is one. */
      copy?: LogSink['copy']
      applier: LogSink['applier']
      onTrouble: LogSink['onTrouble']
    },
    { emptyAbove = EMPTY_ABOVE_BYTES, lag = LAG_BYTES, maxUnapplied = MAX_UNAPPLIED_BYTES } = {},
  ) {
    this.log = parts.log
    this.copy = parts.copy ?? null
    this.applier = parts.applier
    this.onTrouble = parts.onTrouble
    this.emptyAbove = emptyAbove
    this.lag = lag
    this.maxUnapplied = maxUnapplied
  }

  async write({ records }: Pick<Group, 'records'>, json: readonly string[]): Promise<WriteEnd> {
    if (this.applier.unappliedBytes > this.maxUnapplied)
      return this.refusal('the log is full: the database takes no writes')
    if (!this.applier.isBehind) await this.keepUp()
    const payload = `[${json.join()}]`
    const result = await (this.copy ? this.appendBoth(payload, this.copy) : this.log.append(payload))
    if (result.kind === 'lost') return 'lost'
    if (result.kind === 'refused') return this.refusal(result.reason)
    this.applier.add({ number: result.number, payload, records: records.length, bytes: result.bytes })
    return 'committed'
  }

  /**
   * To both places side by side. The copy may have what the disk here refuses, so that its number can be no other group's: it is tried
   * until both have it. Its callers have got their 503 by then, and the charges are reversed.
   */
  private async appendBoth(payload: string, copy: Pick<LogCopy, 'append'>): ReturnType<LogFile['append']> {
    const copied = copy.append({ number: this.log.lastNumber + 1, payload })
    let result = await this.log.append(payload)
    while (result.kind === 'refused') {
      if (this.log.isBroken) return { ...result, kind: 'lost' }
      this.onTrouble('log', result.reason)
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
      result = await this.log.append(payload)
    }
    if (result.kind === 'written') await copied
    return result
  }

  private refusal(reason: string): DatabaseError {
    this.onTrouble('log', reason)
    return new DatabaseError({ message: reason, code: 'LOG' })
  }

  /** Runs between two appends, so that no group is added between the last applied one and the emptying of the log. */
  private async keepUp(): Promise<void> {
    const isLong = this.log.size > this.emptyAbove
    if (this.applier.unappliedBytes > (isLong ? LITTLE_BYTES : this.lag))
      await inTimeOrNull(this.applier.step(), MAX_WAIT_MS)
    if (!isLong || this.applier.unappliedBytes > LITTLE_BYTES) return
    // The applier goes on, and reports how it ends. Meanwhile the log grows.
    await inTimeOrNull(this.applier.applied(), MAX_WAIT_MS)
    if (this.applier.lastApplied !== this.log.lastNumber) return
    await this.log.empty()
    this.applier.emptied()
  }
}
