import type { KeyId } from '../../../../core/ids'
import type { CallRecord } from '../../../../core/usage/call-record'
import { BestEffortWrites } from '../driver/best-effort-writes'
import { DatabaseError, databaseError } from '../driver/worker/worker-connection'
import type { LogRange, UnappliedGroup, UnappliedGroups } from '../driver/worker-wire'
import type { WriteQueue } from '../driver/write-queue'
import { groupSize, MAX_GROUP_BYTES } from './group-size'
import type { Group } from './group-statements'

/** A group that is durable in the log, after the earlier ones. */
export interface SyncedGroup extends UnappliedGroup {
  /** The number of its records. */
  readonly records: number
  readonly bytes: number
}

export interface LogApplierOptions {
  /** The path of the log. */
  readonly log: string
  readonly writes: Pick<WriteQueue, 'apply'>
  readonly lastApplied: number
  /** The state of the stuck records (`STUCK_STATE`). */
  readonly stuck: string
  /** Called on an unrecoverable error. The process must end; the log keeps everything. */
  readonly onFatal: (reason: string) => void
  /** Records got stuck, or were decided. */
  readonly onStuck: () => void
  /** Synced groups cannot be read back. */
  readonly onDamage: (reason: string) => void
  readonly onTrouble: (what: string, reason: string) => void
  /** How long a group may wait for others, to be applied in one batch. */
  readonly delayMs?: number
}

type BestEffort = Pick<Group, 'notes' | 'lastUsed'>

const DELAY_MS = 200
/**
 * The maximum number of records per batch, and the number that a batch waits for. A batch takes some 15 ms of CPU, and other writes
 * wait for it. With half the size a charge would cost a tenth more, because pages that charges share are written once per batch.
 */
const BATCH = 1024
const MAX_NOTES = 512
const RETRY_MS = 500
const RESCUED_GROUPS = 256
const MAX_RETRY_MS = 8000

/**
 * Applies the log to the tables in small batches. It only tracks how far the log is on disk. The writer's thread reads it from there
 * (`table-follower.ts`) and stores the number of the last group in the same transaction as its rows, so that a batch with a lost
 * response is skipped when it is repeated.
 *
 * Direct writes to the tables may happen between batches, because the two commute. A direct write only opens accounts, adds money or
 * changes settings; a logged one only adds to rows. A charge was covered by the money that its account had when it was logged, all of
 * which is already in the tables or earlier in the log. So no balance is negative at any point of the log (CHECK
 * account_posted_not_negative), and additional money cannot change that.
 */
export class LogApplier {
  private readonly options: LogApplierOptions
  private readonly bestEffort = new BestEffortWrites()
  /** The groups that the tables lack, in the order of the log, in case that is damaged. The log sink bounds it. */
  private unapplied: (UnappliedGroup & { readonly since: number })[] = []
  /**
   * The total bytes ever synced, the total applied, and the total at which the log was last emptied. They only grow, so that a round
   * that runs while the log is emptied does not mistake its end for a position in the new log.
   */
  private synced = 0
  private appliedTo = 0
  private front = 0
  private last: number
  /** Records since the last round began. */
  private waiting = 0
  private timer: ReturnType<typeof setTimeout> | null = null
  private round: Promise<DatabaseError | null> | null = null
  /** Resolved when a batch has ended. */
  private steps: (() => void)[] = []
  private failures = 0
  private dead: DatabaseError | null = null
  private stuck: string

  constructor(options: LogApplierOptions) {
    this.options = options
    this.last = options.lastApplied
    this.stuck = options.stuck
  }

  get lastApplied(): number {
    return this.last
  }

  get unappliedBytes(): number {
    return this.synced - this.appliedTo
  }

  /** How long the oldest group has waited that is not in the tables. */
  get unappliedMs(): number {
    const [oldest] = this.unapplied
    return oldest ? performance.now() - oldest.since : 0
  }

  /** Whether the database currently rejects batches. */
  get isBehind(): boolean {
    return this.failures > 0 || this.dead !== null
  }

  get droppedNotes(): number {
    return this.bestEffort.dropped
  }

  /** In the order of the log. */
  add(group: SyncedGroup): void {
    this.synced += group.bytes
    this.waiting += group.records
    this.unapplied.push({ number: group.number, payload: group.payload, since: performance.now() })
    this.schedule()
  }

  /** Call when the log was emptied, which requires that all of it is applied. */
  emptied(): void {
    this.front = this.synced
  }

  note(call: CallRecord): void {
    this.bestEffort.note(call)
    this.schedule()
  }

  touch(key: KeyId, at: number): void {
    this.bestEffort.touch(key, at)
    this.schedule()
  }

  /** Resolves when everything so far is applied to the tables. Rejects when the database refuses it. */
  async applied(): Promise<void> {
    await this.round
    // Groups that arrived during that round are in the next one, which another caller may have started already.
    const error = this.round !== null || this.isWaiting ? await this.start() : null
    if (error) throw error
  }

  /** Resolves when a batch has ended, successfully or not; at once if there is nothing to apply. */
  async step(): Promise<void> {
    if (this.unappliedBytes === 0 || this.isBehind) return
    const ended = new Promise<void>((resolve) => this.steps.push(resolve))
    void this.start()
    await ended
  }

  /** Stops automatic rounds. Groups that are not applied stay in the log. */
  stop(): void {
    if (this.timer) clearTimeout(this.timer)
    this.timer = null
    this.dead ??= new DatabaseError({ message: 'the applier was stopped', code: 'STOPPED' })
  }

  /**
   * Applies from memory what the tables do not have yet, because the log is damaged. Nothing more may be added meanwhile, and no
   * round begins after it.
   */
  async rescue(): Promise<void> {
    this.stop()
    await this.round
    while (this.unapplied.length > 0) {
      const size = groupSize(this.unapplied, ({ payload }) => payload.length, RESCUED_GROUPS)
      const groups = this.unapplied.splice(0, size)
      const error = await this.attempt({ groups }, null)
      if (error) throw error
    }
  }

  private get isWaiting(): boolean {
    return this.unappliedBytes + this.bestEffort.waiting > 0
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

  /** Applies all waiting groups, oldest first. Returns the error that stopped it. */
  private async run(): Promise<DatabaseError | null> {
    if (this.dead) return this.dead
    const end = this.synced
    const waiting = this.bestEffort.waiting
    this.waiting = 0
    for (let taken = 0; this.appliedTo < end || taken < waiting; ) {
      const some = this.bestEffort.take(MAX_NOTES)
      taken += some.notes.length + some.lastUsed.length
      const error = await this.apply(end, some)
      if (error) return error
    }
    return null
  }

  private async apply(end: number, bestEffort: BestEffort): Promise<DatabaseError | null> {
    const { front, appliedTo } = this
    const log = appliedTo < end ? { path: this.options.log, from: appliedTo - front, to: end - front } : null
    let error = await this.attempt(log, bestEffort)
    if (error?.isConstraint && bestEffort.notes.length + bestEffort.lastUsed.length > 0) {
      // A note may violate a constraint: apply the charges without notes, and then each note separately. A charge that does is put aside.
      error = log ? await this.attempt(log, null) : null
      if (!error) await this.oneByOne(bestEffort)
    } else if (error) this.bestEffort.dropped += bestEffort.notes.length
    if (error?.isConstraint && log)
      this.end(`charges that were acknowledged cannot be applied, the log keeps them: ${error.message}`, error)
    return log ? error : null
  }

  private async oneByOne({ notes, lastUsed }: BestEffort): Promise<void> {
    for (const note of notes) if (await this.attempt(null, { notes: [note], lastUsed: [] })) this.bestEffort.dropped++
    if (lastUsed.length > 0) await this.attempt(null, { notes: [], lastUsed })
  }

  private async attempt(
    log: LogRange | UnappliedGroups | null,
    bestEffort: BestEffort | null,
  ): Promise<DatabaseError | null> {
    const some = bestEffort && bestEffort.notes.length + bestEffort.lastUsed.length > 0
    try {
      const { group, end, stuck } = await this.options.writes.apply({
        log,
        maxRecords: BATCH,
        maxBytes: MAX_GROUP_BYTES,
        bestEffort: some ? JSON.stringify(bestEffort) : null,
      })
      this.last = group
      this.forget(group)
      if (end !== null) this.appliedTo = this.front + end
      if (stuck !== this.stuck) this.options.onStuck()
      this.stuck = stuck
      return null
    } catch (thrown) {
      const error = databaseError(thrown)
      if (error.isLostOwnership) this.end('another process owns the database now', error)
      else if (error.isLogDamaged) this.options.onDamage(error.message)
      else if (!error.isConstraint) this.options.onTrouble('apply', error.message)
      return error
    } finally {
      for (const resolve of this.steps.splice(0)) resolve()
    }
  }

  private forget(applied: number): void {
    const left = this.unapplied.findIndex(({ number }) => number > applied)
    this.unapplied.splice(0, left < 0 ? this.unapplied.length : left)
  }

  private end(reason: string, error: DatabaseError): void {
    if (this.dead) return
    this.dead = error
    this.options.onFatal(reason)
  }
}
