import type { Journal, JournalRecord } from '../ledger/journal'
import type { EventPublisher } from './live-events'

/**
 * A journal that publishes an account's calls and money movements once they are durable. All of them pass through a journal, so
 * nothing else needs to publish them. Without a follower of the account, it costs one look-up per append.
 */
export function announcedJournal(journal: Journal, events: EventPublisher): Journal {
  return {
    append(record) {
      const outcome = journal.append(record)
      const accountId = record.call?.accountId ?? record.change?.accountId
      if (accountId && events.isFollowed(accountId))
        void outcome.then(({ kind }) => {
          if (kind === 'committed') announce(record, events)
        })
      return outcome
    },
    note(call) {
      journal.note(call)
      events.publish(call.accountId, { type: 'call', call })
    },
  }
}

function announce({ call, change, entries }: JournalRecord, events: EventPublisher): void {
  if (call) events.publish(call.accountId, { type: 'call', call })
  if (!change) return
  events.publish(change.accountId, { type: 'balance' })
  if (change.toppedUp !== 0) events.publish(change.accountId, { type: 'tier' })
  if (entries.some((entry) => entry.kind === 'top_up')) events.publish(change.accountId, { type: 'topup', id: null })
}
