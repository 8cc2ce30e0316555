import type { KeyId } from '../../../../core/ids'
import type { CallRecord } from '../../../../core/usage/call-record'
import { BestEffortWrites } from '../driver/best-effort-writes'
import { DatabaseError, databaseError } from '../driver/worker-connection'
import type { LogRange } from '../driver/worker-wire'
import type { WriteQueue } from '../driver/write-queue'
import type { Group } from './group-statements'

/** A group that is durable in the log, behind those before it. */
export interface SyncedGroup {
  readonly number: number
  /** How many it has. */
  readonly records: number
  readonly bytes: number
}

export interface ApplierOptions {
  /** The path of the log. */
  readonly log: string
  readonly writes: Pick<WriteQueue, 'apply'>
  readonly lastApplied: number
  /** What cannot be mended here. The process must end; the log keeps everything. */
  readonly onFatal: (reason: string) => void
  readonly onTrouble: (what: string, reason: string) => void
  /** How long a group may wait for others to be applied with. */
  readonly delayMs?: number
}

type Asides = Pick<Group, 'notes' | 'lastUsed'>

const DELAY_MS = 200
/**
 * Most records of one batch, and as many as it waits for. Others wait for a batch: it is some 15 ms of the processor. Half of it
 * would cost a charge a tenth more, for the pages that two charges share are written once.
 */
const BATCH = 1024
const MAX_NOTES = 512
const RETRY_MS = 500
const MAX_RETRY_MS = 8000

/**
 * Has the tables follow the log in small batches. It knows only how far the log is on the disk; the writing connection's thread
 * reads it from there (`table-follower.ts`), and keeps the number of the last group in the transaction of its rows, so that a
 * batch whose end nobody heard of is passed over when it is asked for again.
 *
 * Batches that go to the tables directly may fall anywhere between, because the two commute. A direct one only opens
 * accounts, adds money or changes settings, and a logged one only adds to rows. A charge was covered by what its account had
 * when it was logged, all of which is in the tables already or stands before it in the log; so at every point of the log no
 * balance is below zero (CHECK account_posted_not_negative), and more money from beside it cannot change that.
 */
export class Applier {
  private readonly options: ApplierOptions
  private readonly asides = new BestEffortWrites()
  /**
   * How many bytes were ever synced, how many of them the tables have, and how many stood before the log's front when it was last
   * emptied. They only grow, so that a round which outlasts an emptying does not take its end for one of the new log.
   */
  private synced = 0
  private appliedTo = 0
  private front = 0
  private last: number
  /** Records that came since the last round began. */
  private waiting = 0
  private timer: ReturnType<typeof setTimeout> | null = null
  private round: Promise<DatabaseError | null> | null = null
  /** Those who wait until a batch has ended. */
  private steps: (() => void)[] = []
  private failures = 0
  private dead: DatabaseError | null = null

  constructor(options: ApplierOptions) {
    this.options = options
    this.last = options.lastApplied
  }

  get lastApplied(): number {
    return this.last
  }

  get unappliedBytes(): number {
    return this.synced - this.appliedTo
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
    this.synced += group.bytes
    this.waiting += group.records
    this.schedule()
  }

  /** The log begins at its front again. Only when all of it is applied. */
  emptied(): void {
    this.front = this.synced
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

  /** Resolves when a batch has ended, well or badly; at once when there is nothing to apply. */
  async step(): Promise<void> {
    if (this.unappliedBytes === 0 || this.isBehind) return
    const ended = new Promise<void>((resolve) => this.steps.push(resolve))
    void this.start()
    await ended
  }

  /** No more rounds of its own accord. What is not applied stays in the log. */
  stop(): void {
    if (this.timer) clearTimeout(this.timer)
    this.timer = null
    this.dead ??= new DatabaseError({ message: 'the applier was stopped', code: 'STOPPED' })
  }

  private get isWaiting(): boolean {
    return this.unappliedBytes + this.asides.waiting > 0
  }

  private schedule(): void {
    if (this.round !== null || this.dead) return
    if (this.waiting >= BATCH && this.failures === 0) return void this.start()
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
    const end = this.synced
    const asides = this.asides.waiting
    this.waiting = 0
    for (let taken = 0; this.appliedTo < end || taken < asides; taken += MAX_NOTES) {
      const error = await this.apply(end, this.asides.take(MAX_NOTES))
      if (error) return error
    }
    return null
  }

  private async apply(end: number, asides: Asides): Promise<DatabaseError | null> {
    const { front, appliedTo } = this
    const log = appliedTo < end ? { path: this.options.log, from: appliedTo - front, to: end - front } : null
    let error = await this.attempt(log, asides)
    if (error?.isConstraint && asides.notes.length > 0) {
      // Perhaps a note breaks a rule: the charges alone, and then each note for itself.
      error = log ? await this.attempt(log, null) : null
      if (!error) await this.oneByOne(asides)
    } else if (error) this.asides.dropped += asides.notes.length
    if (error?.isConstraint && log)
      this.end(`charges that were acknowledged cannot be applied, the log keeps them: ${error.message}`, error)
    return log ? error : null
  }

  private async oneByOne({ notes, lastUsed }: Asides): Promise<void> {
    for (const note of notes) if (await this.attempt(null, { notes: [note], lastUsed: [] })) this.asides.dropped++
    if (lastUsed.length > 0) await this.attempt(null, { notes: [], lastUsed })
  }

  private async attempt(log: LogRange | null, asides: Asides | null): Promise<DatabaseError | null> {
    const some = asides && asides.notes.length + asides.lastUsed.length > 0
    try {
      const { group, end } = await this.options.writes.apply({
        log,
        maxRecords: BATCH,
        asides: some ? JSON.stringify(asides) : null,
      })
      this.last = group
      if (end !== null) this.appliedTo = this.front + end
      return null
    } catch (thrown) {
      const error = databaseError(thrown)
      if (error.isLostOwnership) this.end('another process owns the database now', error)
      else if (error.isLogDamaged)
        this.end(`charges that were acknowledged cannot be read back: ${error.message}`, error)
      else if (!error.isConstraint) this.options.onTrouble('apply', error.message)
      return error
    } finally {
      for (const resolve of this.steps.splice(0)) resolve()
    }
  }

  private end(reason: string, error: DatabaseError): void {
    if (this.dead) return
    this.dead = error
    this.options.onFatal(reason)
  }
}
