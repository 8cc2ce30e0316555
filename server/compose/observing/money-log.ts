import type { EntryKind } from '../../core/ledger/entry'
import type { JournalObserver, JournalRecord } from '../../core/ledger/journal'
import { formatUsd } from '../../core/money'
import type { Log } from '../../log'
import { LineBudget } from './line-budget'

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
