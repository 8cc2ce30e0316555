import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { type LatencyGroup, type LatencyQuestion, QUARTER_HOUR_MS } from '../../../../core/usage/reports'
import { usageLatency, usageLatencyDays } from '../schema/usage'
import { ofKeys } from './of-keys'
import { piecesOf } from './usage-quarter-hours'

interface LatencyRow {
  readonly operation: string
  readonly provider: string
  readonly model: string
  readonly bucket: number
  readonly calls: number
}

/** The latencies of a range in whole quarters of an hour: UTC days, plus or minus the quarters of an hour at both ends. */
export async function latenciesOf(db: LibSQLDatabase, question: LatencyQuestion): Promise<readonly LatencyGroup[]> {
  const range = { first: Math.floor(question.from / QUARTER_HOUR_MS), end: Math.ceil(question.to / QUARTER_HOUR_MS) }
  const pieces = piecesOf([range.first * QUARTER_HOUR_MS, range.end * QUARTER_HOUR_MS], range)
  const spans = JSON.stringify(pieces.map(({ unit, first, end, uses }) => [unit, first, end, uses[0]?.[1] ?? 1]))
  const rows = await db.all<LatencyRow>(sql`
    SELECT operation, provider, model, bucket, sum(calls) AS calls FROM (
      ${part(usageLatencyDays, usageLatencyDays.day, 'day', spans, question)}
      UNION ALL ${part(usageLatency, usageLatency.quarterHour, 'quarter_hour', spans, question)})
    GROUP BY operation, provider, model, bucket HAVING sum(calls) > 0`)
  const groups = new Map<string, LatencyGroup & { readonly counts: Map<number, number> }>()
  for (const { operation, provider, model, bucket, calls } of rows) {
    const name = [operation, provider, model].join('\n')
    const group = groups.get(name) ?? { operation, provider, model, counts: new Map<number, number>() }
    group.counts.set(bucket, calls)
    groups.set(name, group)
  }
  return [...groups.values()]
}

/** One row per piece and bucket. The join goes by the primary key, a range of it for each piece. */
function part(
  table: typeof usageLatency | typeof usageLatencyDays,
  time: SQLiteColumn,
  unit: 'day' | 'quarter_hour',
  spans: string,
  question: LatencyQuestion,
): SQL {
  const { accountId, operation, model } = question
  const chosen = and(
    sql`span.value->>0 = ${unit}`,
    eq(table.accountId, accountId),
    sql`${time} >= span.value->>1 AND ${time} < span.value->>2`,
    ofKeys(table.keyId, question),
    operation ? eq(table.operation, operation) : undefined,
    model === null ? undefined : eq(table.model, model),
  )
  return sql`SELECT ${table.operation} AS operation, ${table.provider} AS provider, ${table.model} AS model,
    ${table.bucket} AS bucket, (span.value->>3) * sum(${table.calls}) AS calls
    FROM json_each(${spans}) AS span CROSS JOIN ${table} WHERE ${chosen}
    GROUP BY span.key, ${table.operation}, ${table.provider}, ${table.model}, ${table.bucket}`
}
