import { sql } from 'drizzle-orm'
import { check, index, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { StaffRole } from '../../../../core/accounts/account'
import type { AccountId } from '../../../../core/ids'
import { instant } from '../driver/columns'

/** The account of each user, and the role of those who run the gateway. A row is written before its account is opened. */
export const accountDirectory = sqliteTable(
  'account_directory',
  {
    accountId: text('account_id').$type<AccountId>().primaryKey(),
    userId: text('user_id').notNull().unique('account_directory_user'),
    role: text().$type<StaffRole>(),
    createdAt: instant('created_at').notNull(),
  },
  (table) => [
    index('account_directory_staff').on(table.role).where(sql`${table.role} IS NOT NULL`),
    check('account_role_is_known', sql`${table.role} IN ('operator', 'support')`),
  ],
)
