import { and, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { MINUTE_MS } from '../../../../core/clock'
import { micros } from '../../../../core/money'
import { FINE_RANGE_MS, QUARTER_HOUR_MS, type UsageFigures, type UsageQuestion } from '../../../../core/usage/reports'
import { added, NO_USAGE, type UsageSums } from '../../../../core/usage/sums'
import { requests } from '../schema/usage'
import { loggedCalls } from './of-keys'
import { type LoggedGrouping, type SummedRow, type SummedUsage, sumsOfQuarterHours } from './usage-quarter-hours'

/** A success that sold nothing, such as a quote, does not count (`CallRecord.counted`). */
const SOLD_OR_FAILED = sql`(${requests.priceVersion} IS NOT NULL OR ${requests.code} IS NOT NULL)`

/** Usage figures: from the rollups for whole quarters of an hour and days, from the log for both ends of the range and for anything finer. */
export class LibsqlUsageFigures {
  private readonly db: LibSQLDatabase
  private readonly isCounted: (operation: string) => boolean

  constructor(db: LibSQLDatabase, isCounted: (operation: string) => boolean) {
    this.db = db
    this.isCounted = isCounted
  }

  /** `prunedBefore`, the start of a quarter of an hour: before it the log is not whole, so whole quarters of an hour are read, also at the ends of the range. */
  async of(
    requested: UsageQuestion,
    edges: readonly number[],
    grouping: LoggedGrouping | null,
    prunedBefore = 0,
  ): Promise<UsageFigures> {
    const question = widened(requested, prunedBefore)
    const { from, to } = question
    const isPruned = requested.from < prunedBefore
    const tally = new Tally(edges.length - 1, isPruned ? prunedBefore : null)
    if (isFine(requested, edges) || (isPruned && edges.some(isWithinQuarterHour)))
      return this.byMinute(question, edges, grouping, { tally, prunedBefore })
    const range = { first: Math.ceil(from / QUARTER_HOUR_MS), end: Math.floor(to / QUARTER_HOUR_MS) }
    const inOneQuarterHour = range.first > range.end
    const [head, body, tail] = await Promise.all([
      this.logged(question, from, inOneQuarterHour ? to : range.first * QUARTER_HOUR_MS),
      range.first < range.end ? this.db.all<SummedRow>(sumsOfQuarterHours(question, edges, range, grouping)) : [],
      inOneQuarterHour ? [] : this.logged(question, range.end * QUARTER_HOUR_MS, to),
    ])
    for (const row of head) tally.count(0, grouping && groupName(row, grouping), row)
    for (const row of body) tally.count(row.bucket, row.bucket === null ? row.name : null, row)
    for (const row of tail) tally.count(edges.length - 2, grouping && groupName(row, grouping), row)
    return tally.figures()
  }

  private async byMinute(
    question: UsageQuestion,
    edges: readonly number[],
    grouping: LoggedGrouping | null,
    { tally, prunedBefore }: { readonly tally: Tally; readonly prunedBefore: number },
  ): Promise<UsageFigures> {
    const { from, to } = question
    const bucketAt = (at: number) =>
      Math.max(
        0,
        edges.findLastIndex((edge) => edge <= at),
      )
    const logFrom = Math.min(Math.max(from, prunedBefore), to)
    const range = { first: Math.floor(from / QUARTER_HOUR_MS), end: Math.floor(logFrom / QUARTER_HOUR_MS) }
    if (from < prunedBefore) {
      const starts = Array.from({ length: range.end - range.first + 1 }, (_, i) => (range.first + i) * QUARTER_HOUR_MS)
      for (const row of await this.db.all<SummedRow>(sumsOfQuarterHours(question, starts, range, grouping))) {
        const bucket = row.bucket === null ? null : bucketAt(starts[row.bucket] ?? 0)
        tally.count(bucket, row.bucket === null ? row.name : null, row)
      }
    }
    for (const row of await this.logged(question, logFrom, to)) {
      const at = Math.max(row.minute * MINUTE_MS, from)
      tally.count(bucketAt(at), grouping && groupName(row, grouping), row)
    }
    return tally.figures()
  }

  /** Sums from the log between two times, by the minute. */
  private async logged(question: UsageQuestion, from: number, to: number) {
    if (from >= to) return []
    const minute = sql<number>`${requests.at} / ${sql.raw(String(MINUTE_MS))}`
    const { keyId, operation, status, model } = requests
    const rows = await this.db
      .select({
        minute,
        keyId,
        operation,
        status,
        model: sql<string>`coalesce(${model}, '')`,
        requests: sql<number>`sum(1 + ${requests.repeats})`,
        failedRequests: sql<number>`sum(iif(${status} < 400, 0, 1 + ${requests.repeats}))`,
        inputTokens: sql<number>`sum(${requests.inputTokens})`,
        outputTokens: sql<number>`sum(${requests.outputTokens})`,
        cacheReadTokens: sql<number>`sum(${requests.cacheReadTokens})`,
        cacheWriteTokens: sql<number>`sum(${requests.cacheWriteTokens})`,
        charged: sql<number>`sum(${requests.cost})`,
      })
      .from(requests)
      .where(and(loggedCalls({ ...question, from, to }), SOLD_OR_FAILED))
      .groupBy(minute, keyId, operation, status, model)
    return rows.filter((row) => this.isCounted(row.operation))
  }
}

/** A range whose ends are in the part of the log that is not whole gets whole quarters of an hour there. */
function widened(question: UsageQuestion, prunedBefore: number): UsageQuestion {
  const { from, to } = question
  return {
    ...question,
    from: from < prunedBefore ? Math.floor(from / QUARTER_HOUR_MS) * QUARTER_HOUR_MS : from,
    to: to < prunedBefore ? Math.ceil(to / QUARTER_HOUR_MS) * QUARTER_HOUR_MS : to,
  }
}

/** Whether an edge within a short range does not fall on the start of a quarter of an hour. */
function isFine({ from, to }: UsageQuestion, edges: readonly number[]): boolean {
  return to - from <= FINE_RANGE_MS && edges.slice(1, -1).some(isWithinQuarterHour)
}

function isWithinQuarterHour(edge: number): boolean {
  return edge % QUARTER_HOUR_MS !== 0
}

/** Adds up rows as they arrive: buckets by number, groups by name. */
class Tally {
  private readonly buckets: UsageSums[]
  private readonly groups = new Map<string, UsageSums>()
  private readonly wholeQuarterHoursBefore: number | null

  constructor(buckets: number, wholeQuarterHoursBefore: number | null) {
    this.wholeQuarterHoursBefore = wholeQuarterHoursBefore
    this.buckets = Array.from({ length: buckets }, () => NO_USAGE)
  }

  count(bucket: number | null, name: string | number | null, row: SummedUsage): void {
    const sums = sumsOf(row)
    if (bucket !== null) this.buckets[bucket] = added(this.buckets[bucket] ?? NO_USAGE, sums)
    if (name !== null) this.groups.set(String(name), added(this.groups.get(String(name)) ?? NO_USAGE, sums))
  }

  figures(): UsageFigures {
    const groups = [...this.groups].map(([name, sums]) => ({ name, ...sums }))
    return { buckets: this.buckets, groups, wholeQuarterHoursBefore: this.wholeQuarterHoursBefore }
  }
}

function sumsOf(row: SummedUsage): UsageSums {
  return {
    requests: row.requests,
    failedRequests: row.failedRequests,
    inputTokens: row.inputTokens,
    outputTokens: row.outputTokens,
    cacheReadTokens: row.cacheReadTokens,
    cacheWriteTokens: row.cacheWriteTokens,
    charged: micros(row.charged),
  }
}

function groupName(
  row: { keyId: string; operation: string; status: number; model: string },
  grouping: LoggedGrouping,
): string | number {
  switch (grouping) {
    case 'key':
      return row.keyId
    case 'operation':
      return row.operation
    case 'status':
      return row.status
    case 'model':
      return row.model
  }
}
