import { and, asc, eq, gt, inArray, isNotNull, isNull, lt, lte, ne, or } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { idStart, type RequestId } from '../../../core/ids'
import { QUARTER_HOUR_MS } from '../../../core/usage/reports'
import type { PrunedTable, RetentionStore } from '../../../core/usage/retention'
import { auditLog } from './schema/accounts'
import { events, webhookDeliveries } from './schema/events'
import { pruned, requests } from './schema/usage'

/** The smallest id of a request. */
const FIRST = 'req_'

/** Removes old rows. Ids sort by time, so the oldest rows of a table come first in its primary key. */
export class LibsqlRetention implements RetentionStore {
  private readonly db: LibSQLDatabase

  constructor(db: LibSQLDatabase) {
    this.db = db
  }

  prune(table: PrunedTable, before: number, maxRows: number): Promise<boolean> {
    switch (table) {
      case 'requests':
        return this.pruneRequests(Math.floor(before / QUARTER_HOUR_MS) * QUARTER_HOUR_MS, maxRows)
      case 'audit_log':
        return this.pruneAudit(before, maxRows)
      case 'events':
        return this.pruneEvents(before, maxRows)
      case 'webhook_deliveries':
        return this.pruneDeliveries(before, maxRows)
    }
  }

  /**
   * Charged calls stay, so what was looked at is remembered. Deleted rows, the boundary that reports read, and the position are one
   * commit: after a crash the next step continues where the last one ended.
   */
  private async pruneRequests(before: number, maxRows: number): Promise<boolean> {
    const end = idStart('req', before)
    const [state] = await this.db.select().from(pruned).where(eq(pruned.name, 'requests'))
    // The clock was set back: rows that were made meanwhile are older than the position.
    const from = state && state.cursor < end ? state.cursor : state ? end : FIRST
    const rows = await this.db
      .select({ id: requests.id })
      .from(requests)
      .where(and(gt(requests.id, from as RequestId), lt(requests.id, end as RequestId)))
      .orderBy(asc(requests.id))
      .limit(maxRows)
    const last = rows.at(-1)?.id ?? from
    if (last === state?.cursor) return false
    // A row whose clock was ahead of its id is younger than it looks.
    const chosen = and(gt(requests.id, from as RequestId), lte(requests.id, last as RequestId), lt(requests.at, before))
    const { address, clientRequestId, failure } = requests
    const hasPersonal = or(ne(address, ''), isNotNull(clientRequestId), isNotNull(failure))
    const boundary = Math.max(state?.before ?? 0, before)
    await this.db.batch([
      this.db
        .insert(pruned)
        .values({ name: 'requests', before: boundary, cursor: last })
        .onConflictDoUpdate({ target: pruned.name, set: { before: boundary, cursor: last } }),
      this.db.delete(requests).where(and(chosen, isNull(requests.priceVersion))),
      this.db
        .update(requests)
        .set({ address: '', clientRequestId: null, failure: null })
        .where(and(chosen, isNotNull(requests.priceVersion), hasPersonal)),
    ])
    return rows.length === maxRows
  }

  private async pruneAudit(before: number, maxRows: number): Promise<boolean> {
    const oldest = this.db
      .select({ id: auditLog.id, at: auditLog.at })
      .from(auditLog)
      .orderBy(asc(auditLog.id))
      .limit(maxRows)
      .as('oldest')
    const old = this.db.select({ id: oldest.id }).from(oldest).where(lt(oldest.at, before))
    const { rowsAffected } = await this.db.delete(auditLog).where(inArray(auditLog.id, old))
    return rowsAffected === maxRows
  }

  /** Events that are still to be sent stay. They are left out first, so that they stop none behind them. */
  private async pruneEvents(before: number, maxRows: number): Promise<boolean> {
    const { seq, at, dispatched } = events
    const oldest = this.db
      .select({ seq, at })
      .from(events)
      .where(eq(dispatched, true))
      .orderBy(asc(seq))
      .limit(maxRows)
      .as('oldest')
    const old = this.db.select({ seq: oldest.seq }).from(oldest).where(lt(oldest.at, before))
    const { rowsAffected } = await this.db.delete(events).where(inArray(seq, old))
    return rowsAffected === maxRows
  }

  /** The same for deliveries: an owner may send old ones again. */
  private async pruneDeliveries(before: number, maxRows: number): Promise<boolean> {
    const { id, createdAt, state } = webhookDeliveries
    const oldest = this.db
      .select({ id, createdAt })
      .from(webhookDeliveries)
      .where(ne(state, 'pending'))
      .orderBy(asc(id))
      .limit(maxRows)
      .as('oldest')
    const old = this.db.select({ id: oldest.id }).from(oldest).where(lt(oldest.createdAt, before))
    const { rowsAffected } = await this.db.delete(webhookDeliveries).where(inArray(id, old))
    return rowsAffected === maxRows
  }
}
