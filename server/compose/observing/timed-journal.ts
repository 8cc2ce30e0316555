import type { Journal } from '../../core/ledger/journal'
import type { RecentLatencies } from '../../core/usage/recent-latencies'

/** A journal that counts the latency of each call with its row: a charge when it is committed. The same journal where none are counted. */
export function timedJournal(journal: Journal, latencies: RecentLatencies | null): Journal {
  if (!latencies) return journal
  return {
    append(record) {
      const outcome = journal.append(record)
      const { call } = record
      if (call)
        void outcome.then(({ kind }) => {
          if (kind === 'committed') latencies.add(call)
        })
      return outcome
    },
    note(call) {
      journal.note(call)
      latencies.add(call)
    },
  }
}
