import { reasonOf } from '../../../../core/result'
import type { LogApplier } from './log-applier'
import type { LogFile } from './log-file'

/**
 * Ends the process when another hand damaged its log: no more charges are taken, those that were acknowledged go from memory to the
 * tables, and the damaged log is kept next to an empty one, so that the next start finds nothing missing.
 */
export class LogRescuer {
  private readonly log: Pick<LogFile, 'halt' | 'setAside'>
  private readonly applier: Pick<LogApplier, 'rescue'>
  private readonly onFatal: (reason: string) => void
  private begun = false

  constructor(parts: { log: LogRescuer['log']; applier: LogRescuer['applier']; onFatal: (reason: string) => void }) {
    this.log = parts.log
    this.applier = parts.applier
    this.onFatal = parts.onFatal
  }

  async rescue(damage: string): Promise<void> {
    if (this.begun) return
    this.begun = true
    try {
      await this.log.halt(`the log is damaged: ${damage}`)
      await this.applier.rescue()
      const copy = await this.log.setAside()
      this.onFatal(
        `the log is damaged: ${damage}. Every charge that was answered is in the database now; what was left of the log is ${copy}. Start the gateway again.`,
      )
    } catch (error) {
      const reason = reasonOf(error)
      this.onFatal(
        `the log is damaged: ${damage}. Charges that were acknowledged could not be written to the database: ${reason}`,
      )
    }
  }
}
