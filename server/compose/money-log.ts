import type { EntryKind } from '../core/ledger/entry'
import type { Journal, JournalRecord } from '../core/ledger/journal'
import { formatUsd } from '../core/money'
import type { Log } from '../log'

/** Charges are too many for the log, and have lines or rows of their own. */
const LOGGED: ReadonlySet<EntryKind> = new Set(['top_up', 'refund', 'dispute', 'grant', 'payment'])

/** A journal that logs, once they are durable, new accounts and money that comes or goes. Charges cost it two comparisons. */
export function moneyLog(journal: Journal, log: Pick<Log, 'info'>): Journal {
  return {
    append(record) {
      const outcome = journal.append(record)
      const [entry] = record.entries
      if (record.opening || (entry && LOGGED.has(entry.kind)))
        void outcome.then(({ kind }) => {
          if (kind === 'committed') write(record, log)
        })
      return outcome
    },
    note: (call) => journal.note(call),
  }
}

function write({ opening, entries }: JournalRecord, log: Pick<Log, 'info'>): void {
  if (opening) log.info('an account was opened', { account: opening.id })
  for (const { kind, accountId, amount, debit } of entries) {
    if (!LOGGED.has(kind)) continue
    const account = accountId === null ? {} : { account: accountId }
    // A dispute that was won gives the money back.
    log.info('money', { kind, ...account, usd: formatUsd(amount), from: debit.split('/').at(-1) })
  }
}
