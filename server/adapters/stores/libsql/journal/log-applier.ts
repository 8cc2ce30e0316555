import type { KeyId } from '../../../../core/ids'
import type { JournalRecord } from '../../../../core/ledger/journal'
import type { CallRecord } from '../../../../core/usage/call-record'
import { BestEffortWrites } from '../driver/best-effort-writes'
import { DatabaseError, databaseError } from '../driver/worker-connection'
import type { WriteQueue } from '../driver/write-queue'
import { type Group, groupStatements } from './group-statements'

/** A group that is durable in the log. */
export interface SyncedGroup {
  readonly number: number
  readonly records: readonly JournalRecord[]
  readonly bytes: number
}

export interface ApplierOptions {
  readonly writes: Pick<WriteQueue, 'apply'>
  /** The last group that the tables have; null when another process owns the database. Rejects when it does not answer. */
  readonly appliedGroup: () => Promise<number | null>
  readonly lastApplied: number
  /** What cannot be mended here. The process must end; the log keeps everything. */
  readonly onFatal: (reason: string) => void
  readonly onTrouble: (what: string, reason: string) => void
  /** How long a group may wait for others to be applied with. */
  readonly delayMs?: number
}

const DELAY_MS = 200
/** With so many records waiting, there is nothing more to win by waiting. */
const MANY = 2048
/** Most records of one batch: about 50 ms of the writer, which others wait for. */
const MAX_BATCH = 4096
const MAX_NOTES = 2048
const RETRY_MS = 500
const MAX_RETRY_MS = 8000

/**
 * Brings the tables up to date behind the log: many groups in one fenced batch, sums per row made beforehand, with the number
 * of the last one in the same transaction, so that a group is applied once whatever happens.
 *
 * Batches that go to the tables directly may fall anywhere between, because the two commute. A direct one only opens
 * accounts, adds money or changes settings, and a logged one only adds to rows. A charge was covered by what its account had
 * when it was logged, all of which is in the tables already or stands before it in the log; so at every point of the log no
 * balance is below zero (CHECK account_posted_not_negative), and more money from beside it cannot change that.
 */
export class Applier {
  private readonly options: ApplierOptions
  private readonly asides = new BestEffortWrites()
  private readonly groups: SyncedGroup[] = []
  private records = 0
  private last: number
  private bytes = 0
  private timer: ReturnType<typeof setTimeout> | null = null
  private round: Promise<DatabaseError | null> | null = null
  private failures = 0
  /** A batch failed in a way that may have come later than its commit. */
  private inDoubt = false
  private dead: DatabaseError | null = null

  constructor(options: ApplierOptions) {
    this.options = options
    this.last = options.lastApplied
  }

  get lastApplied(): number {
    return this.last
  }

  get unappliedBytes(): number {
    return this.bytes
  }

  /** Whether the database does not take what it should. */
  get isBehind(): boolean {
    return this.failures > 0 || this.dead !== null
  }

  get droppedNotes(): number {
    return this.asides.dropped
  }

  /** In the order of the log. */
  add(group: SyncedGroup): void {
    this.groups.push(group)
    this.records += group.records.length
    this.bytes += group.bytes
    this.schedule()
  }

  note(call: CallRecord): void {
    this.asides.note(call)
    this.schedule()
  }

  touch(key: KeyId, at: number): void {
    this.asides.touch(key, at)
    this.schedule()
  }

  /** Resolves when the tables have what was given so far; at once when nothing waits. Rejects when the database takes it not. */
  async applied(): Promise<void> {
    await this.round
    // What was given while that round ran is in the next one, which another reader may have begun already.
    const error = this.round !== null || this.isWaiting ? await this.start() : null
    if (error) throw error
  }

  /** No more rounds of its own accord. What is not applied stays in the log. */
  stop(): void {
    if (this.timer) clearTimeout(this.timer)
    this.timer = null
    this.dead ??= new DatabaseError({ message: 'the applier was stopped', code: 'STOPPED' })
  }

  private get isWaiting(): boolean {
    return this.groups.length + this.asides.waiting > 0
  }

  private schedule(): void {
    if (this.round !== null || this.dead) return
    if (this.records >= MANY && this.failures === 0) return void this.start()
    if (this.timer) return
    const retry = Math.min(RETRY_MS * 2 ** (this.failures - 1), MAX_RETRY_MS)
    this.timer = setTimeout(() => void this.start(), this.failures > 0 ? retry : (this.options.delayMs ?? DELAY_MS))
  }

  private start(): Promise<DatabaseError | null> {
    if (this.timer) clearTimeout(this.timer)
    this.timer = null
    this.round ??= this.run().then((error) => {
      this.round = null
      this.failures = error ? this.failures + 1 : 0
      if (this.isWaiting) this.schedule()
      return error
    })
    return this.round
  }

  /** Applies what waits now, oldest first. Gives what stopped it. */
  private async run(): Promise<DatabaseError | null> {
    if (this.dead) return this.dead
    const doubt = this.inDoubt ? await this.endDoubt() : null
    if (doubt) return doubt
    const end = this.groups.at(-1)?.number ?? this.last
    const asides = this.asides.waiting
    for (let taken = 0; this.last < end || taken < asides; taken += MAX_NOTES) {
      const error = await this.apply(this.batchUpTo(end), this.asides.take(MAX_NOTES))
      if (error) return error
    }
    return null
  }

  private batchUpTo(end: number): SyncedGroup[] {
    const batch: SyncedGroup[] = []
    let size = 0
    for (const group of this.groups) {
      size += group.records.length
      if (group.number > end || (batch.length > 0 && size > MAX_BATCH)) break
      batch.push(group)
    }
    return batch
  }

  private async apply(
    batch: readonly SyncedGroup[],
    asides: Pick<Group, 'notes' | 'lastUsed'>,
  ): Promise<DatabaseError | null> {
    const number = batch.at(-1)?.number ?? this.last
    const records = batch.flatMap((group) => group.records)
    let error = await this.attempt(number, { records, ...asides })
    if (error?.isConstraint && asides.notes.length > 0) {
      // Perhaps a note breaks a rule: the charges alone, and then each note for itself.
      error = batch.length > 0 ? await this.attempt(number, { records, notes: [], lastUsed: [] }) : null
      if (!error) await this.oneByOne(number, asides)
    } else if (error) this.asides.dropped += asides.notes.length
    if (!error) this.forget(number)
    else if (error.isConstraint && batch.length > 0)
      this.end(`charges that were acknowledged cannot be applied, the log keeps them: ${error.message}`, error)
    return batch.length > 0 ? error : null
  }

  private async oneByOne(number: number, { notes, lastUsed }: Pick<Group, 'notes' | 'lastUsed'>): Promise<void> {
    for (const note of notes)
      if (await this.attempt(number, { records: [], notes: [note], lastUsed: [] })) this.asides.dropped++
    if (lastUsed.length > 0) await this.attempt(number, { records: [], notes: [], lastUsed })
  }

  private async attempt(number: number, group: Group): Promise<DatabaseError | null> {
    try {
      await this.options.writes.apply(number, groupStatements(group))
      return null
    } catch (thrown) {
      const error = databaseError(thrown)
      if (error.isLostOwnership) this.end('another process owns the database now', error)
      else if (!error.isConstraint) {
        this.inDoubt ||= group.records.length > 0
        this.options.onTrouble('apply', error.message)
      }
      return error
    }
  }

  private async endDoubt(): Promise<DatabaseError | null> {
    try {
      const last = await this.options.appliedGroup()
      if (last === null) {
        const lost = new DatabaseError({ message: 'another process owns the database now', code: 'OWNER' })
        this.end(lost.message, lost)
        return lost
      }
      this.forget(last)
      this.inDoubt = false
      return null
    } catch (error) {
      this.options.onTrouble('apply', error instanceof Error ? error.message : String(error))
      return databaseError(error)
    }
  }

  /** Lets go of what is in the tables. */
  private forget(upTo: number): void {
    const cut = this.groups.findIndex((group) => group.number > upTo)
    for (const group of this.groups.splice(0, cut < 0 ? this.groups.length : cut)) {
      this.records -= group.records.length
      this.bytes -= group.bytes
    }
    this.last = Math.max(this.last, upTo)
  }

  private end(reason: string, error: DatabaseError): void {
    if (this.dead) return
    this.dead = error
    this.options.onFatal(reason)
  }
}
