import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../server/listen'
import { reconcile } from '../support/reconcile'
import { SQLD } from '../support/sqld'
import { cpuTime } from './proc'
import { median, sum, table } from './statistics'
import { FEEDER_CORE, type Helper, SERVER_CORE, type Workshop } from './workshop'
import { type Burst, burst, type Target } from './wrk'

/** CPU of one call, in microseconds: of each process that takes part. */
interface CallCpu {
  readonly owner: number
  readonly forwarder: number
  readonly database: number
}

interface Measured {
  readonly burst: Burst
  readonly cpu: CallCpu
}

export interface ClusterResult {
  readonly rows: readonly {
    readonly connections: number
    readonly direct: readonly Measured[]
    readonly forwarded: readonly Measured[]
  }[]
  /** A hop alone, without the gateway: our client beside `fetch`, in turns. */
  readonly hops: readonly {
    readonly connections: number
    readonly own: readonly Burst[]
    readonly fetch: readonly Burst[]
  }[]
  readonly problems: readonly string[]
}

const SEARCH = '/apis/v1/websearch/images/search?q=credit%20card&count=20&country=US&safesearch=strict'
const KEYS = 100
const WARM_CONNECTIONS = 32
const WARM_SECONDS = 5

/**
 * Charged searches at the node that owns the accounts, and the same through a standby, in turns. The owner has a core for itself; the forwarder
 * shares the other one with database, upstream and generator, so that only CPU and p50 at one connection are comparable.
 */
export async function measureCluster(
  workshop: Workshop,
  plan: { readonly rounds: number; readonly seconds: number; readonly connections: readonly number[] },
): Promise<ClusterResult> {
  const folder = await workshop.folder('cluster')
  const upstream = await workshop.helper('upstream.ts', [], FEEDER_CORE)
  const hops = await measureHops(workshop, folder, upstream, plan)
  const port = freePort('127.0.0.1')
  const command = [SQLD, '--db-path', join(folder, 'db'), '--http-listen-addr', `127.0.0.1:${port}`, '--no-welcome']
  const database = await workshop.foreign(command, folder, port, FEEDER_CORE)
  const databaseUrl = `http://127.0.0.1:${port}`
  const settings = JSON.stringify({
    DATABASE_URL: databaseUrl,
    DATABASE_SYNC: 'promised',
    SOCIAL_PROVIDER: 'none',
    PAYMENTS: 'off',
  })
  writeFileSync(join(folder, 'env.json'), settings)
  await workshop.once('seed-core.ts', ['keys', folder, String(KEYS)])
  const start = async (name: string, core: string) => {
    const own = await workshop.folder(name)
    writeFileSync(join(own, 'env.json'), settings)
    return workshop.node(own, `http://127.0.0.1:${upstream.ready}/2000/0`, core)
  }
  const owner = await start('owner', SERVER_CORE)
  const standby = await start('standby', FEEDER_CORE)
  const at = (node: Helper, pid = node.pid): Target => ({
    ...{ url: `http://127.0.0.1:${node.ready}${SEARCH}`, pid, script: 'rotate-keys.lua' },
    args: [join(folder, 'keys.txt')],
  })
  const one = async (node: Helper, connections: number): Promise<Measured> => {
    const before = [standby.pid, database.pid].map((pid) => cpuTime(pid).process)
    // The owner does the last of the work in both.
    const done = await burst(at(node, owner.pid), connections, plan.seconds)
    const [forwarder = 0, store = 0] = [standby.pid, database.pid].map(
      (pid, i) => cpuTime(pid).process - (before[i] ?? 0),
    )
    const each = (total: number) => total / Math.max(1, done.requests)
    return { burst: done, cpu: { owner: done.cpu, forwarder: each(forwarder), database: each(store) } }
  }
  for (const node of [owner, standby]) await burst(at(node), WARM_CONNECTIONS, WARM_SECONDS)
  const rows: { connections: number; direct: Measured[]; forwarded: Measured[] }[] = []
  for (const connections of plan.connections) {
    const row: (typeof rows)[number] = { connections, direct: [], forwarded: [] }
    for (let round = 0; round < plan.rounds; round++) {
      row.direct.push(await one(owner, connections))
      row.forwarded.push(await one(standby, connections))
    }
    rows.push(row)
  }
  for (const node of [standby, owner]) await node.stop()
  await upstream.stop()
  const { problems } = await reconcile(databaseUrl)
  database.stop()
  return { rows, hops, problems }
}

/** The same answers through the forwarder alone and through `fetch`, with the same signed header. */
async function measureHops(
  workshop: Workshop,
  folder: string,
  upstream: Helper,
  plan: { readonly rounds: number; readonly seconds: number; readonly connections: readonly number[] },
) {
  const keys = join(folder, 'hop-keys.txt')
  writeFileSync(keys, 'gwk_bench')
  const base = `http://127.0.0.1:${upstream.ready}`
  const start = async (way: string): Promise<Target> => {
    const { pid, ready } = await workshop.helper('hop-proxy.ts', [way, base], SERVER_CORE)
    return { url: `http://127.0.0.1:${ready}/2000/0${SEARCH}`, pid, script: 'rotate-keys.lua', args: [keys] }
  }
  const [own, viaFetch] = [await start('own'), await start('fetch')]
  for (const target of [own, viaFetch]) await burst(target, WARM_CONNECTIONS, WARM_SECONDS)
  const rows: { connections: number; own: Burst[]; fetch: Burst[] }[] = []
  for (const connections of plan.connections) {
    const row: (typeof rows)[number] = { connections, own: [], fetch: [] }
    for (let round = 0; round < plan.rounds; round++) {
      row.own.push(await burst(own, connections, plan.seconds))
      row.fetch.push(await burst(viaFetch, connections, plan.seconds))
    }
    rows.push(row)
  }
  return rows
}

const middle = (of: readonly Measured[], pick: (one: Measured) => number) => median(of.map(pick))
/** Without the database's: it does the same in both. */
const ofNodes = ({ cpu }: Measured) => cpu.owner + cpu.forwarder

/** What a forwarded call costs more: its CPU at most connections, its p50 at fewest. */
export function hopCost({ rows }: ClusterResult): { readonly cpuUs: number; readonly p50Ms: number } {
  const busiest = rows.at(-1)
  const quietest = rows[0]
  if (!busiest || !quietest) return { cpuUs: Number.NaN, p50Ms: Number.NaN }
  const p50 = ({ burst }: Measured) => burst.p50 / 1000
  return {
    cpuUs: middle(busiest.forwarded, ofNodes) - middle(busiest.direct, ofNodes),
    p50Ms: middle(quietest.forwarded, p50) - middle(quietest.direct, p50),
  }
}

export function describeCluster(result: ClusterResult): string {
  const { rows, hops, problems } = result
  const both = (row: ClusterResult['rows'][number], pick: (one: Measured) => number, digits = 0) =>
    `${middle(row.direct, pick).toFixed(digits)} / ${middle(row.forwarded, pick).toFixed(digits)}`
  const pair = (row: ClusterResult['hops'][number], pick: (one: Burst) => number, digits = 0) =>
    `${median(row.own.map(pick)).toFixed(digits)} / ${median(row.fetch.map(pick)).toFixed(digits)}`
  const { cpuUs, p50Ms } = hopCost(result)
  const books = problems.length === 0 ? 'all sums agree' : `WRONG: ${problems.slice(0, 3).join('; ')}`
  return [
    'Pairs are at the owner / through a standby; CPU in us per call.',
    '',
    table(
      ['c', 'req/s', 'p50 ms', 'p99 ms', 'owner CPU', 'forwarder CPU', 'sqld CPU', 'nodes together', 'not 200'],
      rows.map((row) => [
        row.connections,
        both(row, ({ burst }) => burst.rps),
        both(row, ({ burst }) => burst.p50 / 1000, 2),
        both(row, ({ burst }) => burst.p99 / 1000, 2),
        both(row, ({ cpu }) => cpu.owner),
        both(row, ({ cpu }) => cpu.forwarder),
        both(row, ({ cpu }) => cpu.database),
        both(row, ofNodes),
        sum([...row.direct, ...row.forwarded].map(({ burst }) => burst.refused + burst.broken)),
      ]),
    ),
    '',
    `A forwarded call costs ${cpuUs.toFixed(0)} us more, and ${p50Ms.toFixed(2)} ms of p50 at c=${rows[0]?.connections}.`,
    '',
    'A hop alone, between two bare servers; our client / `fetch`.',
    '',
    table(
      ['c', 'req/s', 'p50 ms', 'CPU us/req', 'of it JS thread'],
      hops.map((row) => [
        row.connections,
        pair(row, ({ rps }) => rps),
        pair(row, ({ p50 }) => p50 / 1000, 2),
        pair(row, ({ cpu }) => cpu),
        pair(row, ({ mainCpu }) => mainCpu),
      ]),
    ),
    '',
    describeSizing(result),
    '',
    `Books: ${books}.`,
  ].join('\n')
}

/** What each part can do on a core of its own, from its CPU per call; the owner is one thread for the most part. */
function describeSizing({ rows }: ClusterResult): string {
  const busiest = rows.at(-1)
  if (!busiest) return ''
  const perCore = (us: number) => (us > 0 ? (1e6 / us).toFixed(0) : 'any')
  const owner = middle(busiest.forwarded, ({ cpu }) => cpu.owner)
  const ownerThread = median(busiest.forwarded.map(({ burst }) => burst.mainCpu))
  const forwarder = middle(busiest.forwarded, ({ cpu }) => cpu.forwarder)
  const database = middle(busiest.forwarded, ({ cpu }) => cpu.database)
  return table(
    ['part', 'CPU us per call', 'calls/s of a core', 'what it is for'],
    [
      [
        'owner',
        owner.toFixed(0),
        perCore(owner),
        `decides and charges; its JS thread is full at ${perCore(ownerThread)} calls/s`,
      ],
      ['forwarder', forwarder.toFixed(0), perCore(forwarder), 'each standby that callers reach'],
      ['sqld', database.toFixed(0), perCore(database), 'one writer'],
    ],
  )
}
