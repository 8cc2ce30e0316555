import type { JournalObserver } from '../ledger/journal'
import type { EventPublisher } from './live-events'

/**
 * Publishes an account's calls and money movements once they are durable. All of them pass through the journal, so nothing else needs to
 * publish them. Without a follower of the account, it costs one look-up per record.
 */
export function journalEvents(events: EventPublisher): JournalObserver {
  return {
    committed({ call, change, entries }) {
      const accountId = call?.accountId ?? change?.accountId
      if (!accountId || !events.isFollowed(accountId)) return
      if (call) events.publish(call.accountId, { type: 'call', call })
      if (!change) return
      events.publish(change.accountId, { type: 'balance' })
      if (change.toppedUp !== 0) events.publish(change.accountId, { type: 'tier' })
      if (entries.some((entry) => entry.kind === 'top_up'))
        events.publish(change.accountId, { type: 'topup', id: null })
    },
    noted(call) {
      events.publish(call.accountId, { type: 'call', call })
    },
  }
}
