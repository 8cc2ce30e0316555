import type { KeyId } from '../../../core/ids'
import type { AppendOutcome, Journal, JournalRecord } from '../../../core/ledger/journal'
import type { CallRecord } from '../../../core/usage/call-record'
import { DatabaseError } from './connection'
import { type Group, groupStatements } from './group-statements'
import type { WriteQueue } from './write-queue'

interface Waiting {
  readonly record: JournalRecord
  readonly settle: (outcome: AppendOutcome) => void
}

export interface GroupCommitOptions {
  readonly writes: WriteQueue
  /** The number of the last group that is in the database. Rejects when the database does not answer. */
  readonly lastGroup: () => Promise<number>
  /** How long a caller waits for a commit before its outcome is `unknown`. */
  readonly patienceMs: number
  /** Another process owns the database now: this one must stop. */
  readonly onLostOwnership: () => void
  readonly onTrouble: (what: string, reason: string) => void
}

/** Most notes that wait; beyond that they are dropped and counted (spec-answers 4). */
const MAX_NOTES = 10_000
/** Most records of one commit, so that a commit stays short and its failure is found soon. */
const MAX_GROUP = 512
const FATE_RETRY_MS = 500

/**
 * Group commit without a timer: a record that finds the writer idle goes at once; while a commit runs the next ones collect,
 * and go together when it has ended (facts/performance 3). So groups form by themselves and nobody waits at low load.
 */
export class GroupCommit implements Journal {
  private readonly options: GroupCommitOptions
  private records: Waiting[] = []
  private notes: CallRecord[] = []
  private readonly used = new Map<KeyId, number>()
  private running = false
  private scheduled = false
  private groups = 0
  private idle: (() => void)[] = []
  droppedNotes = 0

  constructor(options: GroupCommitOptions) {
    this.options = options
  }

  append(record: JournalRecord): Promise<AppendOutcome> {
    return new Promise((settle) => {
      this.records.push({ record, settle })
      this.schedule()
    })
  }

  note(call: CallRecord): void {
    if (this.notes.length >= MAX_NOTES) {
      this.droppedNotes++
      return
    }
    this.notes.push(call)
    this.schedule()
  }

  /** Takes along when a key was last used, with the next group. */
  touch(key: KeyId, at: number): void {
    this.used.set(key, at)
    this.schedule()
  }

  /** Resolves when everything that was given so far has ended. */
  async drained(): Promise<void> {
    if (!this.running && !this.scheduled) return
    await new Promise<void>((resolve) => this.idle.push(resolve))
  }

  private schedule(): void {
    if (this.running || this.scheduled) return
    this.scheduled = true
    setImmediate(() => {
      this.scheduled = false
      void this.run()
    })
  }

  private async run(): Promise<void> {
    this.running = true
    while (this.records.length + this.notes.length + this.used.size > 0) {
      const waiting = this.records.splice(0, MAX_GROUP)
      const notes = this.notes.splice(0, MAX_GROUP)
      const lastUsed = [...this.used]
      this.used.clear()
      await this.commit(waiting, notes, lastUsed)
    }
    this.running = false
    for (const resolve of this.idle.splice(0)) resolve()
  }

  private async commit(
    waiting: readonly Waiting[],
    notes: readonly CallRecord[],
    lastUsed: Group['lastUsed'],
  ): Promise<void> {
    const error = await this.write({ records: waiting.map((item) => item.record), notes, lastUsed }, waiting)
    if (!error) return
    if (!error.isConstraint || waiting.length + notes.length === 1) return this.refuse(waiting, error)
    // One of them breaks a rule of the schema: one by one, so that strangers do not share its failure.
    for (const item of waiting) {
      const own = await this.write({ records: [item.record], notes: [], lastUsed: [] }, [item])
      if (own) this.refuse([item], own)
    }
    for (const note of notes) {
      const own = await this.write({ records: [], notes: [note], lastUsed: [] }, [])
      if (own) this.options.onTrouble('note', own.message)
    }
  }

  /** Writes one group and settles its records when it is committed. Gives the error when it surely was not written. */
  private async write(group: Group, waiting: readonly Waiting[]): Promise<DatabaseError | null> {
    const number = ++this.groups
    let abandoned = false
    const { promise: fate, resolve: decide } = Promise.withResolvers<'committed' | 'refused'>()
    const patience = setTimeout(() => {
      abandoned = true
      for (const item of waiting) item.settle({ kind: 'unknown', fate })
    }, this.options.patienceMs)
    const error = await this.attempt(number, group)
    clearTimeout(patience)
    decide(error ? 'refused' : 'committed')
    if (!error) for (const item of waiting) item.settle({ kind: 'committed' })
    // What was abandoned has its answer from `fate`; it must not be tried again under the same id.
    return abandoned ? null : error
  }

  private async attempt(number: number, group: Group): Promise<DatabaseError | null> {
    try {
      await this.options.writes.group(number, groupStatements(group))
      return null
    } catch (error) {
      const problem =
        error instanceof DatabaseError ? error : new DatabaseError({ message: String(error), code: 'UNKNOWN' })
      if (problem.isLostOwnership) this.options.onLostOwnership()
      if (problem.isConstraint) return problem
      this.options.onTrouble('commit', problem.message)
      return (await this.wasCommitted(number)) ? null : problem
    }
  }

  /** After an error that may have come later than the commit: asks until the database tells. */
  private async wasCommitted(number: number): Promise<boolean> {
    for (;;) {
      try {
        return (await this.options.lastGroup()) >= number
      } catch (error) {
        this.options.onTrouble('fate', error instanceof Error ? error.message : String(error))
        await new Promise((resolve) => setTimeout(resolve, FATE_RETRY_MS))
      }
    }
  }

  private refuse(waiting: readonly Waiting[], error: DatabaseError): void {
    for (const item of waiting) item.settle({ kind: 'refused', reason: error.message, constraint: error.isConstraint })
  }
}
