import type { EndedCall } from '../../core/telemetry/ended-call'
import type { Log } from '../../log'
import { LineBudget } from './line-budget'

const PAYMENT_REQUIRED = 402

/**
 * Logs one line per call that was refused or failed: its id, operation, code, upstream and duration. Above a rate per code calls are only
 * counted, and the counts are written once a minute. Calls that were not paid for are only counted, by their reason: anybody can make them.
 */
export class CallLog {
  private readonly log: Pick<Log, 'info'>
  private readonly lines: LineBudget
  private readonly unpaid: LineBudget

  /** `now` must be monotonic. */
  constructor(log: Pick<Log, 'info'>, now?: () => number) {
    this.log = log
    this.lines = new LineBudget((code, calls) => log.info('more calls were refused or failed', { code, calls }), now)
    this.unpaid = new LineBudget(
      (code, calls) => log.info('calls were not paid for in the last minute', { code, calls }),
      now,
      0,
    )
  }

  callEnded({ id, operation, status, code, upstream, ms }: EndedCall): void {
    if (code === null || status < 400) return
    if (!(status === PAYMENT_REQUIRED ? this.unpaid : this.lines).take(code)) return
    const more = upstream === null ? {} : { upstream }
    this.log.info(status < 500 ? 'call refused' : 'call failed', { id, operation, code, ...more, ms: Math.round(ms) })
  }

  /** Writes the counts of calls that were not logged one by one. */
  summarize(): void {
    this.lines.summarize()
    this.unpaid.summarize()
  }
}
