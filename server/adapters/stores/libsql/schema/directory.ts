import { sql } from 'drizzle-orm'
import { check, index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { StaffRole } from '../../../../core/accounts/account'
import type { CellName } from '../../../../core/cluster/cells'
import type { AccountId } from '../../../../core/ids'
import { instant } from '../driver/columns'

/** The account of each user and its cell, and the role of those who run the gateway. A row is written before its account is opened. */
export const accountDirectory = sqliteTable(
  'account_directory',
  {
    accountId: text('account_id').$type<AccountId>().primaryKey(),
    userId: text('user_id').notNull().unique('account_directory_user'),
    role: text().$type<StaffRole>(),
    createdAt: instant('created_at').notNull(),
    /** Never changes. */
    cell: text().$type<CellName>().notNull().default('main'),
  },
  (table) => [
    index('account_directory_staff').on(table.role).where(sql`${table.role} IS NOT NULL`),
    check('account_role_is_known', sql`${table.role} IN ('operator', 'support')`),
  ],
)

/**
 * The cell of each key that is not in `main`, by the SHA-256 of its secret; and that of each social link, by its state and its id. A row is written
 * before what it leads to, and its cell never changes.
 */
export const keyDirectory = sqliteTable(
  'key_directory',
  {
    hash: text().primaryKey(),
    cell: text().$type<CellName>().notNull(),
    keepUntil: instant('keep_until'),
  },
  (table) => [index('key_directory_old').on(table.keepUntil).where(sql`${table.keepUntil} IS NOT NULL`)],
)

/**
 * The cell that has a payment, by the key of its claim, or a reference under which money is booked once: the first that asked. The row of a payment
 * is kept longer than anybody could present the payment.
 */
export const paymentDirectory = sqliteTable(
  'payment_directory',
  {
    claim: text().primaryKey(),
    cell: text().$type<CellName>().notNull(),
    keepUntil: instant('keep_until'),
  },
  (table) => [index('payment_directory_old').on(table.keepUntil).where(sql`${table.keepUntil} IS NOT NULL`)],
)

/** The cells that were opened, each with the id of its database, so that no database is ever opened as another cell. */
export const cells = sqliteTable('cells', {
  name: text().$type<CellName>().primaryKey(),
  databaseId: text('database_id').notNull().unique('cells_database'),
  openedAt: instant('opened_at').notNull(),
  /** Rises when missing records of the cell are added to the directory. Caches of the directory's answers compare it. */
  revision: integer('told').notNull().default(0),
})

/** One number that rises with each change of what gateways keep copies of: models, prices, APIs, closings and roles. No row before the first. */
export const controlVersion = sqliteTable(
  'control_version',
  { id: integer().primaryKey(), version: integer().notNull() },
  (table) => [check('control_version_is_one_row', sql`${table.id} = 1`)],
)
