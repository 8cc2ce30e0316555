import { HOUR_MS } from '../clock'

/** Each bucket's longest time is at most this many times its shortest one, so a quantile is wrong by less than a tenth. */
const GROWTH = 1.2

/**
 * The shortest time of each bucket, in whole milliseconds. Fixed for ever: the database stores counts by the number of the bucket.
 * The last bucket has no end.
 */
export const LATENCY_BUCKETS: readonly number[] = bucketStarts()

/** Calls by the number of their bucket. Histograms merge by adding the counts. */
export type LatencyCounts = ReadonlyMap<number, number>

/** Milliseconds that half, 95 % and 99 % of the calls took at most. */
export interface LatencyQuantiles {
  readonly p50: number
  readonly p95: number
  readonly p99: number
}

/** The number of the bucket that counts a call of this length. */
export function latencyBucket(ms: number): number {
  const whole = Math.round(ms)
  let [low, high] = [0, LATENCY_BUCKETS.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((LATENCY_BUCKETS[middle] ?? 0) <= whole) low = middle
    else high = middle - 1
  }
  return low
}

/** The time that this share of the calls took at most (nearest rank), with an error below 10 %; null without calls. */
export function latencyQuantile(counts: LatencyCounts, share: number): number | null {
  let calls = 0
  for (const count of counts.values()) calls += count
  if (calls <= 0) return null
  let left = Math.max(1, Math.ceil(share * calls))
  const buckets = [...counts.keys()].sort((a, b) => a - b)
  for (const bucket of buckets) {
    left -= counts.get(bucket) ?? 0
    if (left <= 0) return timeOf(bucket)
  }
  return null
}

/** The three quantiles that reports show; null without calls. */
export function latencyQuantiles(counts: LatencyCounts): LatencyQuantiles | null {
  const [p50, p95, p99] = [0.5, 0.95, 0.99].map((share) => latencyQuantile(counts, share))
  return p50 == null || p95 == null || p99 == null ? null : { p50, p95, p99 }
}

/** Whether a call counts. Refusals (4xx) end in a moment and would hide how long real answers and failures take. */
export function hasLatency(status: number): boolean {
  return status < 400 || status >= 500
}

/** The time with the smallest relative error for every time of the bucket, to a tenth of a millisecond. */
function timeOf(bucket: number): number {
  const first = LATENCY_BUCKETS[bucket] ?? 0
  const last = (LATENCY_BUCKETS[bucket + 1] ?? first + 1) - 1
  return first === last ? first : Math.round((20 * first * last) / (first + last)) / 10
}

function bucketStarts(): number[] {
  const starts = [0]
  for (let start = 1; start <= HOUR_MS; start = Math.floor(start * GROWTH) + 1) starts.push(start)
  return starts
}
