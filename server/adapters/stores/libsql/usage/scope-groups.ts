import { and, desc, eq, gte, lte, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { DAY_MS } from '../../../../core/clock'
import { micros } from '../../../../core/money'
import type { UsageGroup, UsageQuestion } from '../../../../core/usage/reports'
import { usageScopes } from '../schema/usage'
import { ofKeys } from './of-keys'

/** Any number of scopes may have been named. */
const MAX_GROUPS = 1_000

/** What the scopes cost that charged calls named, the dearest ones, over the UTC days that a range touches. */
export async function scopeGroups(
  db: LibSQLDatabase,
  { accountId, operation, status, model, from, to, ...keys }: UsageQuestion,
): Promise<readonly UsageGroup[]> {
  // Only charged calls are counted there.
  if (status !== null && status >= 400) return []
  const { scope, day } = usageScopes
  const sum = (column: SQLiteColumn) => sql<number>`sum(${column})`
  const charged = sql<number>`sum(${usageScopes.charged})`
  const rows = await db
    .select({
      name: scope,
      requests: sum(usageScopes.requests),
      inputTokens: sum(usageScopes.inputTokens),
      outputTokens: sum(usageScopes.outputTokens),
      cacheReadTokens: sum(usageScopes.cacheReadTokens),
      cacheWriteTokens: sum(usageScopes.cacheWriteTokens),
      charged,
    })
    .from(usageScopes)
    .where(
      and(
        eq(usageScopes.accountId, accountId),
        gte(day, Math.floor(from / DAY_MS)),
        lte(day, Math.floor((to - 1) / DAY_MS)),
        ofKeys(usageScopes.keyId, keys),
        operation ? eq(usageScopes.operation, operation) : undefined,
        model === null ? undefined : eq(usageScopes.model, model),
      ),
    )
    .groupBy(scope)
    .orderBy(desc(charged), scope)
    .limit(MAX_GROUPS)
  return rows.map((row) => ({ ...row, failedRequests: 0, charged: micros(row.charged) }))
}
