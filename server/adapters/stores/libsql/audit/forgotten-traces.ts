import { and, type Column, eq, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { AccountId } from '../../../../core/ids'
import { auditLog } from '../schema/accounts'

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
