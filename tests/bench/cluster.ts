import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../server/listen'
import { SQLD } from '../support/databases/sqld'
import { reconcile } from '../support/reconcile'
import { cpuTime } from './proc'
import { median, quantile, sum, table } from './statistics'
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

/** At the owner, through a relay that only passes bytes on, and through a standby. */
const WAYS = ['direct', 'relayed', 'forwarded'] as const
type Way = (typeof WAYS)[number]

export interface ClusterResult {
  readonly rows: readonly {
    readonly connections: number
    readonly direct: readonly Measured[]
    /** The same through a process that only passes bytes on: what one more in the way costs, whatever it does. */
    readonly relayed: readonly Measured[]
    readonly forwarded: readonly Measured[]
  }[]
  /** Microseconds of single calls by each of the three ways, in turns. */
  readonly single: Readonly<Record<Way, readonly number[]>>
  readonly problems: readonly string[]
}

const SEARCH = '/apis/v1/websearch/images/search?q=credit%20card&count=20&country=US&safesearch=strict'
const KEYS = 100
const WARM_CONNECTIONS = 32
/** The compiler takes much of the first 10,000 calls of each way. */
const WARM_SECONDS = 10
/** To each of the three, in each round: a median of a few hundred calls is within 0.1 ms. */
const SINGLE_CALLS = 200

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
  const relay = await workshop.helper('relay.ts', [owner.ready], FEEDER_CORE)
  const at = (node: Helper, pid = node.pid): Target => ({
    ...{ url: `http://127.0.0.1:${node.ready}${SEARCH}`, pid, script: 'rotate-keys.lua' },
    args: [join(folder, 'keys.txt')],
  })
  const one = async (node: Helper, connections: number): Promise<Measured> => {
    const before = [standby.pid, database.pid, relay.pid].map((pid) => cpuTime(pid).process)
    // The owner does the last of the work in both.
    const done = await burst(at(node, owner.pid), connections, plan.seconds)
    const [forwarder = 0, store = 0, inTheWay = 0] = [standby.pid, database.pid, relay.pid].map(
      (pid, i) => cpuTime(pid).process - (before[i] ?? 0),
    )
    const each = (total: number) => total / Math.max(1, done.requests)
    return { burst: done, cpu: { owner: done.cpu, forwarder: each(forwarder + inTheWay), database: each(store) } }
  }
  for (const node of [owner, relay, standby]) await burst(at(node), WARM_CONNECTIONS, WARM_SECONDS)
  const rows: { connections: number; direct: Measured[]; relayed: Measured[]; forwarded: Measured[] }[] = []
  for (const connections of plan.connections) {
    const row: (typeof rows)[number] = { connections, direct: [], relayed: [], forwarded: [] }
    for (let round = 0; round < plan.rounds; round++) {
      row.direct.push(await one(owner, connections))
      row.relayed.push(await one(relay, connections))
      row.forwarded.push(await one(standby, connections))
    }
    rows.push(row)
  }
  const ports = [owner, relay, standby].map(({ ready }) => ready)
  const calls = `${plan.rounds * SINGLE_CALLS}`
  const said = await workshop.once('turns.ts', [join(folder, 'keys.txt'), SEARCH, calls, '0', ...ports])
  const [direct = [], relayed = [], forwarded = []]: number[][] = JSON.parse(said)
  for (const node of [relay, standby, owner]) await node.stop()
  await upstream.stop()
  const { problems } = await reconcile(databaseUrl)
  database.stop()
  return { rows, single: { direct, relayed, forwarded }, problems }
}

const middle = (of: readonly Measured[], pick: (one: Measured) => number) => median(of.map(pick))
/** Without the database's: it does the same in both. */
const ofNodes = ({ cpu }: Measured) => cpu.owner + cpu.forwarder

/** What a way costs more than the owner itself: CPU at most connections, and the median of single calls. */
function moreThanDirect({ rows, single }: ClusterResult, way: Way) {
  const busiest = rows.at(-1)
  if (!busiest) return { cpuUs: Number.NaN, p50Ms: Number.NaN }
  return {
    cpuUs: middle(busiest[way], ofNodes) - middle(busiest.direct, ofNodes),
    p50Ms: (median(single[way]) - median(single.direct)) / 1000,
  }
}

/** What a forwarded call costs more, and what a relay in the same place costs, which only passes bytes on. */
export function hopCost(result: ClusterResult) {
  return { ...moreThanDirect(result, 'forwarded'), relay: moreThanDirect(result, 'relayed') }
}

export function describeCluster(result: ClusterResult): string {
  const { rows, problems } = result
  const all = (row: ClusterResult['rows'][number], pick: (one: Measured) => number, digits = 0) =>
    WAYS.map((way) => middle(row[way], pick).toFixed(digits)).join(' / ')
  const { cpuUs, p50Ms, relay } = hopCost(result)
  const books = problems.length === 0 ? 'all sums agree' : `WRONG: ${problems.slice(0, 3).join('; ')}`
  return [
    'At the owner / through a relay that only passes bytes on / through a standby; CPU in us per call.',
    '',
    table(
      ['c', 'req/s', 'p50 ms', 'p99 ms', 'owner CPU', 'CPU in the way', 'sqld CPU', 'owner and way', 'not 200'],
      rows.map((row) => [
        row.connections,
        all(row, ({ burst }) => burst.rps),
        all(row, ({ burst }) => burst.p50 / 1000, 2),
        all(row, ({ burst }) => burst.p99 / 1000, 2),
        all(row, ({ cpu }) => cpu.owner),
        all(row, ({ cpu }) => cpu.forwarder),
        all(row, ({ cpu }) => cpu.database),
        all(row, ofNodes),
        sum([...row.direct, ...row.relayed, ...row.forwarded].map(({ burst }) => burst.refused + burst.broken)),
      ]),
    ),
    '',
    `A forwarded call costs ${cpuUs.toFixed(0)} us of CPU more, one through the relay ${relay.cpuUs.toFixed(0)}.`,
    '',
    `Single calls, in turns, ${result.single.direct.length} each: a forwarded one takes ${p50Ms.toFixed(2)} ms longer (p50), one through the relay ${relay.p50Ms.toFixed(2)} ms.`,
    '',
    table(
      ['ms', 'at the owner', 'relay', 'standby'],
      [0.1, 0.25, 0.5, 0.75].map((share) => [
        `p${share * 100}`,
        ...WAYS.map((way) => (quantile(result.single[way], share) / 1000).toFixed(2)),
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
