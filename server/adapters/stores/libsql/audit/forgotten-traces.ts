import { and, type Column, eq, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { AccountId } from '../../../../core/ids'
import { auditLog } from '../schema/accounts'
import { events } from '../schema/events'

const without = (column: Column) =>
  sql`json_remove(${column}, '$.email', '$.from', '$.to', '$.name', '$.note', '$.tags', '$.reason', '$.allowedIps')`

/** The statements that take from the audit log who the owner of a closed account is. */
export function forgottenTraces(db: LibSQLDatabase, account: AccountId) {
  const ofAccount = eq(auditLog.accountId, account)
  return [
    db
      .update(auditLog)
      .set({ address: null, detail: without(auditLog.detail), before: without(auditLog.before) })
      .where(ofAccount),
    db
      .update(auditLog)
      .set({ detail: {}, before: null })
      .where(and(ofAccount, eq(auditLog.action, 'account.email'))),
  ] as const
}

/** The same in a control database that is not the account's own, with the events that it has of the account. */
export function forgetInControl(db: LibSQLDatabase) {
  return async (account: AccountId): Promise<void> => {
    await db.batch([...forgottenTraces(db, account), db.delete(events).where(eq(events.accountId, account))])
  }
}
