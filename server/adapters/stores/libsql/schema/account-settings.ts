import { sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { SavedView } from '../../../../core/accounts/account-settings'
import type { AccountId } from '../../../../core/ids'
import { accounts } from './accounts'

/** Dashboard settings of owners; an account without a row has the defaults. */
export const accountSettings = sqliteTable('account_settings', {
  accountId: text('account_id')
    .$type<AccountId>()
    .primaryKey()
    .references(() => accounts.id),
  timezone: text(),
  savedViews: text('saved_views', { mode: 'json' }).$type<readonly SavedView[]>().notNull().default([]),
})
