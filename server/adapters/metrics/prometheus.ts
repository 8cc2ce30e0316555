import { Counter, Gauge, Histogram, type MetricType, Registry, Summary } from 'prom-client'
import type { ScheduledBackups } from '../../core/backup/backups'
import { inTimeOrNull } from '../../core/in-time'
import { ENTRY_KINDS } from '../../core/ledger/entry'
import type { EndedCall } from '../../core/telemetry/ended-call'
import {
  type BookSums,
  type BooksReading,
  type JournalState,
  PAYMENT_STEPS,
  type PaymentStep,
  type Telemetry,
} from '../../core/telemetry/telemetry'
import type { LatencyReading } from '../../core/usage/recent-latencies'
import { DURATION_BUCKETS, Durations, NamedSeries } from './series'

/** The state of a model's upstream. */
interface UpstreamReading {
  readonly name: string
  readonly breaker: 'closed' | 'open' | 'probing'
  readonly underWay: number
}

/** Figures that are read with the metrics. */
export interface MetricReadings {
  readonly books: () => Promise<BookSums>
  readonly journal: () => JournalState
  readonly holds: () => { readonly count: number; readonly amount: number }
  readonly openCalls: () => number
  /** The processes that serve calls, and the open calls of each; null without a connection. */
  readonly workers: () => readonly { readonly name: string; readonly openCalls: number | null }[]
  /** Events that could not be written. */
  readonly lostEvents: () => number
  readonly latencies: () => readonly LatencyReading[]
  readonly upstreams: () => readonly UpstreamReading[]
  /** Null without a relayer. */
  readonly fuel: () => Promise<number | null>
  readonly isReady: () => Promise<boolean>
  readonly backups: () => ScheduledBackups
  /** Seconds; null without a continuous copy. */
  readonly replicaLag: () => number | null
  /** The last comparisons of the books; null before the first. */
  readonly comparison: () => Promise<BooksReading | null>
  /** The memory limit of the process. */
  readonly memoryLimit: () => number
}

/** How long a read of the database may take. Without it the other metrics are sent, so that a stuck database can be seen. */
const READ_MS = 2_000
const LOOP_CHECK_MS = 100
const LOOP_BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]
const SUCCESS = 'ok'

/**
 * Counts calls in memory and writes all metrics in Prometheus' text format. Labels are names of operations, configured upstreams, codes
 * and steps, each from a bounded set: never a key, an account, an address, a URL or anything else that a caller sends.
 */
export class PrometheusMetrics implements Telemetry {
  readonly tracer = null
  private readonly calls = new NamedSeries()
  private readonly upstreams = new NamedSeries()
  private readonly payments = new Map<PaymentStep, number>(PAYMENT_STEPS.map((step) => [step, 0]))
  private readonly loop = new Durations(LOOP_BUCKETS)
  private readonly registry = new Registry()
  private readonly timer: ReturnType<typeof setInterval>
  private writing: Promise<string> | null = null

  constructor() {
    this.timer = watchLoop(this.loop)
    this.registerCalls()
  }

  /** Adds the metrics that are read when they are asked for. Call it once. */
  readFrom(readings: MetricReadings): void {
    registerLatencies(this.registry, readings.latencies)
    registerMoney(this.registry, readings, this.payments)
    registerQueues(this.registry, readings)
    registerWorkers(this.registry, readings)
    registerProcess(this.registry, readings, this.loop)
    registerBackups(this.registry, readings)
  }

  callEnded({ operation, code, ms }: EndedCall): void {
    this.calls.add(operation, code ?? SUCCESS, ms)
  }

  upstreamEnded(upstream: string, ms: number, failure: string | null): void {
    this.upstreams.add(upstream, failure ?? SUCCESS, ms)
  }

  payment(step: PaymentStep): void {
    this.payments.set(step, (this.payments.get(step) ?? 0) + 1)
  }

  /** Readers at the same time share one reading. */
  text(): Promise<string> {
    this.writing ??= this.registry.metrics().finally(() => {
      this.writing = null
    })
    return this.writing
  }

  get contentType(): string {
    return this.registry.contentType
  }

  close(): void {
    clearInterval(this.timer)
  }

  private registerCalls(): void {
    const registers = [this.registry]
    registerSeries(registers, this.calls, 'operation', {
      count: ['gateway_calls_total', 'code', 'Calls that ended, by operation and error code; ok for a success'],
      seconds: [
        'gateway_call_duration_seconds',
        'Duration of calls from arrival to response; of streams, to their end',
      ],
    })
    registerSeries(registers, this.upstreams, 'upstream', {
      count: ['gateway_upstream_requests_total', 'result', 'Requests to upstreams, by result; ok for a success'],
      seconds: [
        'gateway_upstream_duration_seconds',
        'Duration of requests to upstreams; of model calls, to the headers',
      ],
    })
  }
}

/** A counter by name and result, and a histogram by name. */
function registerSeries(
  registers: Registry[],
  series: NamedSeries,
  label: string,
  names: { readonly count: readonly [string, string, string]; readonly seconds: readonly [string, string] },
): void {
  const [name, resultLabel, help] = names.count
  new Counter({
    name,
    help,
    registers,
    labelNames: [label, resultLabel],
    collect() {
      this.reset()
      for (const [one, { results }] of series.entries())
        for (const [result, count] of results) this.inc({ [label]: one, [resultLabel]: result }, count)
    },
  })
  const [histogram, about] = names.seconds
  const read = () => [...series.entries()].map(([one, { durations }]) => ({ labels: { [label]: one }, durations }))
  new ReadHistogram({ name: histogram, help: about, registers, buckets: DURATION_BUCKETS, labelNames: [label] }, read)
}

// The library declares this enum and does not export it.
const HISTOGRAM = 'histogram' as unknown as MetricType

type Configuration = ConstructorParameters<typeof Histogram<string>>[0]

/** A histogram that writes durations that were observed elsewhere. */
class ReadHistogram extends Histogram<string> {
  private readonly about: Configuration
  private readonly read: () => readonly { readonly labels: Record<string, string>; readonly durations: Durations }[]

  constructor(about: Configuration, read: ReadHistogram['read']) {
    super(about)
    this.about = about
    this.read = read
  }

  /** The registry calls this where it exists. */
  getForPromString(): ReturnType<Histogram<string>['get']> {
    return this.get()
  }

  override async get(): ReturnType<Histogram<string>['get']> {
    const { name, help, buckets: bounds = [] } = this.about
    const values: Awaited<ReturnType<Histogram<string>['get']>>['values'] = []
    for (const { labels, durations } of this.read()) {
      let sum = 0
      for (const [i, le] of bounds.entries()) {
        sum += durations.buckets[i] ?? 0
        values.push({ labels: { le, ...labels }, value: sum, metricName: `${name}_bucket` })
      }
      values.push({ labels: { le: '+Inf', ...labels }, value: durations.count, metricName: `${name}_bucket` })
      values.push({ labels, value: durations.sum, metricName: `${name}_sum` })
      values.push({ labels, value: durations.count, metricName: `${name}_count` })
    }
    return { name, help, type: HISTOGRAM, aggregator: 'sum', collect: () => undefined, values }
  }
}

function registerMoney(
  registry: Registry,
  { books, comparison, holds, fuel }: MetricReadings,
  payments: ReadonlyMap<string, number>,
): void {
  const registers = [registry]
  new Gauge({
    name: 'gateway_books_readable',
    registers,
    help: '1 if the sums of the ledger could be read; while they cannot, they are missing here',
    async collect() {
      this.set((await inTimeOrNull(books(), READ_MS)) ? 1 : 0)
    },
  })
  const compared = async () => (await inTimeOrNull(comparison(), READ_MS)) ?? null
  const comparedHelp = 'When the books were last compared with all that they are compared with, in UNIX seconds'
  rare(registry, 'gateway_books_compared_timestamp_seconds', comparedHelp, async () =>
    seconds((await compared())?.completeAt),
  )
  const mismatchHelp = 'How many things did not agree in the last comparison, whether it reached all or not'
  rare(registry, 'gateway_books_mismatches', mismatchHelp, async () => (await compared())?.problems ?? null)
  new Counter({
    name: 'gateway_ledger_micros_usd_total',
    registers,
    labelNames: ['kind'],
    help: 'Sum of all ledger entries in micro-USD, by kind; what customers paid for calls is charge minus reversal, plus payment',
    async collect() {
      this.reset()
      const sums = await inTimeOrNull(books(), READ_MS)
      if (sums) for (const kind of ENTRY_KINDS) this.inc({ kind }, sums[kind] ?? 0)
    },
  })
  gauge(registry, 'gateway_holds', 'Open holds', () => holds().count)
  gauge(registry, 'gateway_held_micros_usd', 'Sum of the open holds in micro-USD', () => holds().amount)
  new Counter({
    name: 'gateway_payments_total',
    registers,
    labelNames: ['step'],
    help: 'Payments for single requests and top-ups by wallets, by step: 402 offered, verified or refused, settled, failed or unknown',
    collect() {
      this.reset()
      for (const [step, count] of payments) this.inc({ step }, count)
    },
  })
  const fuelHelp = "What the relayer's account has left for gas, in whole coins of its chain, when it was last read"
  rare(registry, 'gateway_relayer_fuel_coins', fuelHelp, fuel)
}

function registerWorkers(registry: Registry, { workers }: Pick<MetricReadings, 'workers'>): void {
  const gauges = { registers: [registry], labelNames: ['worker'] }
  new Gauge({
    ...gauges,
    name: 'gateway_worker_connected',
    help: '1 while a worker has its connection; 0: it serves nothing new',
    collect() {
      this.reset()
      for (const { name, openCalls } of workers()) this.set({ worker: name }, openCalls === null ? 0 : 1)
    },
  })
  new Gauge({
    ...gauges,
    name: 'gateway_worker_open_calls',
    help: 'Calls that a worker serves now',
    collect() {
      this.reset()
      for (const { name, openCalls } of workers()) this.set({ worker: name }, openCalls ?? 0)
    },
  })
}

function registerQueues(registry: Registry, { journal, openCalls, upstreams, lostEvents }: MetricReadings): void {
  gauge(registry, 'gateway_open_calls', 'Model, research and streaming calls in progress', openCalls)
  const lag = (name: string, help: string, pick: (state: JournalState) => number) =>
    gauge(registry, `gateway_${name}`, help, () => pick(journal()))
  lag('journal_waiting_records', 'Records that wait for their commit', ({ waiting }) => waiting)
  lag('journal_waiting_seconds', 'How long the oldest of them has waited', ({ waitingMs }) => waitingMs / 1000)
  lag('tables_queued_writes', 'Writes that wait for the connection of the tables', ({ queuedWrites }) => queuedWrites)
  lag('tables_unapplied_bytes', 'Bytes of the log not in the tables yet', ({ unappliedBytes }) => unappliedBytes)
  lag('tables_unapplied_seconds', 'How long the oldest of them has waited', ({ unappliedMs }) => unappliedMs / 1000)
  lag('tables_rejecting', '1 while the database rejects the batches of the log', ({ isBehind }) => (isBehind ? 1 : 0))
  lag('disk_full', '1 while the disk is full and new calls are refused', ({ isDiskFull }) => (isDiskFull ? 1 : 0))
  const copyHelp = 'How long a group of charges has waited for PostgreSQL at LOG_URL'
  lag('log_copy_waiting_seconds', copyHelp, ({ copyWaitingMs }) => copyWaitingMs / 1000)
  const leaseHelp = '0 while nothing is served because the lease at LOG_URL was not renewed'
  lag('log_lease_held', leaseHelp, ({ hasLease }) => (hasLease ? 1 : 0))
  const droppedHelp = 'Rows of uncharged calls that were dropped from the request log under load'
  counter(registry, 'gateway_dropped_log_rows_total', droppedHelp, () => journal().droppedNotes)
  const lostHelp = 'Events for webhooks and notices that no commit causes and that could not be written'
  counter(registry, 'gateway_lost_events_total', lostHelp, lostEvents)
  const labelNames = ['upstream']
  const registers = [registry]
  new Gauge({
    name: 'gateway_model_upstream_in_progress',
    registers,
    labelNames,
    help: 'Calls in progress at an upstream of models',
    collect() {
      this.reset()
      for (const { name, underWay } of upstreams()) this.set({ upstream: name }, underWay)
    },
  })
  new Gauge({
    name: 'gateway_model_upstream_open',
    registers,
    labelNames,
    help: '1 while the circuit breaker of an upstream of models gives it no calls',
    collect() {
      this.reset()
      for (const { name, breaker } of upstreams()) this.set({ upstream: name }, breaker === 'closed' ? 0 : 1)
    },
  })
}

function registerProcess(registry: Registry, { isReady, memoryLimit }: MetricReadings, loop: Durations): void {
  const registers = [registry]
  new ReadHistogram(
    {
      name: 'gateway_event_loop_delay_seconds',
      registers,
      buckets: LOOP_BUCKETS,
      help: `How late a timer of ${LOOP_CHECK_MS} ms ran`,
    },
    () => [{ labels: {}, durations: loop }],
  )
  gauge(registry, 'process_resident_memory_bytes', 'Resident memory in bytes', () => process.memoryUsage.rss())
  gauge(
    registry,
    'gateway_memory_limit_bytes',
    'Memory that the process may use: of its group, or of the machine',
    memoryLimit,
  )
  gauge(registry, 'process_start_time_seconds', 'Start of the process, in UNIX seconds', () =>
    Math.round(Date.now() / 1000 - process.uptime()),
  )
  counter(registry, 'process_cpu_seconds_total', 'CPU time of the process in seconds', () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  })
  new Gauge({
    name: 'gateway_ready',
    registers,
    help: '1 while calls can be served and charged',
    async collect() {
      this.set((await inTimeOrNull(isReady(), READ_MS)) ? 1 : 0)
    },
  })
}

function registerBackups(registry: Registry, { backups, replicaLag }: MetricReadings): void {
  const newestHelp = 'When the newest copy of the data was taken, in UNIX seconds'
  rare(registry, 'gateway_backup_newest_timestamp_seconds', newestHelp, () => seconds(backups().newestAt))
  const everyHelp = 'How old the newest copy may become: BACKUP_EVERY, where copies are scheduled'
  rare(registry, 'gateway_backup_every_seconds', everyHelp, () => seconds(backups().everyMs))
  const lagHelp = 'How old the newest state is that LITESTREAM_REPLICA is known to have'
  rare(registry, 'gateway_replica_lag_seconds', lagHelp, replicaLag)
  gauge(registry, 'gateway_backup_failing', '1 if the last backup failed', () => (backups().isFailing ? 1 : 0))
}

function gauge(registry: Registry, name: string, help: string, read: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read())
    },
  })
}

const seconds = (ms: number | null | undefined): number | null => (ms == null ? null : ms / 1000)

/** A gauge that is absent while it has no value. */
function rare(
  registry: Registry,
  name: string,
  help: string,
  read: () => number | null | Promise<number | null>,
): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    async collect() {
      const value = await read()
      this.remove()
      if (value !== null) this.set(value)
    },
  })
}

/** Figures that are counted elsewhere. */
function counter(registry: Registry, name: string, help: string, read: () => number): void {
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset()
      this.inc(read())
    },
  })
}

function watchLoop(loop: Durations): ReturnType<typeof setInterval> {
  let last = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    loop.observe(Math.max(0, now - last - LOOP_CHECK_MS) / 1000)
    last = now
  }, LOOP_CHECK_MS)
  timer.unref()
  return timer
}

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
function registerLatencies(registry: Registry, read: () => readonly LatencyReading[]): void {
  new ReadSummary(registry, read)
}
