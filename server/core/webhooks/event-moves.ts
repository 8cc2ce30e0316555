import type { NewEvent } from './event'
import type { WebhookStore } from './webhook'

const AT_ONCE = 100

interface WaitingEvent extends NewEvent {
  readonly seq: number
}

/** The outbox of a database whose events are sent from another one. */
export interface EventSource {
  /** The oldest that were not moved yet. */
  waiting(limit: number): Promise<readonly WaitingEvent[]>
  moved(events: readonly Pick<WaitingEvent, 'seq'>[]): Promise<void>
}

/** Moves all events that wait to the outbox of a cell, which sends them. After a crash some move again, and are one event there: the id is the same. */
export async function moveEvents(from: EventSource, to: Pick<WebhookStore, 'addEvents'>): Promise<void> {
  for (;;) {
    const events = await from.waiting(AT_ONCE)
    if (events.length === 0) return
    await to.addEvents(events.map(({ seq: _, ...event }) => event))
    await from.moved(events)
  }
}
