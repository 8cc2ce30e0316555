import { inTimeOrNull } from '../../../../core/in-time'
import { DatabaseError } from '../driver/worker/worker-connection'
import type { GroupSink, WriteEnd } from './group-sink'
import type { Group } from './group-statements'
import type { LogApplier } from './log-applier'
import type { LogFile } from './log-file'

/** A log larger than this is emptied as soon as little of it is left to apply. */
const EMPTY_ABOVE_BYTES = 32 * 1024 * 1024
/** About one batch. */
const LITTLE_BYTES = 512 * 1024
/** If more than this is not applied, groups wait for a batch, so that the tables never fall far behind. */
const LAG_BYTES = 4 * 1024 * 1024
/** The longest that a group waits for the tables. They may be stuck, which the log makes up for. */
const MAX_WAIT_MS = 50
/** While the database rejects writes, charges beyond this size are refused with 503, uncharged. */
const MAX_UNAPPLIED_BYTES = 256 * 1024 * 1024

/**
 * Writes a group as one line of the log: one write and one sync, then it is committed. The tables follow later. Accepts charges and
 * reversals only. Notes are written by the applier.
 */
export class LogSink implements GroupSink {
  private readonly log: Pick<LogFile, 'append' | 'empty' | 'size' | 'lastNumber'>
  private readonly applier: Pick<
    LogApplier,
    'add' | 'applied' | 'step' | 'emptied' | 'isBehind' | 'lastApplied' | 'unappliedBytes'
  >
  private readonly onTrouble: (what: string, reason: string) => void
  private readonly emptyAbove: number
  private readonly lag: number
  private readonly maxUnapplied: number

  constructor(
    parts: { log: LogSink['log']; applier: LogSink['applier']; onTrouble: LogSink['onTrouble'] },
    { emptyAbove = EMPTY_ABOVE_BYTES, lag = LAG_BYTES, maxUnapplied = MAX_UNAPPLIED_BYTES } = {},
  ) {
    this.log = parts.log
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
    const result = await this.log.append(payload)
    if (result.kind === 'lost') return 'lost'
    if (result.kind === 'refused') return this.refusal(result.reason)
    this.applier.add({ number: result.number, payload, records: records.length, bytes: result.bytes })
    return 'committed'
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
