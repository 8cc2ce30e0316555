import { type MetricType, type Registry, Summary } from 'prom-client'
import type { LatencyReading } from '../../core/usage/recent-latencies'

// The library declares this enum and does not export it.
const SUMMARY = 'summary' as unknown as MetricType

const NAME = 'gateway_latency_seconds'
const HELP =
  'Duration of calls with a key or app, as in the usage; quantiles of this quarter of an hour and the one before. Not of refusals (4xx)'
const QUANTILES = { p50: 0.5, p95: 0.95, p99: 0.99 } as const

/** A summary whose quantiles come from the buckets of the usage. Those of a series without recent calls are left out. */
class ReadSummary extends Summary<string> {
  private readonly read: () => readonly LatencyReading[]

  constructor(registry: Registry, read: ReadSummary['read']) {
    super({ name: NAME, help: HELP, registers: [registry], labelNames: ['operation', 'provider', 'model'] })
    this.read = read
  }

  override async get(): ReturnType<Summary<string>['get']> {
    const values: Awaited<ReturnType<Summary<string>['get']>>['values'] = []
    for (const { operation, provider, model, quantiles, calls, ms } of this.read()) {
      const labels = { operation, provider, model }
      if (quantiles)
        for (const [name, quantile] of Object.entries(QUANTILES))
          values.push({ labels: { quantile, ...labels }, value: quantiles[name as keyof typeof QUANTILES] / 1000 })
      values.push({ labels, value: ms / 1000, metricName: `${NAME}_sum` })
      values.push({ labels, value: calls, metricName: `${NAME}_count` })
    }
    return { name: NAME, help: HELP, type: SUMMARY, aggregator: 'sum', collect: () => undefined, values }
  }
}

/** Writes p50, p95 and p99 by operation, provider and model. */
export function registerLatencies(registry: Registry, read: () => readonly LatencyReading[]): void {
  new ReadSummary(registry, read)
}
