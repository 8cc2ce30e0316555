import { type SQL, sql } from 'drizzle-orm'
import { type AnySQLiteColumn, index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import type { SoldName } from '../../../../core/catalog/operation'
import type { Budget, ScopeBudget } from '../../../../core/credentials/api-key'
import type { AccountId, AppGrantId, KeyId, PoolId } from '../../../../core/ids'
import type { PoolKind } from '../../../../core/ledger/hold'
import { instant, money } from '../driver/columns'
import { accounts } from './accounts'

/** Counts the spending of a key. No check ties it to the limit: an owner may lower the limit below what is already spent. */
export const pools = sqliteTable('pools', {
  id: text().$type<PoolId>().primaryKey(),
  accountId: text('account_id')
    .$type<AccountId>()
    .notNull()
    .references(() => accounts.id),
  limit: money('spending_limit'),
  spent: money().notNull().default(sql`0`),
  /** One object in rows of 0.9.0. */
  budgets: text('budget', { mode: 'json' }).$type<Budget | readonly Budget[]>(),
  /** Holds and spending of this pool count there too, and in the account's own pool, which no row names. */
  parentId: text('parent_id').$type<PoolId>(),
  kind: text().$type<PoolKind>().notNull().default('key'),
  /** What each scope may spend that calls of the key name, in UTC. */
  scopeBudget: text('scope_budget', { mode: 'json' }).$type<ScopeBudget>(),
  /** How often the limit was changed, and the highest percentage of it that has made an event. Triggers keep both. */
  limitVersion: integer('limit_version').notNull().default(0),
  limitTold: integer('limit_told').notNull().default(0),
})

/** The budgets of a row. */
export function budgetsOf(stored: typeof pools.$inferSelect.budgets): readonly Budget[] {
  if (stored === null) return []
  return 'period' in stored ? [stored] : stored
}

/** When a replaced key stops working; far off for any other. */
export function endOfKey({ stopsAt }: { readonly stopsAt: AnySQLiteColumn }): SQL {
  // Without a comma, at which drizzle-kit would cut the expression of an index.
  return sql`CASE WHEN ${stopsAt} IS NULL THEN ${sql.raw(String(Number.MAX_SAFE_INTEGER))} ELSE ${stopsAt} END`
}

/** API keys. The secret is not here, only its SHA-256. Status is computed from these facts, never stored. */
export const keys = sqliteTable(
  'keys',
  {
    id: text().$type<KeyId>().primaryKey(),
    accountId: text('account_id')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
    poolId: text('pool_id')
      .$type<PoolId>()
      .notNull()
      .references(() => pools.id),
    hash: text().notNull().unique('keys_hash'),
    prefix: text().notNull(),
    last4: text().notNull(),
    name: text().notNull(),
    allowedIps: text('allowed_ips', { mode: 'json' }).$type<readonly string[]>().notNull(),
    allowedEndpoints: text('allowed_endpoints', { mode: 'json' }).$type<readonly SoldName[]>().notNull(),
    allowedModels: text('allowed_models', { mode: 'json' }).$type<readonly string[]>().notNull(),
    rpmLimit: integer('rpm_limit'),
    tpmLimit: integer('tpm_limit'),
    note: text(),
    tags: text({ mode: 'json' }).$type<readonly string[]>().notNull().default([]),
    pinnedOperations: text('pinned_operations', { mode: 'json' }).$type<readonly SoldName[]>().notNull().default([]),
    createdAt: instant('created_at').notNull(),
    createdBy: text('created_by').$type<AppGrantId>(),
    madeBy: text('made_by'),
    expiresAt: instant('expires_at'),
    disabledAt: instant('disabled_at'),
    revokedAt: instant('revoked_at'),
    stopsAt: instant('stops_at'),
    lastUsedAt: instant('last_used_at'),
    replaces: text().$type<KeyId>(),
    replacedBy: text('replaced_by').$type<KeyId>(),
    endpointsAt: instant('endpoints_at'),
  },
  (table) => [
    index('keys_account').on(table.accountId, table.id),
    // An account may have any number of revoked keys, which its list of keys must not read.
    index('keys_live').on(table.accountId, endOfKey(table)).where(sql`${table.revokedAt} IS NULL`),
    index('keys_made_by').on(table.accountId, table.madeBy),
    // An operator looks for a leaked key by what is shown of it.
    index('keys_prefix').on(table.prefix),
    uniqueIndex('keys_live_name')
      .on(table.accountId, table.name)
      .where(sql`${table.revokedAt} IS NULL AND ${table.replacedBy} IS NULL`),
  ],
)
