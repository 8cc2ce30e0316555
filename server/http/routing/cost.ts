import { type Declaration, declaring, type Hook } from '../openapi/documented'

/** How many units of its caller's window a request takes; a function where the caller chooses how much work it is. */
export type Cost = NonNullable<Declaration['cost']>

/** About a millisecond of the serving thread. */
export const READ = 1
/** With its audit entry up to 8 KB of disk, which stays. */
const WRITE = 5

/** A file of rows, with the first page of up to 5,000. The units of more rows are taken on the way (`RequestContext.pace`). */
export const EXPORT = 50
/** Reads the log of an account where no index helps. */
export const SCAN = 5
/** Of an operator: sums over all accounts. */
export const OVER_ALL = 10
const ROWS_PER_UNIT = 50

/** A page of a list, by its `limit`. */
export function page({ searchParams }: URL): number {
  return 2 + Math.ceil(within(searchParams.get('limit'), 50, 200) / ROWS_PER_UNIT)
}

/** A page of the log; a search scans it. */
export function logPage(url: URL): number {
  return page(url) + (url.searchParams.has('search') ? SCAN : 0)
}

/** A usage report, by its buckets. With a grouping there are sums for each key, model or tag. */
export function usageReport({ searchParams }: URL): number {
  const width = BUCKET_SECONDS[searchParams.get('bucket_width') ?? ''] ?? DAY_SECONDS
  const [start, end] = ['start_time', 'end_time'].map((name) => searchParams.get(name))
  const seconds = start && end ? Number(end) - Number(start) : DEFAULT_BUCKETS * width
  const buckets = within(String(Math.ceil(seconds / width)), DEFAULT_BUCKETS, MAX_BUCKETS)
  return (2 + Math.floor(buckets / BUCKETS_PER_UNIT)) * (searchParams.has('group_by') ? 3 : 1)
}

const DAY_SECONDS = 86_400
const BUCKET_SECONDS: Readonly<Record<string, number>> = { '1m': 60, '1h': 3_600 }
/** The maximum number of buckets of a report: 31 days in hours. */
const MAX_BUCKETS = 744
const DEFAULT_BUCKETS = 30
const BUCKETS_PER_UNIT = 60

/** A number in a query before it is checked: what cannot be read is refused later. */
function within(text: string | null, otherwise: number, most: number): number {
  const number = text === null ? otherwise : Number(text)
  return Number.isFinite(number) ? Math.min(most, Math.max(0, number)) : most
}

/** A route that costs more or less than its method says: `.get('/usage', ...allowed(access, costing(REPORT, DOCS), handler))`. */
export function costing(cost: Cost, documentation: Hook): Hook {
  return declaring(documentation, { cost })
}

/** The units of a request whose route declares none. */
export function costOfMethod(method: string): number {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS' ? READ : WRITE
}

export function unitsOf(cost: Cost, url: URL): number {
  return typeof cost === 'number' ? cost : cost(url)
}
