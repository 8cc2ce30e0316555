import { index, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { SignupCredit } from '../../../../core/accounts/signup-credit'
import { instant, money } from '../driver/columns'

/** The decision on each user's signup credit. Users from before the brakes have no row. */
export const signupCredits = sqliteTable(
  'signup_credits',
  {
    userId: text('user_id').primaryKey(),
    /** A keyed hash; null where no brake applies. It stays when the account is closed: closing must not free a place. */
    network: text(),
    amount: money().notNull(),
    at: instant('at').notNull(),
    state: text().$type<SignupCredit>().notNull(),
  },
  (table) => [index('signup_credits_at').on(table.at)],
)
