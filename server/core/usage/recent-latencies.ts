import type { Clock } from '../clock'
import type { CallRecord } from './call-record'
import { hasLatency, type LatencyQuantiles, latencyBucket, latencyQuantiles } from './latency'
import { QUARTER_HOUR_MS } from './reports'

/** More combinations than this are counted together as `other`, so that no catalog makes the metrics large. */
const MAX_SERIES = 200
const OTHER = 'other'

/** The latencies of one operation at one provider with one model. Empty texts where there is none. */
export interface LatencyReading {
  readonly operation: string
  readonly provider: string
  readonly model: string
  /** Of this quarter of an hour and the one before; null without calls. */
  readonly quantiles: LatencyQuantiles | null
  /** Since the start of the process. */
  readonly calls: number
  readonly ms: number
}

interface Series {
  readonly operation: string
  readonly provider: string
  readonly model: string
  /** Calls per bucket, by quarter of an hour. */
  readonly quarterHours: Map<number, Map<number, number>>
  calls: number
  ms: number
}

/** Counts in memory what the usage stores of latencies, for the metrics: the same calls in the same buckets. */
export class RecentLatencies {
  private readonly clock: Clock
  private readonly all: Series[] = []
  private readonly known = new Map<string, Map<string, Map<string, Series>>>()

  constructor(clock: Clock) {
    this.clock = clock
  }

  add({ counted, status, operation, upstream, model = '', latencyMs, at }: CallRecord): void {
    if (!counted || !hasLatency(status)) return
    const provider = upstream?.provider ?? ''
    const series = this.known.get(operation)?.get(provider)?.get(model) ?? this.opened(operation, provider, model)
    series.calls++
    series.ms += latencyMs
    const quarterHour = Math.floor(at / QUARTER_HOUR_MS)
    const counts = series.quarterHours.get(quarterHour) ?? openedQuarterHour(series, quarterHour)
    const bucket = latencyBucket(latencyMs)
    counts.set(bucket, (counts.get(bucket) ?? 0) + 1)
  }

  read(): readonly LatencyReading[] {
    const quarterHour = Math.floor(this.clock.now() / QUARTER_HOUR_MS)
    return this.all.map(({ operation, provider, model, quarterHours, calls, ms }) => {
      const merged = new Map(quarterHours.get(quarterHour))
      for (const [bucket, count] of quarterHours.get(quarterHour - 1) ?? [])
        merged.set(bucket, (merged.get(bucket) ?? 0) + count)
      return { operation, provider, model, quantiles: latencyQuantiles(merged), calls, ms }
    })
  }

  private opened(operation: string, provider: string, model: string): Series {
    const isFull = this.all.length >= MAX_SERIES
    const name = isFull ? [OTHER, OTHER, OTHER] : [operation, provider, model]
    const [one = '', two = '', three = ''] = name
    const providers = this.known.get(one) ?? new Map<string, Map<string, Series>>()
    const models = providers.get(two) ?? new Map<string, Series>()
    const series = models.get(three) ?? {
      operation: one,
      provider: two,
      model: three,
      quarterHours: new Map(),
      calls: 0,
      ms: 0,
    }
    if (!models.has(three)) this.all.push(series)
    models.set(three, series)
    providers.set(two, models)
    this.known.set(one, providers)
    return series
  }
}

/** The counts of a quarter of an hour. Drops those that no reading needs. */
function openedQuarterHour({ quarterHours }: Series, quarterHour: number): Map<number, number> {
  const counts = new Map<number, number>()
  quarterHours.set(quarterHour, counts)
  for (const other of quarterHours.keys()) if (other < quarterHour - 1) quarterHours.delete(other)
  return counts
}
