import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { NewEvent } from '../../../../core/webhooks/event'
import { events } from '../schema/events'

/** Adds events to the outbox of a database. Idempotent: one that is there stays as it is. */
export async function addEvents(db: LibSQLDatabase, added: readonly NewEvent[]): Promise<void> {
  if (added.length > 0)
    await db
      .insert(events)
      .values([...added])
      .onConflictDoNothing()
}
