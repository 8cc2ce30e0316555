import type { AppGrantStore } from '../../core/accounts/app-grant'
import type { Parameters, ParameterTable } from '../../core/catalog/parameters'
import { isoTime } from '../../core/clock'
import { formatAddress, parseAddress } from '../../core/credentials/address'
import { KEY_SIZES } from '../../core/credentials/api-key'
import type { CredentialStore } from '../../core/credentials/store'
import type { KeyId } from '../../core/ids'
import type { AccountStatements } from '../../core/ledger/account-statement'
import { formatUsd, ZERO } from '../../core/money'
import type { CallRecord } from '../../core/usage/call-record'
import type { RequestFilter, RequestSearch, UsageReports } from '../../core/usage/reports'
import { MAX_SOLD_NAME, tagOf } from '../keys/record'
import { type AccountCaller, callersOf } from '../middleware/caller/callers'
import type { OwnerSessions } from '../middleware/caller/owner-session'
import { type SeenCalls, seenKeys, seesCall, type UsageReader } from '../middleware/caller/seen-calls'
import { INSTANT, instantOf } from '../middleware/input/instant-parameter'
import { PAGE_QUERY, queryOf, refuseCursor } from '../middleware/input/list-query'
import { TIME_ZONE } from '../middleware/input/time-zone-parameter'
import { routeGroup } from '../middleware/request-context'
import { csvFile, csvLine, paced } from '../middleware/response/csv'
import { documented } from '../openapi/documented'
import { logMeaning } from '../openapi/failure-meanings'
import { allowed, type Id, signedIn } from '../routing/api-access'
import { costing, EXPORT, logPage, page, usageReport as usageCost } from '../routing/cost'
import type { EndpointTable } from '../routing/endpoint-table'
import { ACTIVITY_DOCS } from './activity-docs'
import type { ExplainedRequest, RequestPage, TransactionPage, UsageReport } from './record'
import { groupedByTag } from './tags'
import {
  explainedCall,
  latencyReport,
  noCall,
  OWNER_USAGE_QUERY,
  usageReport,
  wireCall,
  wireTransaction,
} from './usage-report'

const CALL_FILTER = {
  key: {
    in: 'query',
    kind: 'text',
    min: 1,
    max: 64,
    description: 'Only calls of this key or app (`key_...` or `conn_...`).',
  },
  tag: {
    in: 'query',
    kind: 'text',
    min: 1,
    max: KEY_SIZES.tag,
    description: 'Only calls of the keys that have this tag now, also of revoked ones.',
    example: 'production',
  },
  operation: {
    in: 'query',
    kind: 'text',
    min: 1,
    max: MAX_SOLD_NAME,
    description: 'Only calls of this operation.',
    example: 'image-search',
  },
  status: {
    in: 'query',
    kind: 'integer',
    min: 100,
    max: 599,
    description: 'Only calls that ended with this status.',
    example: 200,
  },
  model: {
    in: 'query',
    kind: 'text',
    min: 1,
    max: 128,
    description: 'Only calls of this model.',
    example: 'sandbox/echo',
  },
} as const satisfies ParameterTable

export const LOG_FILTER = {
  ...CALL_FILTER,
  from: { ...INSTANT, description: 'Only calls at or after this time.', example: '2026-11-01T00:00:00Z' },
  to: { ...INSTANT, description: 'Only calls before this time.', example: '2030-01-01T00:00:00Z' },
} as const satisfies ParameterTable

export const LOG_QUERY = { ...LOG_FILTER, ...PAGE_QUERY } as const satisfies ParameterTable

const SEARCH = {
  search: {
    in: 'query',
    kind: 'text',
    min: 1,
    max: 256,
    description:
      "Only calls that match this text: a status, an IP address, a path, the gateway's or the caller's request id, an error code or an operation. An id finds its calls whatever the other filters say.",
    example: '203.0.113.7',
  },
} as const satisfies ParameterTable
const SEARCHED_LOG_QUERY = { ...LOG_QUERY, ...SEARCH } as const satisfies ParameterTable
const SEARCHED_CSV_QUERY = { ...LOG_FILTER, ...SEARCH } as const satisfies ParameterTable

/** Includes the parameters of the report itself, so that all invalid ones are listed at once. */
export const GROUPED_QUERY = {
  ...CALL_FILTER,
  ...OWNER_USAGE_QUERY,
  group_by: {
    in: 'query',
    kind: 'enum',
    values: ['key', 'operation', 'status', 'model', 'tag', 'scope'],
    description:
      'Adds `groups`, largest charge first. `scope`: the charged calls that named an `X-Budget-Scope`, over whole UTC days, of at most 1,000 scopes.',
  },
} as const satisfies ParameterTable

const TRANSACTION_QUERY = {
  ...PAGE_QUERY,
  group_by: {
    in: 'query',
    kind: 'enum',
    values: ['day'],
    description: 'One row for the charges of a day, instead of one each.',
  },
  timezone: { ...TIME_ZONE, description: 'The time zone that days are counted in.' },
} as const satisfies ParameterTable

const CSV_HEAD = [
  'time_utc',
  'request_id',
  'key_name',
  'key_last4',
  'endpoint',
  'status',
  'code',
  'tokens_in',
  'tokens_out',
  'cost_usd',
  'latency_ms',
  // New columns are appended, so that programs that read columns by position keep working.
  'model',
  'tokens_cache_read',
  'tokens_cache_write',
  'usage_source',
  'paid_by',
  'refunded_usd',
]
/** Rows per query: enough to keep the number of queries low, few enough to fit in memory. */
const CSV_PAGE = 5_000

/** Usage, requests and transactions across all keys of the account (spec D3). */
export function ownerUsageRoutes(parts: {
  owners: OwnerSessions
  credentials: CredentialStore
  apps: Pick<AppGrantStore, 'byAccount'>
  reports: UsageReports
  statements: AccountStatements
  endpoints: EndpointTable
  now: () => number
}) {
  const { owners, reports, statements, endpoints, now } = parts
  const searched = (query: { readonly search?: string }) =>
    query.search === undefined ? null : requestSearch(query.search, endpoints)
  return routeGroup({ name: 'owner-usage', prefix: '/api' })
    .get(
      '/usage',
      ...allowed(
        signedIn(owners, 'usage:read'),
        costing(usageCost, documented(ACTIVITY_DOCS.usage, GROUPED_QUERY)),
        ({ owner, context }) => accountUsage(parts, owner, queryOf(GROUPED_QUERY, context), now()),
      ),
    )
    .get(
      '/requests',
      ...allowed(
        signedIn(owners, 'usage:read'),
        costing(logPage, documented(ACTIVITY_DOCS.requests, SEARCHED_LOG_QUERY)),
        async ({ owner, context }): Promise<RequestPage> => {
          const query = queryOf(SEARCHED_LOG_QUERY, context)
          const filter = { ...(await callFilter(parts, owner, query)), search: searched(query) }
          const page = await reports.requests(filter, query.limit, query.cursor ?? null)
          if (!page) throw refuseCursor(query.cursor ?? '')
          return { requests: page.rows.map(wireCall), next_cursor: page.next }
        },
      ),
    )
    .get(
      '/requests/:id',
      ...allowed(
        signedIn(owners, 'usage:read'),
        documented(ACTIVITY_DOCS.request),
        async ({ owner, accountId }, { id }: Id): Promise<ExplainedRequest> => {
          const call = await reports.request(accountId, null, id)
          if (!call || !(await seesCall(parts, owner, call)))
            throw await noCall(reports, id, 'You made no request with this id.')
          return { ...explainedCall(call), calls: endpoints.callsOf(call.operation) }
        },
      ),
    )
    .get(
      '/transactions',
      ...allowed(
        signedIn(owners, 'money:read'),
        costing(page, documented(ACTIVITY_DOCS.transactions, TRANSACTION_QUERY)),
        async ({ accountId, context }): Promise<TransactionPage> => {
          const { group_by: grouping, timezone, limit, cursor = null } = queryOf(TRANSACTION_QUERY, context)
          const page =
            grouping === 'day'
              ? await statements.daily(accountId, timezone, limit, cursor)
              : await statements.transactions(accountId, limit, cursor)
          if (!page) throw refuseCursor(cursor ?? '')
          return { transactions: page.rows.map(wireTransaction), next_cursor: page.next }
        },
      ),
    )
    .get(
      '/usage.csv',
      ...allowed(
        signedIn(owners, 'usage:read'),
        costing(EXPORT, documented(ACTIVITY_DOCS.csv, SEARCHED_CSV_QUERY)),
        async ({ owner, context }) => {
          const query = queryOf(SEARCHED_CSV_QUERY, context)
          const filter = { ...(await callFilter(parts, owner, query)), search: searched(query) }
          const callers = new Map((await callersOf(owner, parts)).map((caller) => [caller.id, caller]))
          return csvFile(
            context,
            'usage.csv',
            CSV_HEAD,
            paced(context, (cursor) => reports.requests(filter, CSV_PAGE, cursor)),
            (call) => csvCall(call, callers.get(call.keyId)),
          )
        },
      ),
    )
}

/** The usage report of an account, as its owner and operators ask for it. */
export async function accountUsage(
  parts: SeenCalls & { readonly reports: UsageReports },
  reader: UsageReader,
  query: Parameters<typeof GROUPED_QUERY>,
  now: number,
): Promise<UsageReport> {
  const { reports, credentials } = parts
  const { accountId } = reader
  const { key, operation, status, model, group_by: grouping } = query
  const who = {
    scope: 'account',
    accountId,
    keyId: (key ?? null) as KeyId | null, // any text: an id that does not exist matches nothing
    keyIds: await seenKeys(parts, reader, query.tag === undefined ? undefined : tagOf(query.tag)),
    operation: operation ?? null,
    status: status ?? null,
    model: model ?? null,
  } as const
  const byKey = await usageReport(reports, query, who, grouping === 'tag' ? 'key' : (grouping ?? null), now)
  const named = (byKey.groups ?? []).map(({ name }) => name ?? '')
  const report = grouping === 'tag' ? groupedByTag(byKey, await credentials.lists.byIds(accountId, named)) : byKey
  const range = { from: report.start_time * 1000, to: report.end_time * 1000 }
  const [latency, refunded] = await Promise.all([
    latencyReport(reports, report, who),
    reports.refunded({ ...who, ...range }),
  ])
  return { ...report, refunded_micros_usd: refunded, latency }
}

function csvCall(call: CallRecord, caller: AccountCaller | undefined): string {
  const { id, operation, status, code, latencyMs, tokens } = call
  const time = isoTime(call.at)
  const cost = formatUsd(call.charged?.cost ?? ZERO)
  const whose = [caller?.name ?? '', caller?.last4 ?? '']
  const counted = [tokens.cacheRead, tokens.cacheWrite, call.usageSource ?? null]
  return csvLine([
    ...[time, id, ...whose, operation, status, code, tokens.input, tokens.output, cost, latencyMs],
    ...[call.model ?? null, ...counted, caller?.kind ?? '', formatUsd(call.refunded ?? ZERO)],
  ])
}

/** The calls that a query of `LOG_QUERY` asks for. */
export async function callFilter(
  parts: SeenCalls,
  reader: UsageReader,
  query: {
    key?: string
    tag?: string
    operation?: string
    status?: number
    model?: string
    from?: string
    to?: string
  },
): Promise<RequestFilter> {
  const seen = await seenKeys(parts, reader)
  return {
    accountId: reader.accountId,
    seen,
    keyId: (query.key ?? null) as KeyId | null, // any text: an id that does not exist matches nothing
    keyIds: query.tag === undefined ? seen : await seenKeys(parts, reader, tagOf(query.tag)),
    operation: query.operation ?? null,
    status: query.status ?? null,
    model: query.model ?? null,
    from: instantOf(query.from),
    to: instantOf(query.to),
  }
}

const STATUS = /^[1-5]\d\d$/
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** The meaning of a text in a search of the request log: a status, an IP address, a path or whole URL, or the name of a code, request or operation. */
function requestSearch(typed: string, table: Pick<EndpointTable, 'routeOf'>): RequestSearch {
  const text = typed.trim()
  if (STATUS.test(text)) return { by: 'status', status: Number(text) }
  // Before ids: callers choose theirs, and one that chose a code would hide its failures.
  if (logMeaning(text) !== null) return { by: 'code', code: text }
  const address = parseAddress(text)
  if (address) return { by: 'address', address: formatAddress(address) }
  const path = /^(\/|https?:)/.test(text) ? URL.parse(text, 'http://gateway')?.pathname : undefined
  return path === undefined ? { by: 'name', text } : { by: 'operations', operations: operationsAt(path, table) }
}

/** The names in the request log of what has this path, by any method. */
function operationsAt(path: string, table: Pick<EndpointTable, 'routeOf'>): readonly string[] {
  const names = METHODS.flatMap((method) => {
    const route = table.routeOf(method, path)
    if (route?.kind === 'priced') return [route.operation]
    return route?.kind === 'free' ? [route.name] : []
  })
  return [...new Set(names)]
}
