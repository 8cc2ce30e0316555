import { PrometheusMetrics } from '../../server/adapters/metrics/prometheus'
import { OtlpTracer } from '../../server/adapters/tracing/otlp-tracer'
import { CallLog } from '../../server/compose/observing/call-log'
import { makeId } from '../../server/core/ids'
import type { EndedCall } from '../../server/core/telemetry/ended-call'
import { type CallRecord, NO_TOKENS } from '../../server/core/usage/call-record'
import { RecentLatencies } from '../../server/core/usage/recent-latencies'
import { median } from './statistics'

/** What observing a call costs, in a loop of its own: `bun run bench:telemetry`. The bar is 2 us a call for metrics. */

const ROUNDS = 5
const CALLS = 500_000
const BAR_US = 2

const latencies = new RecentLatencies({ now: () => Date.now() })
const metrics = new PrometheusMetrics({
  books: async () => ({}),
  journal: () => ({
    ...{ waiting: 0, waitingMs: 0, queuedWrites: 0, unappliedBytes: 0, unappliedMs: 0 },
    ...{ isBehind: false, isDiskFull: false, droppedNotes: 0 },
  }),
  holds: () => ({ count: 0, amount: 0 }),
  openCalls: () => 0,
  lostEvents: () => 0,
  latencies: () => latencies.read(),
  upstreams: () => [],
  fuel: async () => null,
  isReady: async () => true,
  backups: () => ({ newestAt: null, isFailing: false, everyMs: null }),
  comparison: async () => null,
  memoryLimit: () => 0,
})
const log = new CallLog({ info: () => undefined })

/** Microseconds of CPU time per call, the median of the rounds: other programs on the machine do not count. */
function measured(what: string, observe: (i: number) => void, calls = CALLS): number {
  const rounds = Array.from({ length: ROUNDS }, () => {
    const before = process.cpuUsage()
    for (let i = 0; i < calls; i++) observe(i)
    const { user, system } = process.cpuUsage(before)
    return (user + system) / calls
  })
  const cost = median(rounds)
  process.stdout.write(`${what}: ${cost.toFixed(3)} us a call\n`)
  return cost
}

const OPERATIONS = ['image-search', 'llm-context', 'chat-completions', 'github.list-issues'] as const
const ended = (i: number, code: string | null): EndedCall => {
  const operation = OPERATIONS[i % OPERATIONS.length] ?? 'none'
  return { id: 'req_1', operation, status: code ? 429 : 200, code, upstream: null, ms: i % 900 }
}

const START = Date.now()
const record = (i: number): CallRecord => ({
  ...{ id: makeId('req', START), clientRequestId: null, accountId: makeId('acct', START), keyId: makeId('key', START) },
  ...{ operation: OPERATIONS[i % OPERATIONS.length] ?? 'none', counted: true, at: START, status: 200, code: null },
  ...{ latencyMs: i % 900, address: '', tokens: NO_TOKENS, charged: null, model: 'sandbox/echo' },
  upstream: { provider: 'brave', waitingMs: 0, upstreamMs: 1 },
})
const RECORDS = Array.from({ length: 900 }, (_, i) => record(i))

const cost = measured('metrics of a served call, its upstream and its latency', (i) => {
  metrics.callEnded(ended(i, null))
  metrics.upstreamEnded('brave', i % 900, null)
  latencies.add(RECORDS[i % RECORDS.length] ?? record(i))
})
measured('metrics of a refused call', (i) => metrics.callEnded(ended(i, 'rate_limit_exceeded')))
measured('log of a refused call in a flood', (i) => log.callEnded(ended(i, 'rate_limit_exceeded')))

const STEPS = ['read', 'admit', 'hold', 'upstream', 'capture'] as const
// A collector that is not there: what is measured is the work on the thread of the calls.
const tracerOf = (ratio: number) =>
  new OtlpTracer({
    ...{ url: 'http://127.0.0.1:1/v1/traces', headers: {}, timeoutMs: 100, resource: {}, toUpstreams: false },
    ...{ sampler: 'parentbased_traceidratio', ratio, maxQueue: 2048, maxBatch: 512, delayMs: 5_000 },
    onTrouble: () => undefined,
  })
for (const ratio of [0, 0.01, 1]) {
  const tracer = tracerOf(ratio)
  measured(
    `traces with ${ratio * 100} % sampled`,
    (i) => {
      const trace = tracer.begin('req_1', null)
      for (const step of STEPS) trace?.step(step)
      trace?.end(ended(i, null))
    },
    ratio === 1 ? 20_000 : CALLS,
  )
  await tracer.close()
}

const startedAt = performance.now()
const text = await metrics.text()
process.stdout.write(`one scrape: ${(performance.now() - startedAt).toFixed(1)} ms, ${text.length} bytes\n`)
metrics.close()
log.summarize()
if (cost > BAR_US) {
  process.stdout.write(`above the bar of ${BAR_US} us\n`)
  process.exitCode = 1
}
