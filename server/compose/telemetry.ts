import type { Readings } from '../adapters/metrics/prometheus'
import type { Config } from '../config'
import type { TraceSettings } from '../config/traces'
import { isLoopbackHost } from '../core/credentials/address'
import { RecentCalls } from '../core/telemetry/recent-calls'
import type { Telemetry } from '../core/telemetry/telemetry'
import { MetricsEndpoint } from '../http/system/metrics-endpoint'
import type { Readiness } from '../http/system/readiness'
import type { Log } from '../log'
import type { ModelBackend } from '../pipeline/models/model-backend'
import { CallLog } from './call-log'

interface Parts {
  readonly log: Log
  readonly core: {
    readonly stores: { readonly books: { sums: Readings['books'] }; readonly journalState: Readings['journal'] }
    readonly holds: { openHolds: Readings['holds'] }
  }
  /** What is composed later, and read only when the metrics are. */
  readonly later: () => {
    readonly pipeline: { readonly openCalls: { readonly count: number } }
    readonly models: { readonly upstreams: ModelBackend['states'] }
    readonly billing: { readonly moneyIn: { readonly rail: { fuel: Readings['fuel'] } } }
    readonly readiness: Pick<Readiness, 'status'>
  }
}

/** What observes calls: the log, and metrics and traces if they are configured. */
export async function composeTelemetry({ metrics: settings, traces }: Config, { log, core, later }: Parts) {
  const calls = new CallLog(log)
  const recent = new RecentCalls({ now: () => performance.now() })
  // Libraries are loaded only if they are configured.
  const isReady = async () => (await later().readiness.status()) === 'ready'
  const metrics =
    settings &&
    new (await import('../adapters/metrics/prometheus')).PrometheusMetrics({
      books: () => core.stores.books.sums(),
      journal: () => core.stores.journalState(),
      holds: () => core.holds.openHolds(),
      openCalls: () => later().pipeline.openCalls.count,
      upstreams: () => later().models.upstreams([]),
      fuel: () => later().billing.moneyIn.rail.fuel(),
      isReady,
    })
  const tracer = traces && (await openTracer(traces, log))
  const telemetry: Telemetry = {
    callEnded(call) {
      calls.callEnded(call)
      recent.callEnded(call)
      metrics?.callEnded(call)
    },
    upstreamEnded(upstream, ms, failure) {
      recent.upstreamEnded(upstream, ms, failure)
      metrics?.upstreamEnded(upstream, ms, failure)
    },
    payment: (step) => metrics?.payment(step),
    tracer,
  }
  const isLoopback = isLoopbackHost(settings?.listener?.host ?? '')
  return {
    telemetry,
    /** For the routes of operators. */
    routes: { recentCalls: () => recent.read(), journalState: () => core.stores.journalState(), isReady },
    /** Null without metrics. */
    endpoint: metrics && new MetricsEndpoint({ metrics, token: settings.token, isLoopback }),
    async close() {
      calls.summarize()
      metrics?.close()
      await tracer?.close()
    },
  }
}

async function openTracer(settings: TraceSettings, log: Log) {
  const { OtlpTracer } = await import('../adapters/tracing/otlp-tracer')
  const onTrouble = (reason: string) => log.warn('traces could not be exported', { reason })
  return new OtlpTracer({ ...settings, onTrouble })
}
