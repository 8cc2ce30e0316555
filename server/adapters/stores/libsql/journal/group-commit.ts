import type { KeyId } from '../../../../core/ids'
import type { AppendOutcome, GroupFate, Journal, JournalRecord } from '../../../../core/ledger/journal'
import { reasonOf } from '../../../../core/result'
import type { JournalState } from '../../../../core/telemetry/telemetry'
import type { CallRecord } from '../../../../core/usage/call-record'
import { BestEffortWrites } from '../driver/best-effort-writes'
import type { DatabaseError } from '../driver/worker/worker-connection'
import type { GroupSink } from './group-sink'
import { groupSize, MAX_GROUP, MAX_GROUP_BYTES } from './group-size'
import type { Group } from './group-statements'

interface Waiting {
  readonly record: JournalRecord
  /** The record as JSON, and its bytes. */
  readonly json: string
  readonly bytes: number
  readonly onEnd: (outcome: AppendOutcome) => void
  readonly since: number
  /** The outcome of its group, while that is being written. */
  fate: Promise<GroupFate> | null
}

export interface GroupCommitOptions {
  readonly sink: GroupSink
  /** How long a caller waits. After that, a record being written is `unknown`, and one that has not been started is refused. */
  readonly patienceMs: number
  readonly onTrouble: (what: string, reason: string) => void
  /** Called with a record that breaks a rule of the tables, after its outcome is given. Not for a reference that is already booked. */
  readonly onRefused?: (record: JournalRecord, reason: string) => void
}

/**
 * Group commit without a timer: a record is written at once if the writer is idle. While a commit runs, further records collect and are
 * written together when it ends. So groups form by themselves, and nothing waits at low load.
 */
export class GroupCommit implements Journal {
  private readonly options: GroupCommitOptions
  private records: Waiting[] = []
  /** In order of arrival, so the first one times out first. */
  private readonly unanswered = new Set<Waiting>()
  private patience: ReturnType<typeof setTimeout> | null = null
  private readonly bestEffort = new BestEffortWrites()
  private running = false
  private scheduled = false
  private idle: (() => void)[] = []
  // Made once: a closure in a method costs each call of the method a scope.
  private readonly begin = () => {
    this.scheduled = false
    void this.run()
  }
  private readonly onPatience = () => {
    this.patience = null
    this.losePatience()
    this.watch()
  }

  constructor(options: GroupCommitOptions) {
    this.options = options
  }

  get droppedNotes(): number {
    return this.bestEffort.dropped
  }

  get isBusy(): boolean {
    return this.running || this.scheduled
  }

  /** Records that wait for their commit, and how long the oldest has waited. */
  get backlog(): Pick<JournalState, 'waiting' | 'waitingMs'> {
    const [oldest] = this.unanswered
    return { waiting: this.unanswered.size, waitingMs: oldest ? performance.now() - oldest.since : 0 }
  }

  append(record: JournalRecord, onEnd: Waiting['onEnd']): void {
    const json = JSON.stringify(record)
    const bytes = Buffer.byteLength(json)
    const item: Waiting = { record, json, bytes, onEnd, since: performance.now(), fate: null }
    this.records.push(item)
    this.unanswered.add(item)
    this.watch()
    this.schedule()
  }

  note(call: CallRecord): void {
    this.bestEffort.note(call)
    this.schedule()
  }

  /** Writes when a key was last used, with the next group. */
  touch(key: KeyId, at: number): void {
    this.bestEffort.touch(key, at)
    this.schedule()
  }

  /** Resolves when all records so far have ended, including those that they caused, such as reversals. */
  async drained(): Promise<void> {
    do {
      if (this.isBusy) await new Promise<void>((resolve) => this.idle.push(resolve))
      await new Promise((resolve) => setImmediate(resolve))
    } while (this.isBusy)
  }

  private schedule(): void {
    if (this.isBusy) return
    this.scheduled = true
    setImmediate(this.begin)
  }

  private async run(): Promise<void> {
    this.running = true
    while (this.records.length + this.bestEffort.waiting > 0) {
      const size = groupSize(this.records, ({ bytes }) => bytes)
      const items = this.records.splice(0, size)
      const used = items.reduce((sum, { bytes }) => sum + bytes, 0)
      const { notes, lastUsed } = this.bestEffort.take(MAX_GROUP, MAX_GROUP_BYTES - used)
      await this.commit(items, notes, lastUsed)
    }
    this.running = false
    for (const resolve of this.idle.splice(0)) resolve()
  }

  /** Commits them together; if that breaks a rule, in halves, so that only those are refused that break it by themselves. */
  private async commit(
    given: readonly Waiting[],
    notes: readonly CallRecord[],
    lastUsed: Group['lastUsed'],
  ): Promise<void> {
    // Some may have been answered with the outcome of the whole group.
    const items = given.filter((item) => this.unanswered.has(item))
    if (items.length + notes.length + lastUsed.length === 0) return
    const error = await this.write({ records: items.map((item) => item.record), notes, lastUsed }, items)
    if (!error) return
    if (!error.isConstraint || items.length + notes.length <= 1) {
      for (const item of items) this.refuse(item, error)
      this.bestEffort.dropped += notes.length
      if (error.isConstraint && lastUsed.length > 0) await this.write({ records: [], notes: [], lastUsed }, [])
      return
    }
    if (items.length > 0 && notes.length + lastUsed.length > 0) {
      await this.commit(items, [], [])
      await this.commit([], notes, lastUsed)
      return
    }
    const [half, ofNotes] = [items.length >> 1, notes.length >> 1]
    await this.commit(items.slice(0, half), notes.slice(0, ofNotes), [])
    await this.commit(items.slice(half), notes.slice(ofNotes), lastUsed)
  }

  /** Writes one group and answers its records when it is committed. Returns the error if it was certainly not written. */
  private async write(group: Group, items: readonly Waiting[]): Promise<DatabaseError | null> {
    const { promise: fate, resolve: decide } = Promise.withResolvers<GroupFate>()
    for (const item of items) item.fate = fate
    const json = items.map((item) => item.json)
    const end = await this.options.sink.write(group, json)
    if (end === 'lost') {
      decide('lost')
      for (const item of items) this.answer(item, { kind: 'unknown', fate })
      return null
    }
    decide(end === 'committed' ? 'committed' : 'refused')
    for (const item of items) {
      item.fate = null
      if (end === 'committed') this.answer(item, { kind: 'committed' })
    }
    return end === 'committed' ? null : end
  }

  private refuse(item: Waiting, error: DatabaseError): void {
    const constraint = error.isTakenReference ? 'reference' : error.isConstraint ? 'other' : null
    // A charge with a hold violates no constraint unless counters and database disagree, and incoming money never does.
    if (constraint === 'other')
      this.options.onTrouble(item.record.call ? 'charge refused' : 'entry refused', error.message)
    this.answer(item, { kind: 'refused', reason: error.message, constraint })
    if (constraint === 'other') this.options.onRefused?.(item.record, error.message)
  }

  /** Only the first outcome counts. A fault of one caller must not keep the others waiting. */
  private answer(item: Waiting, outcome: AppendOutcome): void {
    if (!this.unanswered.delete(item)) return
    try {
      item.onEnd(outcome)
    } catch (error) {
      this.options.onTrouble('the end of a record', reasonOf(error))
    }
    if (this.unanswered.size > 0 || !this.patience) return
    clearTimeout(this.patience)
    this.patience = null
  }

  /** One timer, for the record that has waited longest. */
  private watch(): void {
    const [oldest] = this.unanswered
    if (this.patience || !oldest) return
    const left = oldest.since + this.options.patienceMs - performance.now()
    this.patience = setTimeout(this.onPatience, Math.max(1, left))
  }

  private losePatience(): void {
    const now = performance.now()
    for (const item of this.unanswered) {
      if (item.since + this.options.patienceMs > now) return
      const { fate } = item
      if (fate) this.answer(item, { kind: 'unknown', fate })
      else this.answer(item, { kind: 'refused', reason: 'the database takes no writes in time', constraint: null })
    }
  }
}
