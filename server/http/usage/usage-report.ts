import { unitOf } from '../../core/catalog/operations'
import type { Parameters, ParameterTable } from '../../core/catalog/parameters'
import { HOUR_MS, isoTime } from '../../core/clock'
import { wrongParameters } from '../../core/failure'
import type { AccountId, CredentialId } from '../../core/ids'
import type { AccountTransaction, StatementLine } from '../../core/ledger/account-statement'
import { costOfLines } from '../../core/models/token-price'
import { formatUsd, type Money } from '../../core/money'
import { type BucketWidth, boundaries } from '../../core/usage/calendar'
import type { CallRecord, ChargeLine } from '../../core/usage/call-record'
import { type LatencyCounts, latencyQuantiles } from '../../core/usage/latency'
import { FINE_RANGE_MS, type UsageGrouping, type UsageReports } from '../../core/usage/reports'
import { summarize } from '../../core/usage/summary'
import type { UsageSums } from '../../core/usage/sums'
import { TIME_ZONE } from '../middleware/input/time-zone-parameter'
import { Failed, notFound } from '../middleware/response/failures'
import type { ExplainedRequest, RequestRecord, TransactionRecord, UsageReport } from './record'

const DAY_SECONDS = 86_400
/** The maximum range of a report, by bucket width. */
const MAX_RANGE: Record<BucketWidth, { readonly seconds: number; readonly words: string }> = {
  '1m': { seconds: FINE_RANGE_MS / 1000, words: `${FINE_RANGE_MS / HOUR_MS} hours` },
  '1h': { seconds: 31 * DAY_SECONDS, words: '31 days' },
  '1d': { seconds: 366 * DAY_SECONDS, words: '366 days' },
}
const DEFAULT_SECONDS: Record<BucketWidth, number> = { '1m': 3600, '1h': DAY_SECONDS, '1d': 30 * DAY_SECONDS }
const YEAR_2100 = 4_102_444_800

/** The parameters of a usage report (spec D8). Times are UNIX seconds; the end is not included. */
export const USAGE_QUERY = {
  start_time: {
    in: 'query',
    kind: 'integer',
    min: 0,
    max: YEAR_2100,
    description: 'Start (inclusive), in UNIX seconds.',
    example: 1_795_132_800,
  },
  end_time: {
    in: 'query',
    kind: 'integer',
    min: 0,
    max: YEAR_2100,
    description: 'End (exclusive), in UNIX seconds.',
    example: 1_795_219_200,
  },
  bucket_width: {
    in: 'query',
    kind: 'enum',
    values: ['1h', '1d'],
    default: '1d',
    description: 'The width of a bucket.',
  },
  timezone: { ...TIME_ZONE, description: 'The time zone that hours and days are counted in.' },
} as const satisfies ParameterTable

/** The same for owners, who can also use buckets of one minute. */
export const OWNER_USAGE_QUERY = {
  ...USAGE_QUERY,
  bucket_width: { ...USAGE_QUERY.bucket_width, values: ['1m', '1h', '1d'], description: 'The width of a bucket.' },
} as const satisfies ParameterTable

export interface UsageSubject {
  readonly scope: 'key' | 'account'
  readonly accountId: AccountId
  readonly keyId: CredentialId | null
  readonly keyIds?: readonly CredentialId[] | null
  readonly operation?: string | null
  readonly status?: number | null
  readonly model?: string | null
}

/** The body of `/v1/usage`, and the figures of `/api/usage`. */
export async function usageReport(
  reports: UsageReports,
  query: Parameters<typeof OWNER_USAGE_QUERY>,
  who: UsageSubject,
  grouping: UsageGrouping | null,
  now: number,
): Promise<UsageReport> {
  const width = query.bucket_width
  const end = query.end_time ?? Math.floor(now / 1000) + 1
  const start = query.start_time ?? end - DEFAULT_SECONDS[width]
  const rule =
    start >= end
      ? 'must be before end_time'
      : end - start > MAX_RANGE[width].seconds
        ? `must be at most ${MAX_RANGE[width].words} before end_time with bucket_width ${width}`
        : null
  if (rule) {
    const wrong = {
      param: 'start_time',
      in: 'query',
      code: 'invalid_parameter',
      rule,
      received: String(start),
    } as const
    throw new Failed(wrongParameters([wrong]))
  }
  const range = { from: start * 1000, to: end * 1000 }
  const { accountId, keyId, keyIds = null, operation = null, status = null, model = null } = who
  const edges = boundaries(range.from, range.to, width, query.timezone)
  const figures = await reports.usage({ accountId, keyId, keyIds, operation, status, model, ...range }, edges, grouping)
  const summary = summarize(figures, edges, range)
  return {
    scope: who.scope,
    currency: 'USD' as const,
    start_time: start,
    end_time: end,
    bucket_width: width,
    timezone: query.timezone,
    totals: wireSums(summary.totals),
    buckets: summary.buckets.map((bucket) => ({
      start_time: bucket.from / 1000,
      end_time: bucket.to / 1000,
      ...wireSums(bucket),
    })),
    ...(figures.wholeQuarterHoursBefore !== null && { whole_slots_before: figures.wholeQuarterHoursBefore / 1000 }),
    ...(grouping && {
      groups: summary.groups.map((group) => ({ group_by: grouping, name: group.name, ...wireSums(group) })),
    }),
  }
}

/** Latencies for owners: of all calls, and by operation, provider and model, most calls first. Null with a filter by status. */
export async function latencyReport(
  reports: Pick<UsageReports, 'latencies'>,
  { start_time, end_time }: Pick<UsageReport, 'start_time' | 'end_time'>,
  { accountId, keyId, keyIds = null, operation = null, status = null, model = null }: UsageSubject,
): Promise<NonNullable<UsageReport['latency']> | null> {
  if (status !== null) return null
  const range = { from: start_time * 1000, to: end_time * 1000 }
  const groups = await reports.latencies({ accountId, keyId, keyIds, operation, model, ...range })
  const all = new Map<number, number>()
  for (const { counts } of groups) for (const [bucket, calls] of counts) all.set(bucket, (all.get(bucket) ?? 0) + calls)
  return {
    ...wireLatency(all),
    groups: groups
      .map(({ operation, provider, model, counts }) => ({
        operation,
        provider: provider || null,
        model: model || null,
        ...wireLatency(counts),
      }))
      .sort((a, b) => b.calls - a.calls || (a.operation < b.operation ? -1 : 1)),
  }
}

function wireLatency(counts: LatencyCounts) {
  const times = latencyQuantiles(counts)
  const calls = [...counts.values()].reduce((sum, count) => sum + count, 0)
  return { calls, p50_ms: times?.p50 ?? null, p95_ms: times?.p95 ?? null, p99_ms: times?.p99 ?? null }
}

function wireSums(sums: UsageSums) {
  return {
    requests: sums.requests,
    failed_requests: sums.failedRequests,
    input_tokens: sums.inputTokens,
    output_tokens: sums.outputTokens,
    cache_read_tokens: sums.cacheReadTokens,
    cache_write_tokens: sums.cacheWriteTokens,
    charged_micros_usd: sums.charged,
  }
}

/** One row of the request log, as owners see it. */
export function wireCall(call: CallRecord): RequestRecord {
  return {
    id: call.id,
    client_request_id: call.clientRequestId,
    at: isoTime(call.at),
    key_id: call.keyId,
    operation: call.operation,
    model: call.model ?? null,
    status: call.status,
    code: call.code,
    input_tokens: call.tokens.input,
    output_tokens: call.tokens.output,
    cache_read_tokens: call.tokens.cacheRead,
    cache_write_tokens: call.tokens.cacheWrite,
    usage_source: call.usageSource ?? null,
    cost_micros_usd: call.charged?.cost ?? 0,
    refunded_micros_usd: call.refunded ?? 0,
    latency_ms: call.latencyMs,
    ip: call.address,
    repeats: call.repeats ?? 0,
  }
}

export function wireTransaction(row: AccountTransaction & Partial<StatementLine>): TransactionRecord {
  return {
    id: row.id,
    at: isoTime(row.at),
    kind: row.kind,
    description: row.description,
    request_id: row.requestId,
    amount_micros_usd: row.amount,
    balance_after_micros_usd: row.balanceAfter,
    charges: row.charges ?? null,
  }
}

/** One call explained: its times, why it failed, and the price version, inputs and arithmetic of its charge (spec D8). */
/** Why a call is not there: an archive may have it. */
export async function noCall(reports: UsageReports, id: string, message: string): Promise<Failed> {
  const archive = await reports.archiveOfCall(id)
  return notFound(archive === null ? message : `${message} Calls of that month are in the archive ${archive}.`)
}

export function explainedCall(call: CallRecord): ExplainedRequest {
  const { charged, upstream, failure = null } = call
  const unit = unitOf(call.operation)
  const lines: readonly ChargeLine[] = charged
    ? (charged.lines ?? [{ item: unit, units: charged.units, unitPrice: charged.unitPrice, per: 1 }])
    : []
  return {
    ...wireCall(call),
    provider: upstream?.provider ?? null,
    times: {
      waiting_ms: upstream?.waitingMs ?? null,
      upstream_ms: upstream?.upstreamMs ?? null,
      total_ms: call.latencyMs,
    },
    failure,
    held_micros_usd: heldFor(call),
    charge: charged && {
      currency: 'USD' as const,
      price_version: charged.priceVersion,
      inputs: {
        unit,
        units: charged.units,
        unit_price_micros_usd: charged.unitPrice,
        lines: lines.map(({ item, units, unitPrice, per }) => ({
          item,
          units,
          unit_price_micros_usd: unitPrice,
          per,
        })),
      },
      arithmetic: arithmeticOf(lines, charged.cost),
      charged_micros_usd: charged.cost,
    },
  }
}

/** The hold; null without one, or if not known. A charge of one unit takes the whole hold. */
function heldFor({ held, charged }: CallRecord): Money | null {
  return held || (charged?.units === 1 && !charged.lines ? charged.cost : null)
}

/** The calculation as text. Tokens are priced per million, and the total is rounded up once. */
function arithmeticOf(lines: readonly ChargeLine[], cost: Money): string {
  const terms = lines.map(
    ({ item, units, unitPrice, per }) =>
      `${units} ${item} x ${formatUsd(unitPrice)} USD${per === 1 ? '' : ` / ${per}`}`,
  )
  const sum = costOfLines(lines)
  const held = sum > cost ? `, of which ${formatUsd(cost)} USD were held and are charged` : ''
  return `${terms.join(' + ') || 'nothing'} = ${formatUsd(sum)} USD${held}`
}
