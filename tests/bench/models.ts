import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { reconcile } from '../support/reconcile'
import { writeChatModel } from './chat-model'
import { openPortkey, PORTKEY } from './portkey'
import { median, spread, sum, table } from './statistics'
import { FEEDER_CORE, SERVER_CORE, type Workshop } from './workshop'
import { type Burst, burst, type Target } from './wrk'

interface ModelsRow {
  readonly kind: 'plain' | 'stream' | 'paced'
  readonly connections: number
  readonly control: readonly Burst[]
  readonly gateway: readonly Burst[]
  /** Empty where it could not be installed. */
  readonly portkey: readonly Burst[]
}

export interface ModelsResult {
  readonly rows: readonly ModelsRow[]
  readonly served: number
  readonly charges: number
  readonly problems: readonly string[]
}

const CONNECTIONS = [1, 64]

/** Chat completions, plain and streamed, metered and charged, against a bare Bun pipe and a gateway that charges nothing, in turns. */
export async function measureModels(
  workshop: Workshop,
  plan: { rounds: number; seconds: number },
): Promise<ModelsResult> {
  const folder = await workshop.folder('models')
  const upstream = await workshop.helper('upstream.ts', [], FEEDER_CORE)
  const base = `http://127.0.0.1:${upstream.ready}`
  writeChatModel(folder, base)
  await workshop.once('seed-core.ts', ['keys', folder, '1'])
  const key = readFileSync(join(folder, 'keys.txt'), 'utf8').trim()
  const proxy = await workshop.helper('bare-proxy.ts', [base], SERVER_CORE)
  const gateway = await workshop.gateway(folder, base)
  const portkey = await openPortkey(workshop)
  const target = (kind: ModelsRow['kind'], port: number | string, pid: number): Target => ({
    url: `http://127.0.0.1:${port}/v1/chat/completions`,
    pid,
    script: 'models.lua',
    args: [key, kind, `${base}/v1`],
  })
  const rows: ModelsRow[] = []
  let served = 0
  for (const kind of ['plain', 'stream', 'paced'] as const) {
    const control = target(kind, proxy.ready, proxy.pid)
    const ours = target(kind, gateway.ready, gateway.pid)
    const theirs = portkey.skipped === null ? target(kind, portkey.port, portkey.pid) : null
    await burst(control, 32, 1)
    served += (await burst(ours, 32, 2)).requests
    if (theirs) await burst(theirs, 32, 2)
    for (const connections of CONNECTIONS) {
      const row = { kind, connections, control: [] as Burst[], gateway: [] as Burst[], portkey: [] as Burst[] }
      for (let round = 0; round < plan.rounds; round++) {
        row.control.push(await burst(control, connections, plan.seconds))
        row.gateway.push(await burst(ours, connections, plan.seconds))
        if (theirs) row.portkey.push(await burst(theirs, connections, plan.seconds))
      }
      served += sum(row.gateway.map(({ requests }) => requests))
      rows.push(row)
    }
  }
  portkey.stop()
  await gateway.stop()
  await proxy.stop()
  await upstream.stop()
  const { charges, problems } = await reconcile(join(folder, 'gateway.db'))
  workshop.removeFolder(folder)
  return { rows, served, charges, problems }
}

export function describeModels({ rows, served, charges, problems }: ModelsResult): string {
  const rps = (bursts: readonly Burst[]) =>
    bursts.length === 0 ? '-' : median(bursts.map((one) => one.rps)).toFixed(0)
  const latency = (bursts: readonly Burst[]) =>
    bursts.length === 0
      ? '-'
      : [(b: Burst) => b.p50, (b: Burst) => b.p99, (b: Burst) => b.p999]
          .map((pick) => (median(bursts.map(pick)) / 1000).toFixed(1))
          .join(', ')
  const resident = (bursts: readonly Burst[]) =>
    bursts.length === 0 ? '-' : median(bursts.map(({ residentMb }) => residentMb)).toFixed(0)
  const ratio = (bursts: readonly Burst[], to: readonly Burst[]) =>
    bursts.length === 0
      ? '-'
      : spread(
          bursts.map((one, i) => one.rps / (to[i]?.rps ?? Number.NaN)),
          2,
        )
  return [
    `A chat completion, one core each, beside a bare pipe on Bun ${Bun.version} and ${PORTKEY} on the same Bun, neither of which charges: plain; as a stream of 60 events that take no time; paced, as 100 events 5 ms apart. Bars: plain >= 0.35x, streams >= 0.85x of the bare pipe.`,
    table(
      [
        '',
        'c',
        'req/s pipe',
        'gateway',
        'portkey',
        'gateway / pipe (range)',
        'gateway / portkey (range)',
        'CPU us/req pipe / gateway',
        'p50, p99, p99.9 ms of the gateway',
        'of portkey',
        'RSS MB gateway / portkey',
        'not 200',
      ],
      rows.map(({ kind, connections, control, gateway, portkey }) => [
        kind,
        connections,
        rps(control),
        rps(gateway),
        rps(portkey),
        ratio(gateway, control),
        ratio(gateway.slice(0, portkey.length), portkey),
        `${median(control.map(({ cpu }) => cpu)).toFixed(0)} / ${median(gateway.map(({ cpu }) => cpu)).toFixed(0)}`,
        latency(gateway),
        latency(portkey),
        `${resident(gateway)} / ${resident(portkey)}`,
        sum(gateway.map(({ refused, broken }) => refused + broken)),
      ]),
    ),
    `${served} answers were counted and ${charges} charges booked (wrk hangs up at the end of each burst); ${problems.length === 0 ? 'all books agree' : problems.join('; ')}.`,
  ].join('\n\n')
}
