import { PrometheusMetrics } from '../../server/adapters/metrics/prometheus'
import { CallLog } from '../../server/compose/call-log'
import type { EndedCall } from '../../server/core/telemetry/ended-call'

/** What observing a call costs, in a loop of its own: `bun run bench:telemetry`. The bar is 2 us a call for metrics. */

const ROUNDS = 5
const CALLS = 500_000
const BAR_US = 2

const metrics = new PrometheusMetrics({
  books: async () => ({}),
  journal: () => ({
    ...{ waiting: 0, waitingMs: 0, queuedWrites: 0, unappliedBytes: 0, unappliedMs: 0 },
    ...{ isBehind: false, droppedNotes: 0 },
  }),
  holds: () => ({ count: 0, amount: 0 }),
  openCalls: () => 0,
  upstreams: () => [],
  fuel: async () => null,
  isReady: async () => true,
})
const log = new CallLog({ info: () => undefined })

/** Microseconds per call, the median of the rounds. */
function measured(what: string, observe: (i: number) => void): number {
  const rounds = Array.from({ length: ROUNDS }, () => {
    const startedAt = performance.now()
    for (let i = 0; i < CALLS; i++) observe(i)
    return ((performance.now() - startedAt) * 1000) / CALLS
  }).sort((a, b) => a - b)
  const median = rounds[Math.floor(ROUNDS / 2)] ?? Number.NaN
  process.stdout.write(`${what}: ${median.toFixed(3)} us a call\n`)
  return median
}

const OPERATIONS = ['image-search', 'llm-context', 'chat-completions', 'github.list-issues'] as const
const ended = (i: number, code: string | null): EndedCall => {
  const operation = OPERATIONS[i % OPERATIONS.length] ?? 'none'
  return { id: 'req_1', operation, status: code ? 429 : 200, code, upstream: null, ms: i % 900 }
}

const cost = measured('metrics of a served call and its upstream', (i) => {
  metrics.callEnded(ended(i, null))
  metrics.upstreamEnded('brave', i % 900, null)
})
measured('metrics of a refused call', (i) => metrics.callEnded(ended(i, 'rate_limit_exceeded')))
measured('log of a refused call in a flood', (i) => log.callEnded(ended(i, 'rate_limit_exceeded')))

const startedAt = performance.now()
const text = await metrics.text()
process.stdout.write(`one scrape: ${(performance.now() - startedAt).toFixed(1)} ms, ${text.length} bytes\n`)
metrics.close()
log.summarize()
if (cost > BAR_US) {
  process.stdout.write(`above the bar of ${BAR_US} us\n`)
  process.exitCode = 1
}
