import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { DAY_MS } from '../../../../core/clock'
import { QUARTER_HOUR_MS, type UsageGrouping, type UsageQuestion } from '../../../../core/usage/reports'
import type { UsageSums } from '../../../../core/usage/sums'
import { usageDays, usageRollup } from '../schema/usage'
import { ofKeys } from './of-keys'

const QUARTER_HOURS_OF_A_DAY = DAY_MS / QUARTER_HOUR_MS

export type SummedUsage = Record<keyof UsageSums, number>

/** A row of sums for the bucket with this number or, if that is null, for the group with this name. */
export interface SummedRow extends SummedUsage {
  readonly bucket: number | null
  readonly name: string | number
}

/** What the log of calls and its rollups can be grouped by. */
export type LoggedGrouping = Exclude<UsageGrouping, 'scope'>

/** Whole quarters of an hour, `end` exclusive. */
export interface QuarterHours {
  readonly first: number
  readonly end: number
}

/** Days or quarters of an hour of one rollup that are read once, and the buckets that they are added to (1) or taken from (-1). */
export interface Piece {
  readonly unit: 'day' | 'quarter_hour'
  readonly first: number
  readonly end: number
  readonly uses: (readonly [bucket: number, sign: 1 | -1])[]
}

/**
 * Which parts of the rollups make up the buckets between these edges. A bucket of a day or more is the UTC days nearest to
 * it, plus or minus the quarters of an hour between their edges and its own: the sums are whole numbers, so what is taken away leaves nothing
 * behind. A day in Berlin reads two hours in place of 24, because its neighbour needs the same two.
 */
export function piecesOf(edges: readonly number[], { first, end }: QuarterHours): readonly Piece[] {
  const pieces = new Map<string, Piece>()
  const use = (unit: Piece['unit'], first: number, end: number, bucket: number, sign: 1 | -1) => {
    if (first >= end) return
    const name = `${unit} ${first} ${end}`
    const piece = pieces.get(name) ?? { unit, first, end, uses: [] }
    pieces.set(name, piece)
    piece.uses.push([bucket, sign])
  }
  const within = (edge: number) => Math.min(Math.max(Math.ceil(edge / QUARTER_HOUR_MS), first), end)
  for (const [bucket, edge] of edges.slice(1).entries()) {
    const [from, to] = [within(edges[bucket] ?? edge), within(edge)]
    const [firstDay, endDay] = [Math.round(from / QUARTER_HOURS_OF_A_DAY), Math.round(to / QUARTER_HOURS_OF_A_DAY)]
    const [dayFrom, dayTo] = [firstDay * QUARTER_HOURS_OF_A_DAY, endDay * QUARTER_HOURS_OF_A_DAY]
    // Two buckets share the quarters of an hour at the edge between them.
    const read = (Math.abs(from - dayFrom) + Math.abs(to - dayTo)) / 2 + (endDay - firstDay)
    if (firstDay >= endDay || read >= to - from) {
      use('quarter_hour', from, to, bucket, 1)
      continue
    }
    use('day', firstDay, endDay, bucket, 1)
    use('quarter_hour', from, dayFrom, bucket, 1)
    use('quarter_hour', dayFrom, from, bucket, -1)
    use('quarter_hour', dayTo, to, bucket, 1)
    use('quarter_hour', to, dayTo, bucket, -1)
  }
  return [...pieces.values()]
}

/**
 * Sums the rollups in one pass by their primary keys. Each piece is summed and grouped by itself, small enough to sort in the
 * cache, and buckets and groups are the sums of those: half the time of a GROUP BY over the whole range, and only sums come out.
 */
export function sumsOfQuarterHours(
  question: UsageQuestion,
  edges: readonly number[],
  range: QuarterHours,
  grouping: LoggedGrouping | null,
): SQL {
  const pieces = piecesOf(edges, range).map(({ unit, first, end, uses }) => {
    const net = uses.reduce((sum, [, sign]) => sum + sign, 0)
    return [unit, first, end, uses, net]
  })
  const sums = (sign: SQL) => {
    const columns = SUMS.map((name, i) => sql`sum(${sign} * (cell.value->>${sql.raw(`${i + 1}`)})) AS ${sql.raw(name)}`)
    return sql.join(columns, sql`, `)
  }
  return sql`
    WITH pieces AS MATERIALIZED (SELECT span.value->>3 AS uses, span.value->>4 AS net,
      CASE span.value->>0 WHEN 'day' THEN ${cells(usageDays, usageDays.day, question, grouping)}
        ELSE ${cells(usageRollup, usageRollup.quarterHour, question, grouping)} END AS cells
      FROM json_each(${JSON.stringify(pieces)}) AS span)
    SELECT use.value->>0 AS bucket, '' AS name, ${sums(sql`(use.value->>1)`)}
      FROM pieces, json_each(pieces.uses) AS use, json_each(pieces.cells) AS cell GROUP BY use.value->>0
    ${
      grouping
        ? sql`UNION ALL SELECT NULL AS bucket, cell.value->>0 AS name, ${sums(sql`net`)}
            FROM pieces, json_each(pieces.cells) AS cell WHERE net <> 0
            GROUP BY cell.value->>0 HAVING sum(net * (cell.value->>1)) <> 0`
        : sql``
    }`
}

/** In the order of the numbers in a cell, behind its name. */
const SUMS = [
  'requests',
  'failedRequests',
  'inputTokens',
  'outputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'charged',
] as const satisfies readonly (keyof UsageSums)[]

/** The sums of one piece by the name of the group, as JSON. */
function cells(
  rollup: typeof usageRollup | typeof usageDays,
  time: SQLiteColumn,
  question: UsageQuestion,
  grouping: LoggedGrouping | null,
): SQL {
  const { accountId, status, keyId, operation, model } = rollup
  const chosen = and(
    eq(accountId, question.accountId),
    sql`${time} >= span.value->>1 AND ${time} < span.value->>2`,
    ofKeys(keyId, question),
    question.operation ? eq(operation, question.operation) : undefined,
    question.status === null ? undefined : eq(status, question.status),
    question.model === null ? undefined : eq(model, question.model),
  )
  const column = grouping && { key: keyId, operation, status, model }[grouping]
  return sql`(SELECT json_group_array(json_array(name, r, f, i, o, cr, cw, c)) FROM (
    SELECT ${column ?? sql`''`} AS name, sum(${rollup.requests}) AS r, sum(iif(${status} < 400, 0, ${rollup.requests})) AS f,
      sum(${rollup.inputTokens}) AS i, sum(${rollup.outputTokens}) AS o, sum(${rollup.cacheReadTokens}) AS cr,
      sum(${rollup.cacheWriteTokens}) AS cw, sum(${rollup.charged}) AS c
    FROM ${rollup} WHERE ${chosen} GROUP BY ${column ?? sql`NULL`}))`
}
