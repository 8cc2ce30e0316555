import { and, eq, gte, lt, type SQL } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import type { UsageQuestion } from '../../../../core/usage/reports'
import { isAmong } from '../driver/among-all'
import { requests } from '../schema/usage'

/** The calls of one key, of some keys, or of all. */
export function ofKeys(
  column: SQLiteColumn,
  { keyId, keyIds }: Pick<UsageQuestion, 'keyId' | 'keyIds'>,
): SQL | undefined {
  return and(
    keyId ? eq(column, keyId) : undefined,
    // As one parameter: an account may have more keys than a statement takes parameters.
    keyIds ? isAmong(column, keyIds) : undefined,
  )
}

/** The calls of the log that a report asks for. */
export function loggedCalls({
  accountId,
  operation,
  status,
  model,
  from,
  to,
  ...keys
}: UsageQuestion): SQL | undefined {
  return and(
    eq(requests.accountId, accountId),
    gte(requests.at, from),
    lt(requests.at, to),
    ofKeys(requests.keyId, keys),
    operation ? eq(requests.operation, operation) : undefined,
    status === null ? undefined : eq(requests.status, status),
    model === null ? undefined : eq(requests.model, model),
  )
}
