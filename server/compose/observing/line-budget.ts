import { MINUTE_MS, SECOND_MS } from '../../core/clock'

/** Lines per second and key. A flood of one key does not hide the others. */
const LINES_PER_SECOND = 10
const SUMMARY_MS = MINUTE_MS

interface Budget {
  since: number
  lines: number
  /** The lines that were not written since the last summary. */
  unwritten: number
}

/**
 * Says whether a line may be written. Above a rate per key lines are only counted, and the counts are reported once a minute. Keys are of a fixed
 * set, so this stays small.
 */
export class LineBudget {
  private readonly report: (key: string, count: number) => void
  private readonly now: () => number
  private readonly perSecond: number
  private readonly budgets = new Map<string, Budget>()
  private timer: ReturnType<typeof setTimeout> | null = null

  /** `now` must be monotonic. With `perSecond` 0, every line is counted. */
  constructor(
    report: (key: string, count: number) => void,
    now: () => number = () => performance.now(),
    perSecond = LINES_PER_SECOND,
  ) {
    this.report = report
    this.now = now
    this.perSecond = perSecond
  }

  /** Whether a line of this key may be written now; otherwise it is counted. */
  take(key: string): boolean {
    const now = this.now()
    const budget = this.budgets.get(key) ?? { since: now, lines: 0, unwritten: 0 }
    this.budgets.set(key, budget)
    if (now - budget.since >= SECOND_MS) {
      budget.since = now
      budget.lines = 0
    }
    if (budget.lines < this.perSecond) {
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

  /** Reports the counts of what was not written. Call it before the process ends. */
  summarize(): void {
    if (this.timer) clearTimeout(this.timer)
    this.timer = null
    for (const [key, budget] of this.budgets) {
      if (budget.unwritten > 0) this.report(key, budget.unwritten)
      budget.unwritten = 0
    }
  }
}
