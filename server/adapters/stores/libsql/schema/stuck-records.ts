import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId, RequestId, StuckId } from '../../../../core/ids'
import type { JournalRecord } from '../../../../core/ledger/journal'
import type { StuckRecord } from '../../../../core/ledger/stuck-record'
import { instant } from '../driver/columns'

/**
 * Records of the journal that break a rule of the other tables, until an operator decides. A trigger makes `ledger.alarm` of each. No
 * foreign keys: the account or the call may be what is missing.
 */
export const stuckRecords = sqliteTable(
  'stuck_records',
  {
    seq: integer().primaryKey({ autoIncrement: true }),
    id: text().$type<StuckId>().notNull().unique('stuck_records_id'),
    /** When the record was made. */
    at: instant('at').notNull(),
    accountId: text('account_id').$type<AccountId>(),
    requestId: text('request_id').$type<RequestId>(),
    source: text().$type<StuckRecord['source']>().notNull(),
    /** The rule that it breaks, as the database names it. */
    reason: text().notNull(),
    record: text({ mode: 'json' }).$type<JournalRecord>().notNull(),
  },
  (table) => [index('stuck_records_request').on(table.requestId)],
)
