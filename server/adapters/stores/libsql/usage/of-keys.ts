import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import type { UsageQuestion } from '../../../../core/usage/reports'

/** The calls of one key, of some keys, or of all. */
export function ofKeys(
  column: SQLiteColumn,
  { keyId, keyIds }: Pick<UsageQuestion, 'keyId' | 'keyIds'>,
): SQL | undefined {
  return and(
    keyId ? eq(column, keyId) : undefined,
    // As one parameter: an account may have more keys than a statement takes parameters.
    keyIds ? sql`${column} IN (SELECT value FROM json_each(${JSON.stringify(keyIds)}))` : undefined,
  )
}
