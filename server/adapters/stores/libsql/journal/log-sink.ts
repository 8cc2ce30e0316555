import { DatabaseError } from '../driver/worker-connection'
import type { GroupSink, WriteEnd } from './group-sink'
import type { Group } from './group-statements'
import type { Applier } from './log-applier'
import type { LogFile } from './log-file'

/** A log longer than this is emptied as soon as little of it is left to apply. */
const EMPTY_ABOVE_BYTES = 32 * 1024 * 1024
/** About one batch. */
const LITTLE_BYTES = 512 * 1024
/** A group waits for a batch of the tables when more than this is not applied, so that they never fall far behind. */
const LAG_BYTES = 4 * 1024 * 1024
/** No group waits longer than this for the tables: they may be stuck, and the log is there for that. */
const MAX_WAIT_MS = 50
/** More than this is not taken in while the database takes no writes: 503, uncharged. */
const MAX_UNAPPLIED_BYTES = 256 * 1024 * 1024

/**
 * Writes a group as one line of the log: one write and one sync, then it is committed. The tables follow behind. It takes
 * charges and reversals only, no notes: those go with the applier.
 */
export class LogSink implements GroupSink {
  private readonly log: Pick<LogFile, 'append' | 'empty' | 'size' | 'lastNumber'>
  private readonly applier: Pick<
    Applier,
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

  async write({ records }: Group): Promise<WriteEnd> {
    if (this.applier.unappliedBytes > this.maxUnapplied)
      return this.refusal('the log is full: the database takes no writes')
    if (!this.applier.isBehind) await this.keepUp()
    const result = await this.log.append(JSON.stringify(records))
    if (result.kind === 'lost') return 'lost'
    if (result.kind === 'refused') return this.refusal(result.reason)
    this.applier.add({ number: result.number, records: records.length, bytes: result.bytes })
    return 'committed'
  }

  private refusal(reason: string): DatabaseError {
    this.onTrouble('log', reason)
    return new DatabaseError({ message: reason, code: 'LOG' })
  }

  /** Between two appends, so that nothing comes between the last applied group and the emptying of the log. */
  private async keepUp(): Promise<void> {
    const isLong = this.log.size > this.emptyAbove
    if (this.applier.unappliedBytes > (isLong ? LITTLE_BYTES : this.lag)) await inTime(this.applier.step())
    if (!isLong || this.applier.unappliedBytes > LITTLE_BYTES) return
    await inTime(this.applier.applied().catch(() => undefined)) // told by the applier; the log grows on meanwhile
    if (this.applier.lastApplied !== this.log.lastNumber) return
    await this.log.empty()
    this.applier.emptied()
  }
}

async function inTime(work: Promise<void>): Promise<void> {
  const late = Promise.withResolvers<void>()
  const timer = setTimeout(late.resolve, MAX_WAIT_MS)
  await Promise.race([work, late.promise])
  clearTimeout(timer)
}
