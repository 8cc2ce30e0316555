import { asc, inArray, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { EventType } from '../../../../core/webhooks/event'
import type { EventSource } from '../../../../core/webhooks/event-moves'
import { events } from '../schema/events'

/** The outbox of a control database that is not the accounts' own: triggers there write events for operators. */
export class LibsqlControlEvents implements EventSource {
  private readonly db: LibSQLDatabase

  constructor(db: LibSQLDatabase) {
    this.db = db
  }

  async waiting(limit: number): ReturnType<EventSource['waiting']> {
    // Word for word the condition of the index of events that wait.
    const isWaiting = sql`${events.dispatched} = 0`
    const rows = await this.db.select().from(events).where(isWaiting).orderBy(asc(events.seq)).limit(limit)
    // Triggers write no other types.
    return rows.map(({ dispatched: _, mailed: __, ...event }) => ({ ...event, type: event.type as EventType }))
  }

  async moved(moved: Parameters<EventSource['moved']>[0]): Promise<void> {
    const seqs = moved.map(({ seq }) => seq)
    await this.db.update(events).set({ dispatched: true, mailed: true }).where(inArray(events.seq, seqs))
  }
}
