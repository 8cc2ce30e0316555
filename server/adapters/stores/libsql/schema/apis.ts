import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { Api, ApiMethod, ApiOperation, ApiPrice } from '../../../../core/apis/api'
import type { ImportedName } from '../../../../core/catalog/operation'
import type { AccountId, PriceId } from '../../../../core/ids'
import { instant } from '../driver/columns'

/** The rest of an operation beyond its columns, in core's own form. */
export type StoredDefinition = Omit<
  ApiOperation,
  'name' | 'id' | 'method' | 'path' | 'title' | 'description' | 'price' | 'priceVersion' | 'toolName' | 'enabled'
>

/** APIs that operators put on sale (spec D12). `auth` names environment variables or holds sealed text, never a secret. */
export const apis = sqliteTable('apis', {
  name: text().primaryKey(),
  title: text().notNull(),
  description: text().notNull(),
  baseUrl: text('base_url').notNull(),
  auth: text({ mode: 'json' }).$type<Api['auth']>().notNull(),
  timeoutMs: integer('timeout_ms').notNull(),
  concurrency: integer().notNull(),
  cacheSeconds: integer('cache_seconds').notNull(),
  headers: text({ mode: 'json' }).$type<Api['headers']>().notNull(),
  enabled: integer({ mode: 'boolean' }).notNull(),
  createdAt: instant('created_at').notNull(),
  updatedAt: instant('updated_at').notNull(),
})

/** The operations of each API. A removed operation goes; its prices and its tool name stay. */
export const apiOperations = sqliteTable(
  'api_operations',
  {
    name: text().$type<ImportedName>().primaryKey(),
    api: text()
      .notNull()
      .references(() => apis.name),
    /** The order in which the operator wrote them. */
    position: integer().notNull(),
    id: text().notNull(),
    method: text().$type<ApiMethod>().notNull(),
    path: text().notNull(),
    title: text().notNull(),
    description: text().notNull(),
    definition: text({ mode: 'json' }).$type<StoredDefinition>().notNull(),
    priceVersion: text('price_version')
      .$type<PriceId>()
      .notNull()
      .references(() => apiPrices.id),
    toolName: text('tool_name').notNull().unique('api_operations_tool'),
    enabled: integer({ mode: 'boolean' }).notNull(),
  },
  (table) => [index('api_operations_api').on(table.api, table.position)],
)

/** Every price that an operation has or had: charges refer to them. Append-only, by triggers in the migration. */
export const apiPrices = sqliteTable('api_prices', {
  id: text().$type<PriceId>().primaryKey(),
  operation: text().$type<ImportedName>().notNull(),
  price: text({ mode: 'json' }).$type<ApiPrice>().notNull(),
  at: instant('at').notNull(),
})

/** The names of MCP tools, each given to one operation for ever. Append-only, by triggers in the migration. */
export const apiTools = sqliteTable('api_tools', {
  name: text().primaryKey(),
  operation: text().$type<ImportedName>().notNull().unique('api_tools_operation'),
})

/** Names of removed APIs, which cannot be used again for 30 days. */
export const removedApis = sqliteTable('removed_apis', {
  name: text().primaryKey(),
  at: instant('at').notNull(),
})

/** Operations that are closed to an account: their upstream claimed more than the maximum of this price. */
export const apiClosings = sqliteTable(
  'api_closings',
  {
    operation: text().$type<ImportedName>().notNull(),
    accountId: text('account_id').$type<AccountId>().notNull(),
    priceVersion: text('price_version').$type<PriceId>().notNull(),
    at: instant('at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.operation, table.accountId, table.priceVersion] })],
)
