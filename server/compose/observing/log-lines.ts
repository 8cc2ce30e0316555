import type { OperatorActs } from '../../core/audit'
import { MINUTE_MS, SECOND_MS } from '../../core/clock'
import type { EntryKind } from '../../core/ledger/entry'
import type { JournalObserver, JournalRecord } from '../../core/ledger/journal'
import { formatUsd } from '../../core/money'
import { reasonOf } from '../../core/result'
import type { EndedCall } from '../../core/telemetry/ended-call'
import type { OnFault } from '../../http/middleware/response/failures'
import { startJob } from '../../jobs/job'
import type { Log } from '../../log'
import type { PipelineDeps } from '../../pipeline/paid-call'

/** Lines per second and key. A flood of one key does not hide the others. */
const LINES_PER_SECOND = 10
const SUMMARY_MS = MINUTE_MS
/** How often the audit log is read. */
const ACTS_MS = 2 * SECOND_MS

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

/** Charges are too many for the log, and have lines or rows of their own. */
const LOGGED: ReadonlySet<EntryKind> = new Set([
  'top_up',
  'refund',
  'dispute',
  'grant',
  'payment',
  'debit',
  'charge_refund',
])
const OPENING = 'an account was opened'

/**
 * Logs, once they are durable, new accounts and money that comes or goes. Charges cost it two comparisons. Of each kind ten lines are
 * written per second; the rest is counted.
 */
export class MoneyLog implements JournalObserver {
  private readonly log: Pick<Log, 'info'>
  private readonly lines: LineBudget

  /** `now` must be monotonic. */
  constructor(log: Pick<Log, 'info'>, now?: () => number) {
    this.log = log
    this.lines = new LineBudget((kind, count) => log.info('more of the same', { what: kind, count }), now)
  }

  committed(record: JournalRecord): void {
    const [entry] = record.entries
    if (record.opening || (entry && LOGGED.has(entry.kind))) this.write(record)
  }

  /** Writes the counts of what was not logged one by one. */
  summarize(): void {
    this.lines.summarize()
  }

  private write({ opening, entries }: JournalRecord): void {
    if (opening && this.lines.take(OPENING)) this.log.info('an account was opened', { account: opening.id })
    for (const { kind, accountId, amount, debit } of entries) {
      if (!LOGGED.has(kind) || !this.lines.take(kind)) continue
      const account = accountId === null ? {} : { account: accountId }
      // A dispute that was won gives the money back.
      this.log.info('money', { kind, ...account, usd: formatUsd(amount), from: debit.split('/').at(-1) })
    }
  }
}

/**
 * Logs each act of an operator or of support once. It follows the audit log, so that it has whatever is audited, by page, route or command,
 * and nothing that failed.
 */
export async function openOperatorLog(acts: OperatorActs, log: Log) {
  // The process before logged what came before.
  let { position } = await acts.after(null)
  const lines = new LineBudget((action, count) => log.info('more of the same', { what: action, count }))
  const follow = async () => {
    const read = await acts.after(position)
    position = read.position
    for (const { id, action, actor, accountId, keyId } of read.acts) {
      if (!lines.take(action)) continue
      const about = { ...(accountId && { account: accountId }), ...(keyId && { key: keyId }) }
      log.info('an operator acted', { action, by: actor.id, ...about, audit: id })
    }
  }
  const job = startJob(follow, {
    everyMs: ACTS_MS,
    onError: (error) => log.warn('the audit log could not be read for the log', { reason: reasonOf(error) }),
  })
  return {
    /** Reads to the end first. */
    async close() {
      await job.run()
      await job.close()
      lines.summarize()
    },
  }
}

/** Logs what made a request fail that should not have. */
export function faultLog(log: Log): OnFault {
  return (requestId, error) => log.error('request failed', { requestId, reason: stackOf(error) })
}

/** The stack of an error's cause, without the parameters of a failed SQL statement. */
function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause instanceof Error ? error.cause : error
  return cause.stack ?? cause.message
}

/** The lines of trouble with an upstream, and of a cost above what was held. */
export function troubleLog(log: Log): Pick<PipelineDeps, 'onTrouble' | 'onOverrun'> {
  return {
    onTrouble: (provider, reason) => log.warn('upstream', { provider, reason }),
    onOverrun: (requestId, model, amount) =>
      log.error('a model call cost more than was held; the gateway bears the difference', {
        requestId,
        model,
        usd: formatUsd(amount),
      }),
  }
}
