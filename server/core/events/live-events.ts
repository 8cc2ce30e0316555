import type { AccountId } from '../ids'
import type { LiveEvent } from './live-event'

/** Publishes events. */
export interface EventPublisher {
  /**
   * Notifies everyone who watches the account. Returns at once and never throws. If nobody watches, it costs one look-up. Best
   * effort: a slow listener loses events and then gets `missed`.
   */
  publish(accountId: AccountId, event: LiveEvent): void
  /** Whether anyone watches. Check it before doing work to create an event. */
  isWatched(accountId: AccountId): boolean
}

/** Live events of accounts. */
export interface LiveEvents extends EventPublisher {
  /** Starts to listen. Null when the account or the process has reached its limit of listeners. */
  watch(accountId: AccountId): Watcher | null
  /** Closes all listeners, for shutdown. */
  end(): void
}

/** A listener. Buffers a limited number of events between two takes, without duplicates. */
export interface Watcher {
  /** Resolves to the events since the last take, to an empty list after `maxMs` without any, or to null once closed. */
  take(maxMs: number): Promise<readonly LiveEvent[] | null>
  /** Idempotent. */
  close(): void
}
