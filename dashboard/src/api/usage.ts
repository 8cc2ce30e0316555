import { keepPreviousData, queryOptions, useQueries, useQuery } from '@tanstack/react-query'
import { USAGE_TEXT as TEXT } from '../messages/usage.ts'
import { api, unwrap } from './client/client.ts'
import { keyNamesQuery } from './keys.ts'
import type { UsageSpan } from './views/usage-range.ts'

/** A usage query: the period in UNIX seconds, the bucket width, and a filter. */
export interface UsageParams {
  readonly start_time: number
  readonly end_time: number
  readonly bucket_width: '1m' | '1h' | '1d'
  readonly timezone: string
  readonly key?: string | undefined
  readonly tag?: string | undefined
  readonly operation?: string | undefined
  readonly status?: number | undefined
  readonly model?: string | undefined
  readonly group_by?: UsageGrouping | undefined
}

export type UsageGrouping = 'key' | 'operation' | 'status' | 'model' | 'tag' | 'scope'
export type UsageFilter = Pick<UsageParams, 'key' | 'tag' | 'operation' | 'status' | 'model'>

export const VIEWER_TIME_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone

export const usageQuery = (params: UsageParams) =>
  queryOptions({ queryKey: ['usage', params], queryFn: () => fetchUsage(params), placeholderData: keepPreviousData })

export type UsageReport = Awaited<ReturnType<typeof fetchUsage>>
export type UsageSums = UsageReport['totals']
type UsageGroup = NonNullable<UsageReport['groups']>[number]

function fetchUsage(params: UsageParams) {
  const query = Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined))
  return unwrap(api.usage.get({ query }))
}

export function usageParams(span: UsageSpan, filter: UsageFilter = {}): UsageParams {
  return { start_time: span.start, end_time: span.end, bucket_width: span.width, timezone: VIEWER_TIME_ZONE, ...filter }
}

/** The name of the group without a model or a tag in reports, such as of searches. */
export const NO_MODEL = ''

/** Groups that get their own series. The rest are combined as "Other". */
const MAX_SERIES = 5

export interface UsageSeries {
  /** The name in reports: the id of a key, an operation, a status or a model. Null for "Other". */
  readonly name: string | null
  /** One value per bucket of the total. */
  readonly buckets: readonly UsageSums[]
}

/**
 * The largest groups of a period over time, with the rest combined. Each group is fetched separately, after the totals, so that
 * the figures appear first.
 */
export function useUsageSeries(span: UsageSpan, filter: UsageFilter, by: UsageGrouping) {
  const total = useQuery(usageQuery({ ...usageParams(span, filter), group_by: by }))
  const groups = total.data?.groups ?? []
  // One tag can be asked for, not two: with a filter by tag, what another of its keys' tags has in common with it is in the table only.
  const isDrawn = ({ name }: UsageGroup) =>
    name !== NO_MODEL && (by !== 'tag' || filter.tag === undefined || name === filter.tag)
  // Calls cannot be filtered by scope: the chart has their sum, and the table the scopes.
  const largest = by === 'scope' ? [] : groups.filter(isDrawn).slice(0, MAX_SERIES)
  const each = useQueries({
    queries: largest.map(({ name }) => usageQuery(usageParams(span, { ...filter, ...groupFilter(by, String(name)) }))),
  })
  const drawn = each.flatMap(({ data }, at): UsageSeries[] =>
    data && total.data && data.buckets.length === total.data.buckets.length
      ? [{ name: String(largest[at]?.name), buckets: data.buckets }]
      : [],
  )
  const buckets = total.data?.buckets ?? []
  const others = groups.filter(({ name }) => !drawn.some((series) => series.name === String(name)))
  const name = others.length === 1 && others[0]?.name === NO_MODEL ? NO_MODEL : null
  // Groups by tag overlap: the rest is no difference.
  const rest =
    (by === 'scope' || others.length > 0) && (by !== 'tag' || drawn.length === 0)
      ? [{ name, buckets: buckets.map((sums, at) => without(sums, drawn, at)) }]
      : []
  const isWhole = each.every(({ data }) => data !== undefined)
  return { total, groups, others, buckets, series: isWhole ? [...drawn, ...rest] : null }
}

/** The filter that selects one group; none for a scope. */
export function groupFilter(by: UsageGrouping, name: string): UsageFilter {
  if (by === 'scope') return {}
  if (by === 'key') return { key: name }
  if (by === 'operation') return { operation: name }
  if (by === 'tag') return { tag: name }
  return by === 'status' ? { status: Number(name) } : { model: name }
}

/** The display name of a key or app in reports. Keys with the same name, as after a rotation, get their last four characters. */
export function useKeyLabels(): (id: string) => string {
  const names = useQuery(keyNamesQuery).data?.names ?? []
  const byId = new Map(names.map((key) => [String(key.id), key]))
  const times = new Map<string, number>()
  for (const { name } of names) times.set(name, (times.get(name) ?? 0) + 1)
  return (id) => {
    const key = byId.get(id)
    if (!key) return id
    const label = (times.get(key.name) ?? 0) > 1 ? `${key.name} …${key.last4 ?? id.slice(-4)}` : key.name
    if (key.kind === 'app') return key.revoked ? TEXT.endedApp(label) : TEXT.app(label)
    return key.revoked ? TEXT.revokedKey(label) : label
  }
}

function without(sums: UsageSums, drawn: readonly UsageSeries[], at: number): UsageSums {
  const rest = { ...sums }
  for (const { buckets } of drawn) {
    const part = buckets[at]
    if (!part) continue
    for (const name of SUMS) Object.assign(rest, { [name]: rest[name] - part[name] })
  }
  return rest
}

const SUMS = [
  'requests',
  'failed_requests',
  'input_tokens',
  'output_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'charged_micros_usd',
] as const
