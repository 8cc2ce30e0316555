import { sql } from 'drizzle-orm'
import { check, index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { Suspension } from '../../../../core/accounts/account'
import type { SavedView } from '../../../../core/accounts/account-settings'
import type { Alert } from '../../../../core/accounts/alerts'
import type { Actor } from '../../../../core/audit'
import type { PriceOverride } from '../../../../core/catalog/prices'
import type { AccountId, AuditId, KeyId, NoteId, PriceId } from '../../../../core/ids'
import type { Limits } from '../../../../core/limits/tier'
import type { ModelVendor } from '../../../../core/models/model-vendors'
import { instant, money } from '../driver/columns'

/** Billing accounts, with the counters kept in addition to the ledger's entries. `credit + paid` is the posted balance. */
export const accounts = sqliteTable(
  'accounts',
  {
    id: text().$type<AccountId>().primaryKey(),
    /** Its owner. */
    userId: text('user_id').notNull(),
    suspension: text({ mode: 'json' }).$type<Suspension>(),
    growthApproved: integer('growth_approved', { mode: 'boolean' }).notNull().default(false),
    customLimits: text('custom_limits', { mode: 'json' }).$type<Limits>(),
    maxKeys: integer('most_keys'),
    credit: money().notNull().default(sql`0`),
    paid: money().notNull().default(sql`0`),
    toppedUp: money('topped_up').notNull().default(sql`0`),
    /** Refunded money that was already spent. Nothing can be spent until it is paid back. */
    debt: money().notNull().default(sql`0`),
    createdAt: instant('created_at').notNull(),
    closedAt: instant('closed_at'),
  },
  (table) => [
    index('accounts_user').on(table.userId),
    check('account_posted_not_negative', sql`${table.credit} >= 0 AND ${table.paid} >= 0`),
    check('account_debt_not_negative', sql`${table.debt} >= 0`),
  ],
)

/** Notes of operators and support about an account. Its owner never sees them. */
export const accountNotes = sqliteTable(
  'account_notes',
  {
    id: text().$type<NoteId>().primaryKey(),
    accountId: text('account_id')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
    at: instant('at').notNull(),
    author: text().notNull(),
    text: text().notNull(),
  },
  (table) => [index('account_notes_account').on(table.accountId, table.id)],
)

/** The audit log: who changed what, when and from where. */
export const auditLog = sqliteTable(
  'audit_log',
  {
    id: text().$type<AuditId>().primaryKey(),
    at: instant('at').notNull(),
    actorKind: text('actor_kind').$type<Actor['kind']>().notNull(),
    actorId: text('actor_id').notNull(),
    address: text(),
    accountId: text('account_id').$type<AccountId>(),
    keyId: text('key_id').$type<KeyId>(),
    action: text().notNull(),
    /** The changes. `before` has the old values of the same settings, where there were any. */
    detail: text({ mode: 'json' }).$type<Record<string, unknown>>().notNull(),
    before: text({ mode: 'json' }).$type<Record<string, unknown>>(),
  },
  (table) => [index('audit_log_account').on(table.accountId, table.id)],
)

/** Models that operators added, as they wrote them. */
export const models = sqliteTable('models', {
  id: text().primaryKey(),
  entry: text({ mode: 'json' }).$type<unknown>().notNull(),
  priceVersion: text('price_version').notNull(),
  created: integer().notNull(),
})

/** Servers of models with our keys, which are sealed; a null key means that the server needs none. */
export const modelVendors = sqliteTable('model_vendors', {
  name: text().primaryKey(),
  kind: text().$type<ModelVendor['kind']>().notNull(),
  baseUrl: text('base_url').notNull(),
  key: text(),
  created: instant('created').notNull(),
})

/** Price overrides by operators; the newest wins. An empty `account_id` applies to everybody; null removes the override. */
export const prices = sqliteTable('prices', {
  id: text().$type<PriceId>().primaryKey(),
  operation: text().$type<PriceOverride['operation']>().notNull(),
  accountId: text('account_id').$type<AccountId>(),
  amount: money(),
  /** In place of an amount: of the list price of models, in hundredths of a percent. */
  basisPoints: integer('basis_points'),
  at: instant('at').notNull(),
})

/** Dashboard settings of owners; an account without a row has the defaults. */
export const accountSettings = sqliteTable('account_settings', {
  accountId: text('account_id')
    .$type<AccountId>()
    .primaryKey()
    .references(() => accounts.id),
  timezone: text(),
  savedViews: text('saved_views', { mode: 'json' }).$type<readonly SavedView[]>().notNull().default([]),
  alerts: text({ mode: 'json' }).$type<readonly Alert[]>().notNull().default([]),
})

/** Credentials of workers on other machines. The key of each follows from SECRET_KEY and its salt. */
export const workerCredentials = sqliteTable('worker_credentials', {
  name: text().primaryKey(),
  salt: text().notNull(),
  createdAt: instant('created_at').notNull(),
})
