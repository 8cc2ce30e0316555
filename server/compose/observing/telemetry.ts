import type { MetricReadings } from '../../adapters/metrics/prometheus'
import type { Config } from '../../config'
import type { TraceSettings } from '../../config/traces'
import type { BackupReading } from '../../core/backup/backups'
import { type Clock, isoTime } from '../../core/clock'
import { isLoopbackHost } from '../../core/credentials/address'
import { RecentCalls } from '../../core/telemetry/recent-calls'
import type { Telemetry } from '../../core/telemetry/telemetry'
import { outageId, UpstreamHealth } from '../../core/telemetry/upstream-health'
import type { WorkerRecord } from '../../http/operator/record'
import { MetricsEndpoint } from '../../http/system/metrics-endpoint'
import type { Readiness } from '../../http/system/readiness'
import type { Log } from '../../log'
import type { ModelBackend } from '../../pipeline/models/model-backend'
import type { ComposedCore } from '../core'
import { CallLog, openOperatorLog } from './log-lines'

interface Parts {
  readonly log: Log
  readonly clock: Clock
  /** Monotonic. */
  readonly stopwatch: Clock
  readonly core: Pick<ComposedCore, 'stores' | 'money' | 'writeEvent'>
}

export type Observing = Awaited<ReturnType<typeof composeTelemetry>>

/** The observers of calls: the log, and metrics and traces if they are configured. Their libraries are loaded only then. */
export async function composeTelemetry({ metrics: settings, traces }: Config, parts: Parts) {
  const { log, core } = parts
  const health = upstreamHealth(parts)
  const calls = new CallLog(log)
  const acts = await openOperatorLog(core.stores.operatorActs, log)
  const recent = new RecentCalls({ now: () => performance.now() })
  const metrics = settings && new (await import('../../adapters/metrics/prometheus')).PrometheusMetrics()
  const tracer = traces && (await openTracer(traces, log))
  const telemetry: Telemetry = {
    callEnded(call) {
      calls.callEnded(call)
      recent.callEnded(call)
      metrics?.callEnded(call)
    },
    upstreamEnded(upstream, ms, failure, fault, part = upstream) {
      if (failure === null) health.succeeded(part)
      else if (fault) health.failed(part, fault, failure)
      recent.upstreamEnded(upstream, ms, failure)
      metrics?.upstreamEnded(upstream, ms, failure)
    },
    payment: (step) => metrics?.payment(step),
    tracer,
  }
  return {
    telemetry,
    recent,
    /** Null unless they are configured. */
    metrics,
    async close() {
      await acts.close()
      calls.summarize()
      core.money.summarize()
      metrics?.close()
      await tracer?.close()
    },
  }
}

interface Read {
  readonly core: Pick<ComposedCore, 'stores' | 'holds' | 'latencies' | 'replication'>
  readonly pipeline: { readonly openCalls: { readonly count: number } }
  readonly models: { readonly upstreams: ModelBackend['states'] }
  readonly rail: Pick<MetricReadings, 'fuel'>
  readonly workers: { states(): readonly WorkerRecord[] }
  readonly readiness: Pick<Readiness, 'status'>
  readonly backups: { reading(): BackupReading }
}

/** Serves the metrics, with what they read of the gateway. Null without metrics. */
export function openMetricsEndpoint({ metrics: settings, backup }: Config, { metrics }: Observing, read: Read) {
  if (!settings || !metrics) return null
  const { core, pipeline, models, rail, readiness, backups, workers } = read
  metrics.readFrom({
    books: () => core.stores.books.sums(),
    journal: () => core.stores.journalState(),
    holds: () => core.holds.openHolds(),
    openCalls: () => pipeline.openCalls.count,
    workers: () =>
      workers.states().map((one) => ({ name: one.name, openCalls: one.connected ? one.open_calls : null })),
    lostEvents: () => core.stores.webhooks.lostEvents,
    latencies: () => core.latencies?.read() ?? [],
    upstreams: () => models.upstreams([]),
    fuel: () => rail.fuel(),
    isReady: async () => (await readiness.status()).status === 'ready',
    backups: () => ({ ...backups.reading(), everyMs: backup.to === null ? null : backup.everyMs }),
    replicaLag: () => core.replication?.lagSeconds ?? null,
    comparison: () => core.stores.reconciliations.reading(),
    memoryLimit: () => process.constrainedMemory(),
  })
  const isLoopback = isLoopbackHost(settings.listener?.host ?? '')
  return new MetricsEndpoint({ metrics, token: settings.token, isLoopback })
}

/** Notifies operators of upstreams that go down and come up again. */
function upstreamHealth({ core, clock, stopwatch, log }: Parts): UpstreamHealth {
  const { writeEvent } = core
  return new UpstreamHealth({
    clock,
    stopwatch,
    watchers: {
      onDown({ upstream, failures, since, reason }) {
        log.error('an upstream is down', { upstream, failures, reason })
        const data = { upstream, failures, failing_since: isoTime(since), reason }
        writeEvent('upstream.down', outageId({ upstream, since }), data)
      },
      onUp({ upstream, since }) {
        log.warn('an upstream is up again', { upstream })
        writeEvent('upstream.up', outageId({ upstream, since }), { upstream, failing_since: isoTime(since) })
      },
    },
  })
}

/** Its library is loaded only here. */
export async function openTracer(settings: TraceSettings, log: Log) {
  const { OtlpTracer } = await import('../../adapters/tracing/otlp-tracer')
  const onTrouble = (reason: string) => log.warn('traces could not be exported', { reason })
  return new OtlpTracer({ ...settings, onTrouble })
}
