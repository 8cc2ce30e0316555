import type { Stores } from '../adapters/stores/libsql/stores'
import type { LoadedHolds } from '../adapters/stores/memory/loaded-holds'
import { SETTLE_AFTER_MS } from '../adapters/workers/session'
import type { Config } from '../config'
import type { Clock } from '../core/clock'
import type { EventPublisher, LiveEvents } from '../core/events/live-events'
import type { JournalObserver } from '../core/ledger/journal'
import { KeptStreams } from '../core/ledger/kept-streams'
import { Ledger } from '../core/ledger/ledger'
import { StuckRecords } from '../core/ledger/stuck-records'
import { WatchedJournal } from '../core/ledger/watched-journal'
import type { RecentLatencies } from '../core/usage/recent-latencies'
import type { Log } from '../log'
import { MoneyLog } from './observing/log-lines'
import { eventWriter } from './webhooks'

interface LedgerNeeds {
  readonly stores: Stores
  readonly holds: LoadedHolds
  readonly events: LiveEvents
  readonly clock: Clock
  /** Monotonic. */
  readonly stopwatch: Clock
  readonly log: Log
  /** Null without metrics. */
  readonly latencies: RecentLatencies | null
}

/** The ledger and its journal. Settles the streams that the previous owner left unfinished. */
export async function composeLedger(
  { workersListener }: Pick<Config, 'workersListener'>,
  { stores, holds, events, clock, stopwatch, log, latencies }: LedgerNeeds,
) {
  const money = new MoneyLog(log)
  const observers = [journalEvents(events), money, ...(latencies ? [latencyObserver(latencies)] : [])]
  const journal = new WatchedJournal(stores.journal, () => stopwatch.now(), stores.reserve, observers, stores.logCopy)
  const writeEvent = eventWriter(stores.webhooks, clock, log)
  const onReversalFailure = (request: string, reason: string) => {
    log.error('a charge could not be reversed', { request, reason })
    writeEvent('ledger.alarm', request, { request_id: request, reason })
  }
  const ledger = new Ledger({ holds, journal, bookings: stores.bookings, clock, onReversalFailure })
  const kept = new KeptStreams(await stores.restoreHolds(), async (durable) => {
    if (!(await ledger.settleDurable(durable)))
      onReversalFailure(durable.call.id, 'an unfinished stream could not be charged')
  })
  // A worker of another machine may go on with what it began under the process before, and comes back within its lease.
  await kept.settleAfter(workersListener ? SETTLE_AFTER_MS : 0)
  return {
    ledger,
    kept,
    journal,
    money,
    /** The same journal, which knows whether charges can be committed. */
    charges: journal,
    stuck: new StuckRecords({ store: stores.stuck, journal, holds, clock }),
    /** Writes an event that no commit causes. */
    writeEvent,
  }
}

/** Counts a charge when it is committed, and any other call with its row. */
function latencyObserver(latencies: RecentLatencies): JournalObserver {
  return {
    committed({ call }) {
      if (call) latencies.add(call)
    },
    noted: (call) => latencies.add(call),
  }
}

/**
 * Publishes an account's calls and money movements once they are durable. All of them pass through the journal, so nothing else needs to
 * publish them. Without a follower of the account, it costs one look-up per record.
 */
function journalEvents(events: EventPublisher): JournalObserver {
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
