import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { IdempotencyState } from '../../../../core/idempotency/idempotency-record'
import type { AccountId, CredentialId, RequestId } from '../../../../core/ids'
import type { DurableHold } from '../../../../core/ledger/journal'
import { ZERO } from '../../../../core/money'
import type { ChargeLine, FailureNote, UsageSource } from '../../../../core/usage/call-record'
import type { PrunedTable } from '../../../../core/usage/retention'
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
    provider: text(),
    waitingMs: integer('waiting_ms'),
    upstreamMs: integer('upstream_ms'),
    /** Why it failed. Removed from charged calls after REQUEST_LOG_DAYS, with the address and the caller's id. */
    failure: text({ mode: 'json' }).$type<FailureNote>(),
    /** Its upstream cost to the operator; null if not known. */
    upstreamCost: money('upstream_cost'),
    /** The hold. Null for a fixed price, which equals its hold. */
    held: money(),
    /** How many more calls like this one, of the same minute, have no row of their own. */
    repeats: integer().notNull().default(0),
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

/** The key of a row of sums, and its sums. */
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
  /** The upstream cost, and the number of calls for which it is known. */
  upstreamCost: money('upstream_cost').notNull().default(ZERO),
  upstreamCostCalls: integer('upstream_cost_calls').notNull().default(0),
}

/** Sums of the request log per quarter of an hour, so that a chart never scans it. */
export const usageRollup = sqliteTable(
  'usage_rollup',
  { accountId: text('account_id').$type<AccountId>().notNull(), quarterHour: integer('slot').notNull(), ...sums },
  (table) => [
    primaryKey({
      columns: [table.accountId, table.quarterHour, table.keyId, table.operation, table.status, table.model],
    }),
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

/** Sums of the charged calls that named a budget scope, per UTC day. */
export const usageScopes = sqliteTable(
  'usage_scopes',
  {
    accountId: text('account_id').$type<AccountId>().notNull(),
    scope: text().notNull(),
    day: integer().notNull(),
    keyId: text('key_id').$type<CredentialId>().notNull(),
    operation: text().notNull(),
    /** Empty where there is none. */
    model: text().notNull(),
    requests: integer().notNull(),
    inputTokens: integer('input_tokens').notNull(),
    outputTokens: integer('output_tokens').notNull(),
    cacheReadTokens: integer('cache_read_tokens').notNull(),
    cacheWriteTokens: integer('cache_write_tokens').notNull(),
    charged: money().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.scope, table.day, table.keyId, table.operation, table.model] }),
    index('usage_scopes_day').on(table.accountId, table.day),
  ],
)

/** How many calls took how long: the bucket is a number of `LATENCY_BUCKETS`. Empty texts where there is none. */
const latency = {
  keyId: text('key_id').$type<CredentialId>().notNull(),
  operation: text().notNull(),
  provider: text().notNull(),
  model: text().notNull(),
  bucket: integer().notNull(),
  calls: integer().notNull(),
}

/** Latencies per quarter of an hour: a row for each bucket that has calls. */
export const usageLatency = sqliteTable(
  'usage_latency',
  { accountId: text('account_id').$type<AccountId>().notNull(), quarterHour: integer('slot').notNull(), ...latency },
  ({ accountId, quarterHour, keyId, operation, provider, model, bucket }) => [
    primaryKey({ columns: [accountId, quarterHour, keyId, operation, provider, model, bucket] }),
  ],
)

/** Sums of `usage_latency` per UTC day. Two triggers on `usage_latency` keep them: nothing else writes here. */
export const usageLatencyDays = sqliteTable(
  'usage_latency_days',
  { accountId: text('account_id').$type<AccountId>().notNull(), day: integer().notNull(), ...latency },
  ({ accountId, day, keyId, operation, provider, model, bucket }) => [
    primaryKey({ columns: [accountId, day, keyId, operation, provider, model, bucket] }),
  ],
)

/** How far old rows are removed from a table. `before`: rows older than this may be missing. */
export const pruned = sqliteTable('pruned', {
  name: text().$type<PrunedTable>().primaryKey(),
  before: instant('before').notNull(),
  /** The last row that was looked at. */
  cursor: text().notNull(),
})

/** Holds of streams in progress. At startup, whatever is left here is charged (spec D4). */
export const keptHolds = sqliteTable('kept_holds', {
  id: text().$type<RequestId>().primaryKey(),
  hold: text({ mode: 'json' }).$type<DurableHold['hold']>().notNull(),
  call: text({ mode: 'json' }).$type<DurableHold['call']>().notNull(),
})

/** Calls with an `Idempotency-Key`: completed ones with their response, and those in progress. */
export const idempotencyRecords = sqliteTable(
  'kept_answers',
  {
    account: text('account_id').$type<AccountId>().notNull(),
    operation: text().notNull(),
    key: text().notNull(),
    fingerprint: text().notNull(),
    state: text().$type<IdempotencyState>().notNull(),
    requestId: text('request_id').$type<RequestId>().notNull(),
    body: text(),
    headers: text({ mode: 'json' }).$type<Readonly<Record<string, string>>>().notNull(),
    at: instant('at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.account, table.operation, table.key] }),
    index('kept_answers_at').on(table.at),
    // Undoing a charge deletes its stored response.
    index('kept_answers_request').on(table.requestId),
  ],
)
