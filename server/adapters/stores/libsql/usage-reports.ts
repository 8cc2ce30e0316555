import { and, desc, eq, gte, lt, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { AccountId, KeyId, RequestId } from '../../../core/ids'
import type { Page } from '../../../core/page'
import type { CallRecord } from '../../../core/usage/call-record'
import type {
  RequestFilter,
  UsageFigures,
  UsageGrouping,
  UsageQuestion,
  UsageReports,
} from '../../../core/usage/reports'
import { cursorOf, parseCursor } from './cursor'
import { requests } from './schema/usage'
import { LibsqlUsageFigures } from './usage-figures'

/** Reports from the request log and its sums. */
export class LibsqlUsageReports implements UsageReports {
  private readonly db: LibSQLDatabase
  private readonly isCounted: (operation: string) => boolean
  private readonly figures: LibsqlUsageFigures

  constructor(db: LibSQLDatabase, isCounted: (operation: string) => boolean) {
    this.db = db
    this.isCounted = isCounted
    this.figures = new LibsqlUsageFigures(db, isCounted)
  }

  async usage(
    question: UsageQuestion,
    edges: readonly number[],
    grouping: UsageGrouping | null,
  ): Promise<UsageFigures> {
    return this.figures.of(question, edges, grouping)
  }

  async requests(filter: RequestFilter, limit: number, cursor: string | null): Promise<Page<CallRecord> | null> {
    const after = cursor === null ? null : parseCursor(cursor, /^req_\w+$/)
    if (cursor !== null && !after) return null
    const rows = await this.db
      .select()
      .from(requests)
      .where(
        and(
          eq(requests.accountId, filter.accountId),
          filter.keyId ? eq(requests.keyId, filter.keyId) : undefined,
          filter.operation ? eq(requests.operation, filter.operation) : undefined,
          filter.status === null ? undefined : eq(requests.status, filter.status),
          filter.from === null ? undefined : gte(requests.at, filter.from),
          filter.to === null ? undefined : lt(requests.at, filter.to),
          after ? sql`(${requests.at}, ${requests.id}) < (${after.number}, ${after.text})` : undefined,
        ),
      )
      .orderBy(desc(requests.at), desc(requests.id))
      .limit(limit + 1)
    const last = rows[limit - 1]
    return {
      rows: rows.slice(0, limit).map((row) => this.callOf(row)),
      next: rows.length > limit && last ? cursorOf(last.at, last.id) : null,
    }
  }

  async request(account: AccountId, key: KeyId | null, id: string): Promise<CallRecord | null> {
    const own = and(eq(requests.accountId, account), key ? eq(requests.keyId, key) : undefined)
    const [byOurs] = await this.db
      .select()
      .from(requests)
      .where(and(eq(requests.id, id as RequestId), own)) // any text: an id that does not exist matches nothing
    if (byOurs) return this.callOf(byOurs)
    const [byTheirs] = await this.db
      .select()
      .from(requests)
      .where(and(own, eq(requests.clientRequestId, id)))
      .orderBy(desc(requests.id))
      .limit(1)
    return byTheirs ? this.callOf(byTheirs) : null
  }

  private callOf(row: typeof requests.$inferSelect): CallRecord {
    const charged =
      row.priceVersion === null || row.unitPrice === null || row.units === null
        ? null
        : {
            cost: row.cost,
            priceVersion: row.priceVersion,
            unit: 'request' as const,
            units: row.units,
            unitPrice: row.unitPrice,
          }
    return {
      id: row.id,
      clientRequestId: row.clientRequestId,
      accountId: row.accountId,
      keyId: row.keyId,
      operation: row.operation,
      counted: this.isCounted(row.operation),
      at: row.at,
      status: row.status,
      code: row.code,
      latencyMs: row.latencyMs,
      address: row.address,
      tokens: {
        input: row.inputTokens,
        output: row.outputTokens,
        cacheRead: row.cacheReadTokens,
        cacheWrite: row.cacheWriteTokens,
      },
      charged,
    }
  }
}
