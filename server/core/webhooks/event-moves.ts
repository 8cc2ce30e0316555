import { type Clock, DAY_MS } from '../clock'
import type { NewEvent } from './event'
import type { WebhookStore } from './webhook'

const AT_ONCE = 100
/** Less than the days that an event's row stays at least: as long as both databases have it, it is one event. */
const LOOK_BACK_MS = 6 * DAY_MS

export interface NumberedEvent extends NewEvent {
  readonly seq: number
}

/** The outbox of another database. */
export interface EventSource {
  /** The oldest that concern this cell, after a number and since a time. */
  after(seq: number, since: number, limit: number): Promise<readonly NumberedEvent[]>
}

/**
 * Copies events from one outbox to another, in order. After a start the last days are copied again: an event that is there already stays one,
 * because its id is the same.
 */
export class EventCopies {
  private readonly from: EventSource
  private readonly to: Pick<WebhookStore, 'addEvents'>
  private readonly clock: Clock
  private copied = 0

  constructor(from: EventSource, to: Pick<WebhookStore, 'addEvents'>, clock: Clock) {
    this.from = from
    this.to = to
    this.clock = clock
  }

  /** Copies all that are new. */
  async run(): Promise<void> {
    for (;;) {
      const events = await this.from.after(this.copied, this.clock.now() - LOOK_BACK_MS, AT_ONCE)
      await this.to.addEvents(events.map(({ seq: _, ...event }) => event))
      this.copied = events.at(-1)?.seq ?? this.copied
      if (events.length < AT_ONCE) return
    }
  }
}
