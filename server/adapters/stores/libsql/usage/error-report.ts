import { and, eq, gte, lt, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { RequestId } from '../../../../core/ids'
import type { ErrorGroup, ErrorReport, RequestFilter } from '../../../../core/usage/reports'
import { requests } from '../schema/usage'
import { ofKeys } from './of-keys'

/** The newest failures of each status that a report counts: about 30 ms for each status that has so many. */
const MAX_CALLS = 20_000
const MAX_GROUPS = 200

interface ErrorRow {
  readonly operation: string
  readonly code: string | null
  readonly scanned: number
  readonly calls: number
  readonly lastAt: number
  readonly lastId: RequestId
  readonly lastMessage: string | null
}

/** Failed calls by operation, status and code, the most frequent first. Reads the index of failures, one status after the other. */
export async function errorsOf(
  db: LibSQLDatabase,
  filter: RequestFilter,
  isCounted: (operation: string) => boolean,
): Promise<ErrorReport> {
  const statuses = (await statusesOf(db, filter)).filter((status) => filter.status === null || status === filter.status)
  const groups: ErrorGroup[] = []
  let isPartial = false
  for (const status of statuses) {
    const rows = await ofStatus(db, filter, status)
    if (rows.reduce((sum, { scanned }) => sum + scanned, 0) >= MAX_CALLS) isPartial = true
    for (const { code, scanned: _scanned, ...row } of rows)
      if (row.calls > 0 && isCounted(row.operation)) groups.push({ ...row, status, code: code ?? '' })
  }
  groups.sort((one, other) => other.calls - one.calls || other.lastAt - one.lastAt)
  return { groups: groups.slice(0, MAX_GROUPS), isPartial }
}

/** The statuses of an account's failures: one step through the index for each, not one for each call. */
async function statusesOf(db: LibSQLDatabase, { accountId }: RequestFilter): Promise<readonly number[]> {
  const next = sql`SELECT min(status) FROM ${requests} WHERE account_id = ${accountId} AND status <> 200`
  const rows = await db.all<{ status: number | null }>(sql`
    WITH RECURSIVE known(status) AS (
      SELECT (${next}) UNION ALL SELECT (${next} AND status > known.status) FROM known WHERE known.status IS NOT NULL)
    SELECT status FROM known WHERE status >= 400`)
  return rows.flatMap(({ status }) => (status === null ? [] : [status]))
}

/**
 * The newest failures of a status, those of the filter counted: a key with few of them does not make it read more. SQLite takes the other
 * columns of a group from the row that has its `max`.
 */
function ofStatus(db: LibSQLDatabase, filter: RequestFilter, status: number): Promise<ErrorRow[]> {
  const { operation, model, from, to } = filter
  const range = and(
    eq(requests.accountId, filter.accountId),
    eq(requests.status, status),
    // Word for word the condition of the index requests_failed, or SQLite would not use it.
    sql`${requests.status} <> 200`,
    from === null ? undefined : gte(requests.at, from),
    to === null ? undefined : lt(requests.at, to),
  )
  const chosen = and(
    sql`true`,
    ofKeys(requests.keyId, filter),
    operation ? eq(requests.operation, operation) : undefined,
    model === null ? undefined : eq(requests.model, model),
  )
  return db.all<ErrorRow>(sql`
    SELECT operation, code, count(*) AS scanned, sum(chosen * (1 + repeats)) AS calls, max(iif(chosen, at, NULL)) AS lastAt, id AS lastId,
      failure ->> 'message' AS lastMessage
    FROM (SELECT ${requests.operation}, ${requests.code}, ${requests.at}, ${requests.id}, ${requests.failure}, ${requests.repeats}, ${chosen} AS chosen
      FROM ${requests} WHERE ${range} ORDER BY ${requests.at} DESC LIMIT ${MAX_CALLS})
    GROUP BY operation, code`)
}
