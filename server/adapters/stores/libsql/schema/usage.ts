import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId, CredentialId, RequestId } from '../../../../core/ids'
import type { DurableHold } from '../../../../core/ledger/journal'
import type { ChargeLine, UsageSource } from '../../../../core/usage/call-record'
import { instant, money } from '../driver/columns'

/** Every call with a known key. A row with a cost is the durable usage event of a success; the others are best effort. */
export const requests = sqliteTable(
  'requests',
  {
    id: text().$type<RequestId>().primaryKey(),
    clientRequestId: text('client_request_id'),
    accountId: text('account_id').$type<AccountId>().notNull(),
    keyId: text('key_id').$type<CredentialId>().notNull(),
    operation: text().notNull(),
    at: instant('at').notNull(),
    status: integer().notNull(),
    code: text(),
    latencyMs: integer('latency_ms').notNull(),
    address: text().notNull(),
    inputTokens: integer('input_tokens').notNull(),
    outputTokens: integer('output_tokens').notNull(),
    cacheReadTokens: integer('cache_read_tokens').notNull(),
    cacheWriteTokens: integer('cache_write_tokens').notNull(),
    cost: money().notNull(),
    priceVersion: text('price_version'),
    unitPrice: money('unit_price'),
    units: integer(),
    model: text(),
    usageSource: text('usage_source').$type<UsageSource>(),
    chargeLines: text('charge_lines', { mode: 'json' }).$type<readonly ChargeLine[]>(),
  },
  (table) => [
    index('requests_account').on(table.accountId, table.at),
    index('requests_client_id')
      .on(table.accountId, table.clientRequestId)
      .where(sql`${table.clientRequestId} IS NOT NULL`),
    // Failures only: successes are nearly the whole log and need no index, so a charge writes nothing here.
    index('requests_failed').on(table.accountId, table.status, table.at).where(sql`${table.status} <> 200`),
  ],
)

/** What a row of sums is of, and its sums. */
const sums = {
  keyId: text('key_id').$type<CredentialId>().notNull(),
  operation: text().notNull(),
  status: integer().notNull(),
  /** Empty where there is none. */
  model: text().notNull().default(''),
  requests: integer().notNull(),
  inputTokens: integer('input_tokens').notNull(),
  outputTokens: integer('output_tokens').notNull(),
  cacheReadTokens: integer('cache_read_tokens').notNull(),
  cacheWriteTokens: integer('cache_write_tokens').notNull(),
  charged: money().notNull(),
}

/** Sums of the request log per quarter of an hour, so that a chart never scans it (facts/performance). */
export const usageRollup = sqliteTable(
  'usage_rollup',
  { accountId: text('account_id').$type<AccountId>().notNull(), slot: integer().notNull(), ...sums },
  (table) => [
    primaryKey({ columns: [table.accountId, table.slot, table.keyId, table.operation, table.status, table.model] }),
  ],
)

/** Sums of `usage_rollup` per UTC day, for charts of months. Two triggers on `usage_rollup` keep them: nothing else writes here. */
export const usageDays = sqliteTable(
  'usage_days',
  { accountId: text('account_id').$type<AccountId>().notNull(), day: integer().notNull(), ...sums },
  (table) => [
    primaryKey({ columns: [table.accountId, table.day, table.keyId, table.operation, table.status, table.model] }),
  ],
)

/** Holds of streams in progress. At startup, whatever is left here is charged (spec-answers 4). */
export const keptHolds = sqliteTable('kept_holds', {
  id: text().$type<RequestId>().primaryKey(),
  hold: text({ mode: 'json' }).$type<DurableHold['hold']>().notNull(),
  call: text({ mode: 'json' }).$type<DurableHold['call']>().notNull(),
})
