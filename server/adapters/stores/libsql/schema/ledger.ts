import { sql } from 'drizzle-orm'
import { check, index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import type { AccountId, RequestId, TransactionId } from '../../../../core/ids'
import type { EntryKind, LedgerAccount } from '../../../../core/ledger/entry'
import { instant, money } from '../driver/columns'
import { accounts } from './accounts'

/** The append-only double-entry ledger: triggers refuse to change or delete a row. */
export const entries = sqliteTable(
  'entries',
  {
    /** The order of commits. */
    seq: integer().primaryKey({ autoIncrement: true }),
    transactionId: text('transaction_id').$type<TransactionId>().notNull(),
    kind: text().$type<EntryKind>().notNull(),
    /** The owner's account; null where money moved only between the gateway's own accounts, as for a pay-per-request call. */
    accountId: text('account_id')
      .$type<AccountId>()
      .references(() => accounts.id),
    debit: text().$type<LedgerAccount>().notNull(),
    credit: text().$type<LedgerAccount>().notNull(),
    amount: money().notNull(),
    at: instant('at').notNull(),
    requestId: text('request_id').$type<RequestId>(),
    description: text().notNull(),
    reference: text(),
  },
  (table) => [
    index('entries_account').on(table.accountId),
    uniqueIndex('entries_reference').on(table.reference).where(sql`${table.reference} IS NOT NULL`),
    // Few rows are no charges, so their sums can be read at once. A charge writes nothing here.
    index('entries_other').on(table.kind, table.amount).where(sql`${table.kind} <> 'charge'`),
    check('entry_amount_positive', sql`${table.amount} > 0`),
    check('entry_moves', sql`${table.debit} <> ${table.credit}`),
  ],
)
