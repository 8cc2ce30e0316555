import { index, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { IdempotencyState } from '../../../../core/idempotency/idempotency-record'
import type { AccountId, RequestId } from '../../../../core/ids'
import { instant } from '../driver/columns'

/** Calls with an `Idempotency-Key`: completed ones with their response, and those in progress. */
export const idempotencyRecords = sqliteTable(
  'kept_answers',
  {
    account: text('account_id').$type<AccountId>().notNull(),
    operation: text().notNull(),
    key: text().notNull(),
    fingerprint: text().notNull(),
    state: text().$type<IdempotencyState>().notNull(),
    requestId: text('request_id').$type<RequestId>().notNull(),
    body: text(),
    headers: text({ mode: 'json' }).$type<Readonly<Record<string, string>>>().notNull(),
    at: instant('at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.account, table.operation, table.key] }),
    index('kept_answers_at').on(table.at),
    // Undoing a charge deletes its stored response.
    index('kept_answers_request').on(table.requestId),
  ],
)
