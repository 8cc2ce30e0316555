import { sql } from 'drizzle-orm'
import { check, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import type { SignupCredit } from '../../../../core/accounts/signup-credit'
import type { AccountId, RequestId, StuckId, TransactionId } from '../../../../core/ids'
import type { EntryKind, LedgerAccount } from '../../../../core/ledger/entry'
import type { JournalRecord } from '../../../../core/ledger/journal'
import type { StuckRecord } from '../../../../core/ledger/stuck-record'
import { instant, money } from '../driver/columns'
import { accounts } from './accounts'

/** The append-only double-entry ledger: triggers refuse to change a row, and to delete any but a charge of an archived month. */
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

/** An entry that gives a charge back. Has the condition of the index entries_other word for word, or SQLite would not use it. */
export const IS_REFUND = sql.raw("kind <> 'charge' AND kind = 'charge_refund'")

/** UTC days whose books are closed. Triggers refuse to change or remove one, or what it closed, and any but a later day. */
export const closedDays = sqliteTable('closed_days', {
  /** Since 1970-01-01. Earlier days are closed with it, also those without a row, which had no entries. */
  day: integer().primaryKey(),
  /** The last entry that there was. A later one belongs to a later day, whatever its time. */
  sealed: integer().notNull(),
  /** The last of its own entries. */
  last: integer().notNull(),
  /** All entries before this one are in a closed day. */
  openFrom: integer('open_from').notNull(),
})

/** The total of a ledger account by the end of a closed day on which it moved. Its balance is credits minus debits. */
export const closings = sqliteTable(
  'closings',
  {
    account: text().$type<LedgerAccount>().notNull(),
    day: integer().notNull(),
    debits: money().notNull(),
    credits: money().notNull(),
  },
  (table) => [primaryKey({ columns: [table.account, table.day] })],
)

const flow = {
  day: integer().notNull(),
  kind: text().$type<EntryKind>().notNull(),
  debit: text().notNull(),
  credit: text().notNull(),
  amount: money().notNull(),
  entries: integer().notNull(),
}

/** The flows of a closed day, with the accounts of all customers taken together (`customers/paid`). */
export const closedFlows = sqliteTable('closed_flows', flow, (table) => [
  primaryKey({ columns: [table.day, table.kind, table.debit, table.credit] }),
])

/**
 * Months whose calls and charges may leave the tables, because an archive has them: the oldest first. Triggers refuse one that is not closed, or whose archive
 * has other charges than were closed, and any change.
 */
export const archivedMonths = sqliteTable('archived_months', {
  /** Its first and last days, since 1970-01-01. */
  firstDay: integer('first_day').primaryKey(),
  lastDay: integer('last_day').notNull(),
  /** Of the archive: `gateway-archive-2025-09`. */
  name: text().notNull(),
  location: text().notNull(),
  /** The SHA-256 of its manifest. */
  manifest: text().notNull(),
  charges: integer().notNull(),
  charged: money().notNull(),
  archivedAt: instant('archived_at').notNull(),
})

/** The archived charges per ledger account and closed day; written by the trigger that lets them go. A balance is the entries less these. */
export const archivedSums = sqliteTable(
  'archived_sums',
  {
    account: text().$type<LedgerAccount>().notNull(),
    day: integer().notNull(),
    debits: money().notNull(),
    /** The last of them. */
    last: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.account, table.day] })],
)

/** Their sums by kind, as `closed_flows`. */
export const archivedFlows = sqliteTable('archived_flows', flow, (table) => [
  primaryKey({ columns: [table.day, table.kind, table.debit, table.credit] }),
])

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
