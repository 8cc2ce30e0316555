import { and, desc, eq, gte, lt, type SQL, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { AccountId, KeyId, RequestId } from '../../../core/ids'
import { micros } from '../../../core/money'
import type { Page } from '../../../core/page'
import type { CallRecord } from '../../../core/usage/call-record'
import type { RequestFilter, UsageCell, UsageQuestion, UsageReports } from '../../../core/usage/reports'
import { cursorOf, parseCursor } from './cursor'
import { SLOT_MS } from './group-statements'
import { requests, usageRollup } from './schema/usage'

/** Reports from the rollup for whole slots, and from the log for the two edges of the asked range. */
export class LibsqlUsageReports implements UsageReports {
  private readonly db: LibSQLDatabase
  private readonly isCounted: (operation: string) => boolean
  private readonly applied: () => Promise<void>

  /** `applied` resolves when the tables have every charge that was acknowledged. */
  constructor(db: LibSQLDatabase, isCounted: (operation: string) => boolean, applied: () => Promise<void>) {
    this.db = db
    this.isCounted = isCounted
    this.applied = applied
  }

  async usage(question: UsageQuestion): Promise<readonly UsageCell[]> {
    await this.applied()
    const firstSlot = Math.ceil(question.from / SLOT_MS)
    const endSlot = Math.floor(question.to / SLOT_MS)
    if (firstSlot > endSlot) return this.fromLog(question, question.from, question.to)
    const [head, body, tail] = await Promise.all([
      this.fromLog(question, question.from, firstSlot * SLOT_MS),
      this.fromRollup(question, firstSlot, endSlot),
      this.fromLog(question, endSlot * SLOT_MS, question.to),
    ])
    return [...head, ...body, ...tail]
  }

  async requests(filter: RequestFilter, limit: number, cursor: string | null): Promise<Page<CallRecord> | null> {
    const after = cursor === null ? null : parseCursor(cursor, /^req_\w+$/)
    if (cursor !== null && !after) return null
    await this.applied()
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
    await this.applied()
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

  private async fromRollup(question: UsageQuestion, firstSlot: number, endSlot: number): Promise<UsageCell[]> {
    const rows = await this.db
      .select()
      .from(usageRollup)
      .where(
        and(
          eq(usageRollup.accountId, question.accountId),
          gte(usageRollup.slot, firstSlot),
          lt(usageRollup.slot, endSlot),
          question.keyId ? eq(usageRollup.keyId, question.keyId) : undefined,
          question.operation ? eq(usageRollup.operation, question.operation) : undefined,
          question.status === null ? undefined : eq(usageRollup.status, question.status),
        ),
      )
    return rows.map(({ accountId: _a, slot, ...row }) => ({
      ...row,
      at: slot * SLOT_MS,
      failedRequests: row.status < 400 ? 0 : row.requests,
    }))
  }

  private async fromLog(question: UsageQuestion, from: number, to: number): Promise<UsageCell[]> {
    if (from >= to) return []
    const conditions: (SQL | undefined)[] = [
      eq(requests.accountId, question.accountId),
      gte(requests.at, from),
      lt(requests.at, to),
      question.keyId ? eq(requests.keyId, question.keyId) : undefined,
      question.operation ? eq(requests.operation, question.operation) : undefined,
      question.status === null ? undefined : eq(requests.status, question.status),
    ]
    const { keyId, operation, status } = requests
    const rows = await this.db
      .select({
        keyId,
        operation,
        status,
        requests: sql<number>`count(*)`,
        inputTokens: sql<number>`sum(${requests.inputTokens})`,
        outputTokens: sql<number>`sum(${requests.outputTokens})`,
        cacheReadTokens: sql<number>`sum(${requests.cacheReadTokens})`,
        cacheWriteTokens: sql<number>`sum(${requests.cacheWriteTokens})`,
        charged: sql<number>`sum(${requests.cost})`,
      })
      .from(requests)
      .where(and(...conditions))
      .groupBy(keyId, operation, status)
    return rows
      .filter((row) => this.isCounted(row.operation))
      .map((row) => ({
        ...row,
        at: from,
        charged: micros(row.charged),
        failedRequests: row.status < 400 ? 0 : row.requests,
      }))
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
