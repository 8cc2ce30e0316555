import { Database } from 'bun:sqlite'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../server/listen'
import { median } from './statistics'
import { FEEDER_CORE, Workshop } from './workshop'
import { type Burst, burst, type Target } from './wrk'

/**
 * The cost of observing a charged search, as a ratio of CPU time per call: gateways on equal databases, in turns, one that observes
 * nothing, twice, and one with metrics, traces of 1 % and webhooks. `bun run bench:observed [ROUNDS] [SECONDS]`.
 */
const SEARCH = '/apis/v1/websearch/images/search?q=credit%20card&count=20&country=US&safesearch=strict'
const CONNECTIONS = 16
const KEYS = 50

const [rounds = '7', seconds = '3'] = process.argv.slice(2)
const workshop = new Workshop(null)
const upstream = await workshop.helper('upstream.ts', [], FEEDER_CORE)
// A collector of traces and a receiver of webhooks.
const receiver = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => Response.json({}) })
const template = await workshop.folder('observed')
await workshop.once('seed-core.ts', ['keys', template, String(KEYS)])

const metrics = () => ({ METRICS_PORT: String(freePort('127.0.0.1')) })
const traces = {
  OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${receiver.port}`,
  OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
  OTEL_TRACES_SAMPLER_ARG: '0.01',
}
const VARIANTS: readonly { name: string; env: Record<string, string>; webhooks?: true }[] = [
  { name: 'off', env: {} },
  { name: 'off again', env: {} },
  { name: 'everything', env: { ...metrics(), ...traces, WEBHOOKS_ALLOW_PRIVATE: 'true' }, webhooks: true },
]

/** An endpoint of each account. No call of this benchmark causes an event. */
function addWebhooks(folder: string): void {
  const database = new Database(join(folder, 'gateway.db'))
  database.run(
    `INSERT INTO webhooks (id, account_id, url, events, status, secret, created_at, confirmed_at)
     SELECT 'hook_' || id, id, 'http://127.0.0.1:${receiver.port}/hook', '["key.exhausted"]', 'active', 'unused', ${Date.now()}, ${Date.now()} FROM accounts`,
  )
  database.close()
}

const gateways: { name: string; target: Target; bursts: Burst[] }[] = []
for (const { name, env, webhooks } of VARIANTS) {
  const folder = await workshop.folder('observed')
  cpSync(template, folder, { recursive: true })
  if (webhooks) addWebhooks(folder)
  const { pid, ready } = await workshop.gateway(folder, `http://127.0.0.1:${upstream.ready}/2000/0`, env)
  const script = 'rotate-keys.lua' as const
  const target = { url: `http://127.0.0.1:${ready}${SEARCH}`, pid, script, args: [join(folder, 'keys.txt')] }
  gateways.push({ name, target, bursts: [] })
}
for (const { target } of gateways) await burst(target, CONNECTIONS, 2 * Number(seconds))
for (let round = 0; round < Number(rounds); round++) {
  // Each round in another order, so that none is always first.
  const order = round % 2 ? gateways.toReversed() : gateways
  for (const { target, bursts } of order) bursts.push(await burst(target, CONNECTIONS, Number(seconds)))
}
const [off] = gateways
for (const { name, bursts } of gateways) {
  const ratios = bursts.map(({ cpu }, round) => cpu / (off?.bursts[round]?.cpu ?? Number.NaN))
  const more = bursts.map(({ cpu }, round) => cpu - (off?.bursts[round]?.cpu ?? Number.NaN))
  const range = `${Math.min(...ratios).toFixed(3)}-${Math.max(...ratios).toFixed(3)}`
  const failed = bursts.reduce((sum, { refused, broken }) => sum + refused + broken, 0)
  process.stdout.write(
    `${name.padEnd(14)} ${median(bursts.map(({ cpu }) => cpu)).toFixed(0)} us a call, ${median(ratios).toFixed(3)} (${range}) of off, ${median(more).toFixed(1)} us more, ${failed} failed\n`,
  )
}
process.exit(0)
