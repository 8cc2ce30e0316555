import type { AccountId } from '../ids'
import type { LiveEvent } from './live-event'

/** The half that the rest of the service needs. */
export interface EventPublisher {
  /**
   * Tells whoever watches the account. Returns at once, never throws, and costs one look-up when nobody watches. Best effort:
   * an event is lost when its listener is gone or slow (it is then told that it missed some).
   */
  publish(accountId: AccountId, event: LiveEvent): void
  /** Whether anybody watches, for who would have to work to make the event. */
  isWatched(accountId: AccountId): boolean
}

/** Live events of accounts, from the parts that change something to the browsers that show it. */
export interface LiveEvents extends EventPublisher {
  /** Begins to listen; null when the account, or the process, has as many listeners as it may. */
  watch(accountId: AccountId): Watcher | null
  /** Ends every listener, for a process that stops. */
  end(): void
}

/** One listener. Holds a bounded number of events between two takes; of events that say the same, one. */
export interface Watcher {
  /** Resolves to what happened since the last take, at most `mostMs` from now (then to nothing), or to null once closed. */
  take(mostMs: number): Promise<readonly LiveEvent[] | null>
  /** Free to repeat. */
  close(): void
}
