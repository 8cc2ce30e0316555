import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import type { LimitRequest } from '../../../../core/accounts/staff/limit-request'
import type { AccountId, LimitRequestId } from '../../../../core/ids'
import { instant } from '../driver/columns'
import { accounts } from './accounts'

/** Owners' requests for higher limits, and their decisions. */
export const limitRequests = sqliteTable(
  'limit_requests',
  {
    id: text().$type<LimitRequestId>().primaryKey(),
    accountId: text('account_id')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
    at: instant('at').notNull(),
    status: text().$type<LimitRequest['status']>().notNull(),
    peakRpm: integer('peak_rpm').notNull(),
    peakTpm: integer('peak_tpm').notNull(),
    endpoints: text({ mode: 'json' }).$type<readonly string[]>().notNull(),
    useCase: text('use_case').notNull(),
    reason: text(),
    decidedAt: instant('decided_at'),
  },
  (table) => [
    index('limit_requests_account').on(table.accountId, table.id),
    index('limit_requests_status').on(table.status, table.id),
    uniqueIndex('limit_requests_one_open').on(table.accountId).where(sql`${table.status} = 'pending'`),
  ],
)
