import { sql } from 'drizzle-orm'
import { index, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import type { AccountId, AppGrantId, PoolId } from '../../../../core/ids'
import { instant } from '../driver/columns'
import { accounts } from './accounts'
import { pools } from './keys'

/** Apps that an owner authorized by OAuth. Like a key, each spends from a pool; its tokens belong to the sign-in library. */
export const connections = sqliteTable(
  'connections',
  {
    id: text().$type<AppGrantId>().primaryKey(),
    accountId: text('account_id')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
    poolId: text('pool_id')
      .$type<PoolId>()
      .notNull()
      .references(() => pools.id),
    /** The member who authorized it. */
    userId: text('user_id').notNull().default(''),
    clientId: text('client_id').notNull(),
    /** The app's own name; reports need it after the sign-in library has deleted the app. */
    name: text().notNull().default('App'),
    createdAt: instant('created_at').notNull(),
    disconnectedAt: instant('disconnected_at'),
    lastUsedAt: instant('last_used_at'),
    lastAddress: text('last_address'),
  },
  (table) => [
    index('connections_account').on(table.accountId),
    uniqueIndex('connections_live').on(table.userId, table.clientId).where(sql`${table.disconnectedAt} IS NULL`),
  ],
)
