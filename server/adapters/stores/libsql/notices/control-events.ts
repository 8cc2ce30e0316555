import { and, asc, eq, gt, gte, inArray, isNull, or, type SQL } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { CellName } from '../../../../core/cluster/cells'
import type { EventType, NewEvent } from '../../../../core/webhooks/event'
import type { EventSource } from '../../../../core/webhooks/event-moves'
import { accountDirectory } from '../schema/directory'
import { events } from '../schema/events'
import { addEvents } from './add-events'

/** Events for operators, who may be in any cell. */
export function eventsOfGateway(db: LibSQLDatabase): EventSource {
  return outbox(db, isNull(events.accountId))
}

/** The outbox of the control database, as far as it concerns the accounts and operators of a cell. */
export class LibsqlControlEvents implements EventSource {
  private readonly db: LibSQLDatabase
  readonly after: EventSource['after']

  constructor(db: LibSQLDatabase, cell: CellName) {
    this.db = db
    const { accountId } = accountDirectory
    const own = db.select({ accountId }).from(accountDirectory).where(eq(accountDirectory.cell, cell))
    this.after = outbox(db, or(isNull(events.accountId), inArray(events.accountId, own))).after
  }

  /** Adds events of a cell, for the operators of all others. */
  async addEvents(added: readonly NewEvent[]): Promise<void> {
    await addEvents(this.db, added)
  }
}

function outbox(db: LibSQLDatabase, which: SQL | undefined): EventSource {
  return {
    async after(seq, since, limit) {
      const isNew = and(gt(events.seq, seq), gte(events.at, since), which)
      const rows = await db.select().from(events).where(isNew).orderBy(asc(events.seq)).limit(limit)
      // Every type was written by this program or by a trigger.
      return rows.map(({ dispatched: _, mailed: __, ...event }) => ({ ...event, type: event.type as EventType }))
    },
  }
}
