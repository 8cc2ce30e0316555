import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import type { Budget } from '../../../../core/credentials/api-key'
import type { AccountId, AppGrantId, DeliveryId, KeyId, PoolId, WebhookId } from '../../../../core/ids'
import type { DeliveryState, Webhook } from '../../../../core/webhooks/webhook'
import { instant, money } from '../driver/columns'

/**
 * The outbox: the events of owners and operators. Triggers in the migrations write a row in the commit that causes it; the relay turns
 * each row into deliveries and sets `dispatched`. The id follows from the cause, so that a cause has one row.
 */
export const events = sqliteTable(
  'events',
  {
    seq: integer().primaryKey({ autoIncrement: true }),
    id: text().notNull().unique('events_id'),
    type: text().notNull(),
    /** Null for events of the gateway itself, which operators receive. */
    accountId: text('account_id').$type<AccountId>(),
    keyId: text('key_id').$type<KeyId>(),
    at: instant('at').notNull(),
    data: text({ mode: 'json' }).$type<Readonly<Record<string, unknown>>>().notNull(),
    dispatched: integer({ mode: 'boolean' }).notNull().default(false),
    /** Whether it was mailed, or no longer has to be. */
    mailed: integer({ mode: 'boolean' }).notNull().default(false),
  },
  (table) => [
    index('events_account').on(table.accountId, table.seq),
    index('events_waiting').on(table.seq).where(sql`${table.dispatched} = 0`),
    index('events_unmailed').on(table.seq).where(sql`${table.mailed} = 0`),
  ],
)

/** Endpoints of owners that receive events. Their secrets are sealed. */
export const webhooks = sqliteTable(
  'webhooks',
  {
    id: text().$type<WebhookId>().primaryKey(),
    accountId: text('account_id').$type<AccountId>().notNull(),
    url: text().notNull(),
    events: text({ mode: 'json' }).$type<Webhook['events']>().notNull(),
    status: text().$type<Webhook['status']>().notNull(),
    confirmedAt: instant('confirmed_at'),
    codeTries: integer('code_tries').notNull().default(0),
    dropped: integer().notNull().default(0),
    secret: text().notNull(),
    previousSecret: text('previous_secret'),
    previousUntil: instant('previous_until'),
    failingSince: instant('failing_since'),
    createdAt: instant('created_at').notNull(),
    /** The app that made it or chose its URL; null for its owner. Triggers pause it when that app is disconnected. */
    connectionId: text('connection_id').$type<AppGrantId>(),
  },
  (table) => [
    index('webhooks_account').on(table.accountId),
    index('webhooks_connection').on(table.connectionId).where(sql`${table.connectionId} IS NOT NULL`),
  ],
)

/** Hosts whose last delivery failed, of any account. */
export const webhookHosts = sqliteTable('webhook_hosts', {
  host: text().primaryKey(),
  failures: integer().notNull(),
  since: instant('since').notNull(),
})

/** Events on their way to an endpoint, and the log of those that arrived or failed. */
export const webhookDeliveries = sqliteTable(
  'webhook_deliveries',
  {
    id: text().$type<DeliveryId>().primaryKey(),
    webhookId: text('webhook_id').$type<WebhookId>().notNull(),
    eventId: text('event_id').notNull(),
    type: text().notNull(),
    body: text().notNull(),
    state: text().$type<DeliveryState>().notNull(),
    attempts: integer().notNull().default(0),
    createdAt: instant('created_at').notNull(),
    nextAt: instant('next_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
    lastAt: instant('last_at'),
    durationMs: integer('duration_ms'),
    responseStatus: integer('response_status'),
    responseBody: text('response_body'),
    error: text(),
  },
  (table) => [
    uniqueIndex('webhook_deliveries_event').on(table.webhookId, table.eventId),
    index('webhook_deliveries_due').on(table.webhookId, table.nextAt).where(sql`${table.state} = 'pending'`),
    index('webhook_deliveries_expiry').on(table.expiresAt).where(sql`${table.state} = 'pending'`),
  ],
)

/** How far an owner has read the notices: up to this `seq` of `events`. */
export const noticeReads = sqliteTable('notice_reads', {
  accountId: text('account_id').$type<AccountId>().primaryKey(),
  seq: integer().notNull(),
})

/** An owner's choice of mails. Without a row: the default, and no mail yet. */
export const noticeMails = sqliteTable('notice_mails', {
  accountId: text('account_id').$type<AccountId>().primaryKey(),
  /** Null for what is mailed by default. */
  kinds: text({ mode: 'json' }).$type<Webhook['events']>(),
  mailedAt: instant('mailed_at'),
  /** The newest event of the gateway that was mailed: each is mailed to several operators, to each once. */
  mailedSeq: integer('mailed_seq').notNull().default(0),
  weeklySummary: integer('weekly_summary', { mode: 'boolean' }).notNull().default(false),
  /** The end of the last week whose summary was dealt with; null after the owner chose it. */
  summarizedUntil: instant('summarized_until'),
})

/** Spending per period of pools with budgets, from which triggers see a threshold crossed. Removed when the budgets change. */
export const poolPeriods = sqliteTable(
  'pool_periods',
  {
    poolId: text('pool_id').$type<PoolId>().notNull(),
    period: text().$type<Budget['period']>().notNull(),
    startsAt: instant('starts_at').notNull(),
    spent: money().notNull(),
    /** The highest percentage that has made an event. */
    told: integer().notNull().default(0),
  },
  (table) => [primaryKey({ columns: [table.poolId, table.period, table.startsAt] })],
)
