import { SECOND_MS } from '../core/clock'
import type { EndedCall } from '../core/telemetry/ended-call'
import type { Log } from '../log'

/** Lines per second and code. A flood of one code does not hide the others. */
const LINES_PER_SECOND = 10
const SUMMARY_MS = 60_000

interface Budget {
  since: number
  lines: number
  /** Calls that were not logged since the last summary. */
  unwritten: number
}

/**
 * Logs one line per call that was refused or failed: its id, operation, code, upstream and duration. Above a rate per code calls are only
 * counted, and the counts are written once a minute. The codes are a fixed set, so this stays small.
 */
export class CallLog {
  private readonly log: Pick<Log, 'info'>
  private readonly now: () => number
  private readonly budgets = new Map<string, Budget>()
  private timer: ReturnType<typeof setTimeout> | null = null

  /** `now` must be monotonic. */
  constructor(log: Pick<Log, 'info'>, now: () => number = () => performance.now()) {
    this.log = log
    this.now = now
  }

  callEnded({ id, operation, status, code, upstream, ms }: EndedCall): void {
    if (code === null || status < 400) return
    if (!this.mayWrite(code)) return
    const more = upstream === null ? {} : { upstream }
    this.log.info(status < 500 ? 'call refused' : 'call failed', { id, operation, code, ...more, ms: Math.round(ms) })
  }

  /** Writes the counts of calls that were not logged one by one. */
  summarize(): void {
    if (this.timer) clearTimeout(this.timer)
    this.timer = null
    for (const [code, budget] of this.budgets) {
      if (budget.unwritten > 0) this.log.info('more calls were refused or failed', { code, calls: budget.unwritten })
      budget.unwritten = 0
    }
  }

  private mayWrite(code: string): boolean {
    const now = this.now()
    const budget = this.budgets.get(code) ?? { since: now, lines: 0, unwritten: 0 }
    this.budgets.set(code, budget)
    if (now - budget.since >= SECOND_MS) {
      budget.since = now
      budget.lines = 0
    }
    if (budget.lines < LINES_PER_SECOND) {
      budget.lines++
      return true
    }
    budget.unwritten++
    if (!this.timer) {
      this.timer = setTimeout(() => this.summarize(), SUMMARY_MS)
      this.timer.unref()
    }
    return false
  }
}
