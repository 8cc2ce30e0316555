import { and, desc, eq, getTableColumns, gte, inArray, lt, or, type SQL, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { DAY_MS } from '../../../../core/clock'
import type { AccountId, KeyId, RequestId } from '../../../../core/ids'
import { type Money, micros } from '../../../../core/money'
import type { Page } from '../../../../core/page'
import type { CallRecord } from '../../../../core/usage/call-record'
import {
  type ErrorReport,
  type LatencyGroup,
  type LatencyQuestion,
  QUARTER_HOUR_MS,
  type RequestFilter,
  type RequestSearch,
  type UsageFigures,
  type UsageGrouping,
  type UsageQuestion,
  type UsageReports,
} from '../../../../core/usage/reports'
import { cursorOf, parseCursor } from '../driver/cursor'
import { archivedMonths, archivedSums, entries, IS_REFUND } from '../schema/ledger'
import { pruned, requests, usageLatency, usageLatencyDays } from '../schema/usage'
import { errorsOf } from './error-report'
import { loggedCalls, ofKeys } from './of-keys'
import type { ReportTurns } from './report-turns'
import { scopeGroups } from './scope-groups'
import { LibsqlUsageFigures } from './usage-figures'
import { piecesOf } from './usage-quarter-hours'

/** The maximum number of calls that one page of an unindexed filter scans: about 60 ms. A log of a million would take a second. */
const WINDOW = 50_000
/** What was given back of the charge of a call: one transaction, of at most two adjacent entries. */
const REFUNDED = sql<number>`coalesce((SELECT sum(part.amount) FROM ${entries} one JOIN ${entries} part
  ON part.seq IN (one.seq, one.seq + 1) AND part.transaction_id = one.transaction_id
  WHERE one.reference = 'charge_refund:' || ${requests.id}), 0)`
/** An id of a call begins with its time. */
const CALL = /^req_([0-9a-f]{12})/

/** Reports from the request log and its sums. */
export class LibsqlUsageReports implements UsageReports {
  private readonly db: LibSQLDatabase
  private readonly isCounted: (operation: string) => boolean
  private readonly figures: LibsqlUsageFigures
  private readonly turns: ReportTurns
  private readonly window: number

  constructor(db: LibSQLDatabase, isCounted: (operation: string) => boolean, turns: ReportTurns, window = WINDOW) {
    this.db = db
    this.window = window
    this.isCounted = isCounted
    this.turns = turns
    this.figures = new LibsqlUsageFigures(db, isCounted)
  }

  usage(question: UsageQuestion, edges: readonly number[], grouping: UsageGrouping | null): Promise<UsageFigures> {
    return this.turns.of(question.accountId, async () => {
      for (;;) {
        const before = await this.prunedBefore()
        const figures = await this.figuresOf(question, edges, grouping, before)
        // Rows that were removed meanwhile would be missing at the ends of the range.
        if ((await this.prunedBefore()) === before) return figures
      }
    })
  }

  private async figuresOf(
    question: UsageQuestion,
    edges: readonly number[],
    grouping: UsageGrouping | null,
    before: number,
  ): Promise<UsageFigures> {
    if (grouping !== 'scope') return this.figures.of(question, edges, grouping, before)
    const figures = await this.figures.of(question, edges, null, before)
    return { ...figures, groups: await scopeGroups(this.db, question) }
  }

  /** Uncharged calls that are older may be missing in the log. */
  private async prunedBefore(): Promise<number> {
    const [row] = await this.db.select({ before: pruned.before }).from(pruned).where(eq(pruned.name, 'requests'))
    return row?.before ?? 0
  }

  refunded(question: UsageQuestion): Promise<Money> {
    return this.turns.of(question.accountId, async () => {
      // From the few refunds to their calls.
      const [row] = await this.db.all<{ sum: number }>(sql`SELECT coalesce(sum(${entries.amount}), 0) AS sum
        FROM ${entries} CROSS JOIN ${requests} ON ${requests.id} = ${entries.requestId}
        WHERE ${IS_REFUND} AND ${loggedCalls(question)}`)
      return micros(row?.sum ?? 0)
    })
  }

  latencies(question: LatencyQuestion): Promise<readonly LatencyGroup[]> {
    return this.turns.of(question.accountId, () => latenciesOf(this.db, question))
  }

  errors(filter: RequestFilter): Promise<ErrorReport> {
    return this.turns.of(filter.accountId, () => errorsOf(this.db, filter, this.isCounted))
  }

  async requests(filter: RequestFilter, limit: number, cursor: string | null): Promise<Page<CallRecord> | null> {
    const after = cursor === null ? null : parseCursor(cursor, /^req_\w+$/)
    return cursor !== null && !after ? null : this.turns.of(filter.accountId, () => this.page(filter, limit, after))
  }

  private async page(
    filter: RequestFilter,
    limit: number,
    after: ReturnType<typeof parseCursor>,
  ): Promise<Page<CallRecord>> {
    const { search } = filter
    const named = search?.by === 'name' ? await this.named(filter, search.text, limit, after?.text) : null
    if (named) return named
    // A path that does not exist: a long log needs no reading.
    if (search?.by === 'operations' && search.operations.length === 0) return { rows: [], next: null }
    const range = and(
      eq(requests.accountId, filter.accountId),
      filter.from === null ? undefined : gte(requests.at, filter.from),
      filter.to === null ? undefined : lt(requests.at, filter.to),
      after ? sql`(${requests.at}, ${requests.id}) < (${after.number}, ${after.text})` : undefined,
    )
    const last = mayMatchRarely(filter) ? await this.lastOfWindow(range) : null
    const rows = await this.calls()
      .where(
        and(
          range,
          last ? sql`(${requests.at}, ${requests.id}) >= (${last.at}, ${last.id})` : undefined,
          ofKeys(requests.keyId, filter),
          filter.operation ? eq(requests.operation, filter.operation) : undefined,
          filter.status === null ? undefined : eq(requests.status, filter.status),
          filter.model === null ? undefined : eq(requests.model, filter.model),
          // Word for word the condition of the index requests_failed, or SQLite would not use it.
          exactStatus(filter) === null || exactStatus(filter) === 200 ? undefined : sql`${requests.status} <> 200`,
          filter.search ? matchesSearch(filter.search) : undefined,
        ),
      )
      .orderBy(desc(requests.at), desc(requests.id))
      .limit(limit + 1)
    const next = rows.length > limit ? rows[limit - 1] : last
    return {
      rows: rows.slice(0, limit).map((row) => this.callOf(row)),
      next: next ? cursorOf(next.at, next.id) : null,
    }
  }

  request(account: AccountId, key: KeyId | null, id: string): Promise<CallRecord | null> {
    return this.turns.of(account, () => this.one(account, key, id))
  }

  private async one(account: AccountId, key: KeyId | null, id: string): Promise<CallRecord | null> {
    const own = and(eq(requests.accountId, account), key ? eq(requests.keyId, key) : undefined)
    const [byOurs] = await this.calls().where(and(eq(requests.id, id as RequestId), own)) // any text: an id that does not exist matches nothing
    if (byOurs) return this.callOf(byOurs)
    const [byTheirs] = await this.calls()
      .where(and(own, eq(requests.clientRequestId, id)))
      .orderBy(desc(requests.id))
      .limit(1)
    return byTheirs ? this.callOf(byTheirs) : null
  }

  async archiveOfCall(id: string): Promise<string | null> {
    const day = Math.floor(Number.parseInt(CALL.exec(id)?.[1] ?? '', 16) / DAY_MS)
    if (!Number.isSafeInteger(day)) return null
    const [row] = await this.db
      .select({ name: archivedMonths.name })
      .from(archivedMonths)
      .where(sql`${day} BETWEEN first_day AND last_day`)
    return row?.name ?? null
  }

  async archivesOf(account: AccountId): Promise<readonly string[]> {
    const rows = await this.db.all<{
      name: string
    }>(sql`SELECT name FROM ${archivedMonths} m WHERE EXISTS (SELECT 1 FROM ${archivedSums}
      WHERE account IN (${`${account}/credit`}, ${`${account}/paid`}) AND day BETWEEN m.first_day AND m.last_day) ORDER BY first_day`)
    return rows.map(({ name }) => name)
  }

  /** The newest calls of an account with this id, the gateway's or the caller's. Both have an index. Null if there is none. */
  private async named(
    { accountId, seen = null }: RequestFilter,
    id: string,
    limit: number,
    after: string | undefined,
  ): Promise<Page<CallRecord> | null> {
    const own = and(eq(requests.accountId, accountId), ofKeys(requests.keyId, { keyId: null, keyIds: seen }))
    const [byOurs] = await this.calls().where(and(eq(requests.id, id as RequestId), own)) // any text: an id that does not exist matches nothing
    if (byOurs) return { rows: [this.callOf(byOurs)], next: null }
    // In the order of the index, so that a million calls with the same id need no sorting.
    const older = after === undefined ? undefined : lt(requests.id, after as RequestId) // of a cursor that was read
    const byTheirs = await this.calls()
      .where(and(own, eq(requests.clientRequestId, id), older))
      .orderBy(desc(requests.id))
      .limit(limit + 1)
    if (byTheirs.length === 0) return null
    const last = byTheirs.length > limit ? byTheirs[limit - 1] : undefined
    return {
      rows: byTheirs.slice(0, limit).map((row) => this.callOf(row)),
      next: last ? cursorOf(last.at, last.id) : null,
    }
  }

  /** The last call that a page of this range scans; null when it scans all of them. */
  private async lastOfWindow(range: SQL | undefined): Promise<{ at: number; id: RequestId } | null> {
    const { at, id } = requests
    const window = this.db.select({ at, id }).from(requests).where(range).orderBy(desc(at), desc(id))
    const [last] = await window.limit(1).offset(this.window - 1)
    return last ?? null
  }

  private calls() {
    return this.db.select({ ...getTableColumns(requests), refunded: REFUNDED }).from(requests)
  }

  private callOf(row: typeof requests.$inferSelect & { readonly refunded: number }): CallRecord {
    const charged =
      row.priceVersion === null || row.unitPrice === null || row.units === null
        ? null
        : {
            cost: row.cost,
            priceVersion: row.priceVersion,
            units: row.units,
            unitPrice: row.unitPrice,
            ...(row.chargeLines && { lines: row.chargeLines }),
          }
    return {
      id: row.id,
      clientRequestId: row.clientRequestId,
      accountId: row.accountId,
      keyId: row.keyId,
      operation: row.operation,
      counted: this.isCounted(row.operation) && (charged !== null || row.code !== null),
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
      ...(row.model !== null && { model: row.model }),
      ...(row.usageSource && { usageSource: row.usageSource }),
      charged,
      ...(row.refunded > 0 && { refunded: micros(row.refunded) }),
      ...(row.held !== null && { held: row.held }),
      ...(row.repeats > 0 && { repeats: row.repeats }),
      ...(row.provider !== null && {
        upstream: { provider: row.provider, waitingMs: row.waitingMs ?? 0, upstreamMs: row.upstreamMs ?? 0 },
      }),
      ...(row.failure && { failure: row.failure }),
    }
  }
}

/** Whether a page could scan a long log to find few calls. Failures filtered by status alone have an index. */
function mayMatchRarely(filter: RequestFilter): boolean {
  const { keyId, keyIds, operation, model, search } = filter
  const isSearch = search !== undefined && search !== null && search.by !== 'status'
  return (
    keyId !== null || Boolean(keyIds) || operation !== null || model !== null || isSearch || exactStatus(filter) === 200
  )
}

/** The status that all matching calls have; null if they may have several. */
function exactStatus({ status, search }: RequestFilter): number | null {
  return search?.by === 'status' ? search.status : status
}

function matchesSearch(search: RequestSearch): SQL | undefined {
  switch (search.by) {
    case 'status':
      return eq(requests.status, search.status)
    case 'code':
      return eq(requests.code, search.code)
    case 'address':
      return eq(requests.address, search.address)
    case 'operations':
      return inArray(requests.operation, [...search.operations])
    case 'name':
      return or(eq(requests.code, search.text), eq(requests.operation, search.text))
  }
}

interface LatencyRow {
  readonly operation: string
  readonly provider: string
  readonly model: string
  readonly bucket: number
  readonly calls: number
}

/** The latencies of a range in whole quarters of an hour: UTC days, plus or minus the quarters of an hour at both ends. */
async function latenciesOf(db: LibSQLDatabase, question: LatencyQuestion): Promise<readonly LatencyGroup[]> {
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
