import type { MetricReadings } from '../../adapters/metrics/prometheus'
import type { Config } from '../../config'
import type { TraceSettings } from '../../config/traces'
import type { OperatorActs } from '../../core/audit'
import type { BackupReading } from '../../core/backup/backups'
import { type Clock, isoTime } from '../../core/clock'
import type { Opening } from '../../core/cluster/opening'
import { isLoopbackHost } from '../../core/credentials/address'
import { RecentCalls } from '../../core/telemetry/recent-calls'
import type { Telemetry } from '../../core/telemetry/telemetry'
import { outageId, UpstreamHealth } from '../../core/telemetry/upstream-health'
import type { WebhookStore } from '../../core/webhooks/webhook'
import { MetricsEndpoint } from '../../http/system/metrics-endpoint'
import type { Readiness } from '../../http/system/readiness'
import type { Log } from '../../log'
import type { ModelBackend } from '../../pipeline/models/model-backend'
import { eventWriter } from '../webhooks'
import { CallLog } from './call-log'
import type { MoneyLog } from './money-log'
import { openOperatorLog } from './operator-log'

interface Parts {
  readonly log: Log
  readonly clock: Clock
  /** Monotonic. */
  readonly stopwatch: Clock
  readonly opening: Opening
  readonly core: {
    readonly stores: {
      readonly books: { sums: MetricReadings['books'] }
      readonly reconciliations: { reading: MetricReadings['comparison'] }
      readonly journalState: MetricReadings['journal']
      readonly webhooks: Pick<WebhookStore, 'addEvents' | 'countLost' | 'lostEvents'>
      readonly operatorActs: OperatorActs
    }
    readonly money: Pick<MoneyLog, 'summarize'>
    readonly holds: { openHolds: MetricReadings['holds'] }
    /** Null without metrics. */
    readonly latencies: { read: MetricReadings['latencies'] } | null
  }
  /** Parts that are composed later, and read only with the metrics. */
  readonly later: () => {
    readonly pipeline: { readonly openCalls: { readonly count: number } }
    readonly models: { readonly upstreams: ModelBackend['states'] }
    readonly billing: { readonly moneyIn: { readonly rail: { fuel: MetricReadings['fuel'] } } }
    readonly readiness: Pick<Readiness, 'status' | 'state' | 'nodeList'>
    readonly backups: { readonly commands: { readonly backups: { reading: () => BackupReading } } }
  }
}

/** The observers of calls: the log, and metrics and traces if they are configured. */
export async function composeTelemetry({ metrics: settings, traces, backup }: Config, parts: Parts) {
  const { log, core, later } = parts
  const health = upstreamHealth(parts)
  const calls = new CallLog(log)
  const acts = await openOperatorLog(core.stores.operatorActs, parts)
  const recent = new RecentCalls({ now: () => performance.now() })
  // Libraries are loaded only if they are configured.
  const isReady = async () => (await later().readiness.status()).status === 'ready'
  const metrics =
    settings &&
    new (await import('../../adapters/metrics/prometheus')).PrometheusMetrics({
      books: () => core.stores.books.sums(),
      journal: () => core.stores.journalState(),
      holds: () => core.holds.openHolds(),
      openCalls: () => later().pipeline.openCalls.count,
      lostEvents: () => core.stores.webhooks.lostEvents,
      latencies: () => core.latencies?.read() ?? [],
      upstreams: () => later().models.upstreams([]),
      fuel: () => later().billing.moneyIn.rail.fuel(),
      isReady,
      backups: () => ({
        ...later().backups.commands.backups.reading(),
        everyMs: backup.to === null ? null : backup.everyMs,
      }),
      comparison: () => core.stores.reconciliations.reading(),
      memoryLimit: () => process.constrainedMemory(),
    })
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
  const isLoopback = isLoopbackHost(settings?.listener?.host ?? '')
  return {
    telemetry,
    /** For the routes of operators. */
    routes: {
      ...{ recentCalls: () => recent.read(), journalState: () => core.stores.journalState() },
      readyState: () => later().readiness.state(),
      nodeList: () => later().readiness.nodeList(),
      backupReading: () => ({ ...later().backups.commands.backups.reading(), isScheduled: backup.to !== null }),
    },
    /** Null without metrics. */
    endpoint: metrics && new MetricsEndpoint({ metrics, token: settings.token, isLoopback }),
    async close() {
      await acts.close()
      calls.summarize()
      core.money.summarize()
      metrics?.close()
      await tracer?.close()
    },
  }
}

/** Notifies operators of upstreams that go down and come up again. */
function upstreamHealth({ core, clock, stopwatch, log }: Parts): UpstreamHealth {
  const writeEvent = eventWriter(core.stores.webhooks, clock, log)
  return new UpstreamHealth({
    ...{ clock, stopwatch },
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

async function openTracer(settings: TraceSettings, log: Log) {
  const { OtlpTracer } = await import('../../adapters/tracing/otlp-tracer')
  const onTrouble = (reason: string) => log.warn('traces could not be exported', { reason })
  return new OtlpTracer({ ...settings, onTrouble })
}
