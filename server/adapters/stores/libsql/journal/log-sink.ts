import { DatabaseError } from '../driver/worker-connection'
import type { GroupSink, WriteEnd } from './group-sink'
import type { Group } from './group-statements'
import type { Applier } from './log-applier'
import type { LogFile } from './log-file'

/** A log longer than this is emptied as soon as all of it is applied. */
const EMPTY_ABOVE_BYTES = 16 * 1024 * 1024
/** More than this is not taken in while the database takes no writes: 503, uncharged. */
const MAX_UNAPPLIED_BYTES = 256 * 1024 * 1024

/**
 * Writes a group as one line of the log: one write and one sync, then it is committed. The tables follow behind. It takes
 * charges and reversals only, no notes: those go with the applier.
 */
export class LogSink implements GroupSink {
  private readonly log: Pick<LogFile, 'append' | 'empty' | 'size' | 'lastNumber'>
  private readonly applier: Pick<Applier, 'add' | 'applied' | 'isBehind' | 'lastApplied' | 'unappliedBytes'>
  private readonly onTrouble: (what: string, reason: string) => void
  private readonly emptyAbove: number
  private readonly maxUnapplied: number

  constructor(
    parts: { log: LogSink['log']; applier: LogSink['applier']; onTrouble: LogSink['onTrouble'] },
    { emptyAbove = EMPTY_ABOVE_BYTES, maxUnapplied = MAX_UNAPPLIED_BYTES } = {},
  ) {
    this.log = parts.log
    this.applier = parts.applier
    this.onTrouble = parts.onTrouble
    this.emptyAbove = emptyAbove
    this.maxUnapplied = maxUnapplied
  }

  async write({ records }: Group): Promise<WriteEnd> {
    if (this.applier.unappliedBytes > this.maxUnapplied)
      return this.refusal('the log is full: the database takes no writes')
    if (this.log.size > this.emptyAbove && !this.applier.isBehind) await this.makeRoom()
    const result = await this.log.append(JSON.stringify(records))
    if (result.kind === 'lost') return 'lost'
    if (result.kind === 'refused') return this.refusal(result.reason)
    this.applier.add({ number: result.number, records, bytes: result.bytes })
    return 'committed'
  }

  private refusal(reason: string): DatabaseError {
    this.onTrouble('log', reason)
    return new DatabaseError({ message: reason, code: 'LOG' })
  }

  /** Between two appends, so that nothing comes between the last applied group and the emptying. */
  private async makeRoom(): Promise<void> {
    await this.applier.applied().catch(() => undefined) // told by the applier; the log grows on meanwhile
    if (this.applier.lastApplied === this.log.lastNumber) await this.log.empty()
  }
}
