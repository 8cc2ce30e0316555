import { and, eq, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { OperatorActs } from '../../../../core/audit'
import { auditLog } from '../schema/accounts'
import { auditEntryOf } from './audit-row'

const MAX_ROWS = 500

/** Reads the audit log in the order of commits, which its ids do not have after the clock was set. */
export function operatorActs(db: LibSQLDatabase): OperatorActs {
  const lastRow = async () => {
    const [last] = await db.select({ row: sql<number | null>`max(rowid)` }).from(auditLog)
    return last?.row ?? 0
  }
  return {
    async after(position) {
      const last = await lastRow()
      if (position === null || last <= position) return { acts: [], position: last }
      const rows = await db
        .select({ entry: auditLog, row: sql<number>`rowid` })
        .from(auditLog)
        .where(and(sql`rowid > ${position} AND rowid <= ${last}`, eq(auditLog.actorKind, 'operator')))
        .orderBy(sql`rowid`)
        .limit(MAX_ROWS)
      const acts = rows.map(({ entry }) => auditEntryOf(entry))
      return { acts, position: rows.length < MAX_ROWS ? last : (rows.at(-1)?.row ?? last) }
    },
  }
}
