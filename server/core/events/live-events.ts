import type { AccountId } from '../ids'
import type { LiveEvent } from './live-event'

/** Publishes events. */
export interface EventPublisher {
  /**
   * Notifies everyone who watches the account. Returns at once and never throws. Without a watcher, it costs one look-up. Best
   * effort: a slow listener loses events and then gets `missed`.
   */
  publish(accountId: AccountId, event: LiveEvent): void
  /** Whether anyone watches, or holds a mark to watch from. Check it before doing work to create an event. */
  isFollowed(accountId: AccountId): boolean
}

/** Live events of accounts. */
export interface LiveEvents extends EventPublisher {
  /** Marks this moment, for `watch`. Take it before you read what a page shows. */
  mark(accountId: AccountId): string
  /**
   * Starts to listen. With the mark of an earlier moment, the events since then come first; `missed` comes instead if they are no
   * longer known. Null when the account or the process has reached its limit of listeners.
   */
  watch(accountId: AccountId, since?: string): Watcher | null
  /** Closes all listeners, for shutdown. */
  end(): void
}

/** A listener. Buffers a limited number of events between two takes, without duplicates. */
export interface Watcher {
  /** The moment up to which events were taken. */
  readonly mark: string
  /** Resolves to the events since the last take, to an empty list after `maxMs` without any, or to null once closed. */
  take(maxMs: number): Promise<readonly LiveEvent[] | null>
  /** Idempotent. */
  close(): void
}
