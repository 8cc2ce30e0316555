import { and, eq, gte, lt, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { micros } from '../../../../core/money'
import {
  FINE_RANGE_MS,
  type UsageFigures,
  type UsageGrouping,
  type UsageQuestion,
} from '../../../../core/usage/reports'
import { added, NO_USAGE, type UsageSums } from '../../../../core/usage/sums'
import { SLOT_MS } from '../journal/group-statements'
import { requests } from '../schema/usage'
import { type SummedRow, type SummedUsage, sumsOfSlots } from './usage-slots'

const MINUTE_MS = 60_000

/** Usage figures: from the rollups for whole slots and days, from the log for both ends of the range and for anything finer than a slot. */
export class LibsqlUsageFigures {
  private readonly db: LibSQLDatabase
  private readonly isCounted: (operation: string) => boolean

  constructor(db: LibSQLDatabase, isCounted: (operation: string) => boolean) {
    this.db = db
    this.isCounted = isCounted
  }

  async of(question: UsageQuestion, edges: readonly number[], grouping: UsageGrouping | null): Promise<UsageFigures> {
    const { from, to } = question
    if (isFine(question, edges)) return this.byMinute(question, edges, grouping)
    const slots = { first: Math.ceil(from / SLOT_MS), end: Math.floor(to / SLOT_MS) }
    const inOneSlot = slots.first > slots.end
    const tally = new Tally(edges.length - 1)
    const [head, body, tail] = await Promise.all([
      this.logged(question, from, inOneSlot ? to : slots.first * SLOT_MS),
      slots.first < slots.end ? this.db.all<SummedRow>(sumsOfSlots(question, edges, slots, grouping)) : [],
      inOneSlot ? [] : this.logged(question, slots.end * SLOT_MS, to),
    ])
    for (const row of head) tally.count(0, grouping && nameOf(row, grouping), row)
    for (const row of body) tally.count(row.bucket, row.bucket === null ? row.name : null, row)
    for (const row of tail) tally.count(edges.length - 2, grouping && nameOf(row, grouping), row)
    return tally.figures()
  }

  private async byMinute(
    question: UsageQuestion,
    edges: readonly number[],
    grouping: UsageGrouping | null,
  ): Promise<UsageFigures> {
    const tally = new Tally(edges.length - 1)
    for (const row of await this.logged(question, question.from, question.to)) {
      const at = Math.max(row.minute * MINUTE_MS, question.from)
      tally.count(
        edges.findLastIndex((edge) => edge <= at),
        grouping && nameOf(row, grouping),
        row,
      )
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
        requests: sql<number>`count(*)`,
        failedRequests: sql<number>`sum(iif(${status} < 400, 0, 1))`,
        inputTokens: sql<number>`sum(${requests.inputTokens})`,
        outputTokens: sql<number>`sum(${requests.outputTokens})`,
        cacheReadTokens: sql<number>`sum(${requests.cacheReadTokens})`,
        cacheWriteTokens: sql<number>`sum(${requests.cacheWriteTokens})`,
        charged: sql<number>`sum(${requests.cost})`,
      })
      .from(requests)
      .where(
        and(
          eq(requests.accountId, question.accountId),
          gte(requests.at, from),
          lt(requests.at, to),
          question.keyId ? eq(keyId, question.keyId) : undefined,
          question.operation ? eq(operation, question.operation) : undefined,
          question.status === null ? undefined : eq(status, question.status),
          question.model === null ? undefined : eq(model, question.model),
        ),
      )
      .groupBy(minute, keyId, operation, status, model)
    return rows.filter((row) => this.isCounted(row.operation))
  }
}

/** Whether an edge within a short range does not fall on a slot boundary. */
function isFine({ from, to }: UsageQuestion, edges: readonly number[]): boolean {
  return to - from <= FINE_RANGE_MS && edges.slice(1, -1).some((edge) => edge % SLOT_MS !== 0)
}

/** Adds up rows as they arrive: buckets by number, groups by name. */
class Tally {
  private readonly buckets: UsageSums[]
  private readonly groups = new Map<string, UsageSums>()

  constructor(buckets: number) {
    this.buckets = Array.from({ length: buckets }, () => NO_USAGE)
  }

  count(bucket: number | null, name: string | number | null, row: SummedUsage): void {
    const sums = sumsOf(row)
    if (bucket !== null) this.buckets[bucket] = added(this.buckets[bucket] ?? NO_USAGE, sums)
    if (name !== null) this.groups.set(String(name), added(this.groups.get(String(name)) ?? NO_USAGE, sums))
  }

  figures(): UsageFigures {
    return { buckets: this.buckets, groups: [...this.groups].map(([name, sums]) => ({ name, ...sums })) }
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

function nameOf(
  row: { keyId: string; operation: string; status: number; model: string },
  grouping: UsageGrouping,
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
