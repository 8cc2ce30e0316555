import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '@libsql/client'
import { NetworkDatabase } from '../../server/adapters/stores/libsql/driver/network/network-database'
import { freePort } from '../../server/listen'
import { openSpender, ownersOf } from '../support/cluster/cluster'
import { SQLD } from '../support/databases/sqld'
import { reconcile } from '../support/reconcile'
import { until } from '../support/until'
import { cpuTime } from './proc'
import type { CallCosts } from './sizing'
import { sizes } from './sizing-table'
import { median, sum, table } from './statistics'
import { FEEDER_CORE, type Helper, SERVER_CORE, type Workshop } from './workshop'
import { type Burst, burst } from './wrk'

/** One load on both nodes or on one: what the generators saw, and the CPU of each process, in microseconds of each call of them together. */
interface Measured {
  readonly bursts: readonly Burst[]
  readonly nodes: readonly number[]
  readonly databases: readonly number[]
}

const LOADS = [
  'one node, own cell',
  'both nodes, own cells',
  'both nodes, any cell',
  'second node, first cell',
] as const
type Load = (typeof LOADS)[number]

export interface CellsResult {
  readonly loads: Readonly<Record<Load, readonly Measured[]>>
  /** CPU of the control database for one look-up of the cell of a key. */
  readonly lookUpUs: number
  readonly problems: readonly string[]
}

const SEARCH = '/apis/v1/websearch/images/search?q=credit%20card&count=20&country=US&safesearch=strict'
const UPSTREAM_MS = 50
/** More than a core of a node answers in the time of the upstream. */
const CONNECTIONS = 256
const ACCOUNTS = 16
const KEYS_EACH = 4
/** The compiler takes much of the first 10,000 calls of each way. */
const WARM_SECONDS = 10
const LOOK_UPS = 4000
/** Of a cluster whose nodes know nearly all keys that call. */
const LOOK_UPS_PER_CALL = 0.01

/** Whether each node has a core that nothing else uses, so that the wall clock may be compared. */
const SECOND_CORE = '1'
const OWN_CORES =
  SERVER_CORE === '0' && !FEEDER_CORE.split(',').some((core) => core === SERVER_CORE || core === SECOND_CORE)

interface Node extends Helper {
  readonly url: string
  readonly folder: string
}

/**
 * Two nodes, each with a cell of its own, on an upstream of 50 ms. With two cores the nodes share the first one, and all that feeds them has the other, so
 * that CPU per call is taken under the same conditions for one node and for two. `BENCH_FEEDER_CORES=2,3` gives each node a core of its own.
 */
export async function measureCells(
  workshop: Workshop,
  plan: { readonly rounds: number; readonly seconds: number },
): Promise<CellsResult> {
  const folder = await workshop.folder('cells')
  const upstream = await workshop.helper('upstream.ts', [], FEEDER_CORE)
  const databases = [await openDatabase(workshop, folder, 'main'), await openDatabase(workshop, folder, 'c2')] as const
  const settings = JSON.stringify({
    ...{ DATABASE_URL: databases[0].url, CELL_DATABASE_URLS: databases[1].url, DATABASE_SYNC: 'promised' },
    ...{ SOCIAL_PROVIDER: 'none', PAYMENTS: 'off' },
  })
  const start = async (name: string, core: string): Promise<Node> => {
    const own = await workshop.folder(name)
    writeFileSync(join(own, 'env.json'), settings)
    const node = await workshop.node(own, `http://127.0.0.1:${upstream.ready}/2000/${UPSTREAM_MS}`, core)
    return { ...node, folder: own, url: `http://127.0.0.1:${node.ready}` }
  }
  const nodes = [
    await start('first', SERVER_CORE),
    await start('second', OWN_CORES ? SECOND_CORE : SERVER_CORE),
  ] as const
  const owners = async () => {
    const { main, c2 } = await ownersOf(nodes[0])
    return [main, c2].map((url) => nodes.findIndex((node) => node.url === url))
  }
  await until(async () => (await owners()).toSorted().join() === '0,1')
  const cells = await owners()
  const keys = await seedKeys(folder, nodes[0], databases[0].url, cells)
  const target = (node: 0 | 1, file: string) => ({
    ...{ url: nodes[node].url + SEARCH, pid: nodes[node].pid, script: 'rotate-keys.lua' as const, args: [file] },
  })
  const [own, other, any] = [keys.of(0), keys.of(1), keys.all]
  const targets: Readonly<Record<Load, readonly ReturnType<typeof target>[]>> = {
    'one node, own cell': [target(0, own)],
    'both nodes, own cells': [target(0, own), target(1, other)],
    'both nodes, any cell': [target(0, any), target(1, any)],
    'second node, first cell': [target(1, own)],
  }
  const measure = async (load: Load, seconds: number): Promise<Measured> => {
    const processes = [...nodes, ...databases]
    const before = processes.map(({ pid }) => cpuTime(pid).process)
    const bursts = await Promise.all(targets[load].map((each) => burst(each, CONNECTIONS, seconds)))
    const calls = Math.max(1, sum(bursts.map(({ requests }) => requests)))
    const each = processes.map(({ pid }, i) => (cpuTime(pid).process - (before[i] ?? 0)) / calls)
    // The databases in the order of the nodes that own them.
    return { bursts, nodes: each.slice(0, 2), databases: [0, 1].map((node) => each[2 + cells.indexOf(node)] ?? 0) }
  }
  await measure('both nodes, any cell', WARM_SECONDS)
  const loads: Record<Load, Measured[]> = {
    'one node, own cell': [],
    'both nodes, own cells': [],
    'both nodes, any cell': [],
    'second node, first cell': [],
  }
  for (let round = 0; round < plan.rounds; round++)
    for (const load of LOADS) loads[load].push(await measure(load, plan.seconds))
  for (const node of nodes.toReversed()) await node.stop()
  await upstream.stop()
  const problems = (await Promise.all(databases.map(({ url }) => reconcile(url)))).flatMap((books) => books.problems)
  const lookUpUs = await measureLookUps(databases[0])
  for (const database of databases) database.stop()
  return { loads, lookUpUs, problems }
}

/** A libSQL server of its own in the folder. */
export async function openDatabase(workshop: Workshop, folder: string, name: string) {
  const port = freePort('127.0.0.1')
  const command = [SQLD, '--db-path', join(folder, name), '--http-listen-addr', `127.0.0.1:${port}`, '--no-welcome']
  return { ...(await workshop.foreign(command, folder, port, FEEDER_CORE)), url: `http://127.0.0.1:${port}` }
}

/** Makes accounts in both cells, and files with the keys of those that each node owns, and of all. */
async function seedKeys(folder: string, node: Node, controlUrl: string, owners: readonly number[]) {
  const client = createClient({ url: controlUrl })
  const secrets: [string[], string[]] = [[], []]
  for (let i = 0; i < ACCOUNTS; i++) {
    const spender = await openSpender(node, `bench-${i}@example.com`, null)
    const sql = 'SELECT cell FROM account_directory WHERE account_id = ?'
    const { rows } = await client.execute({ sql, args: [spender.id] })
    const owner = owners[rows[0]?.['cell'] === 'main' ? 0 : 1] === 0 ? 0 : 1
    secrets[owner].push(spender.secret)
    for (let more = 1; more < KEYS_EACH; more++)
      secrets[owner].push(String((await spender.api('/api/keys', { name: `bench ${more}` })).secret))
  }
  client.close()
  const write = (name: string, lines: readonly string[]) => {
    if (lines.length === 0) throw new Error(`no account of ${name}`)
    writeFileSync(join(folder, name), lines.join('\n'), { mode: 0o600 })
    return join(folder, name)
  }
  const files = [write('first.txt', secrets[0]), write('second.txt', secrets[1])] as const
  return { of: (owner: 0 | 1) => files[owner], all: write('all.txt', secrets.flat()) }
}

/** The statement that a node asks for a key that it does not know, as it asks it. */
async function measureLookUps({ pid, url }: { readonly pid: number; readonly url: string }): Promise<number> {
  const client = createClient({ url })
  const { rows } = await client.execute('SELECT hash FROM key_directory')
  const before = cpuTime(pid).process
  const reader = new NetworkDatabase({ url, authToken: null })
  for (let i = 0; i < LOOK_UPS; i++) {
    const hash = rows[i % rows.length]?.['hash'] ?? ''
    await reader.batch([{ sql: 'SELECT hash, cell FROM key_directory WHERE hash = ?', args: [hash] }], 'read')
  }
  reader.close()
  client.close()
  return (cpuTime(pid).process - before) / LOOK_UPS
}

const ofNodes = ({ nodes }: Measured) => sum(nodes)

/** What two nodes, with a core each, serve against one, by the CPU of the nodes for each call. */
export function gainOf({ loads }: CellsResult): { readonly own: number; readonly any: number } {
  const one = median(loads['one node, own cell'].map(({ nodes }) => nodes[0] ?? 0))
  const against = (load: Load) => (2 * one) / median(loads[load].map(ofNodes))
  return { own: against('both nodes, own cells'), any: against('both nodes, any cell') }
}

/** What a call takes of each part, as the sizing needs it. */
function costsOf({ loads, lookUpUs }: CellsResult): CallCosts {
  const middle = (load: Load, pick: (one: Measured) => number) => median(loads[load].map(pick))
  return {
    owner: middle('one node, own cell', ({ nodes }) => nodes[0] ?? 0),
    ownerOfForwarded: middle('second node, first cell', ({ nodes }) => nodes[0] ?? 0),
    forwarder: middle('second node, first cell', ({ nodes }) => nodes[1] ?? 0),
    database: middle('one node, own cell', ({ databases }) => databases[0] ?? 0),
    lookUp: lookUpUs,
  }
}

export function describeCells(result: CellsResult): string {
  const { loads, lookUpUs, problems } = result
  const rows = LOADS.map((load) => {
    const middle = (pick: (one: Measured) => number) => median(loads[load].map(pick))
    const ofBursts = (pick: (one: Burst) => number) => (one: Measured) => sum(one.bursts.map(pick))
    const slowest = (one: Measured) => Math.max(...one.bursts.map(({ p50 }) => p50)) / 1000
    return [
      load,
      middle(ofBursts(({ rps }) => rps)).toFixed(0),
      middle(slowest).toFixed(1),
      ...[0, 1].map((i) => middle(({ nodes }) => nodes[i] ?? 0).toFixed(0)),
      middle(ofNodes).toFixed(0),
      middle(({ databases }) => sum(databases)).toFixed(0),
      sum(loads[load].map(ofBursts(({ refused, broken }) => refused + broken))),
    ]
  })
  const gain = gainOf(result)
  const wall = (load: Load) => median(loads[load].map(({ bursts }) => sum(bursts.map(({ rps }) => rps))))
  const [one, own, any] = LOADS.map(wall)
  const walls = `${((own ?? 0) / (one || 1)).toFixed(2)} x at the owners, ${((any ?? 0) / (one || 1)).toFixed(2)} x at any node`
  return [
    `Two nodes with a cell each, an upstream of ${UPSTREAM_MS} ms, ${CONNECTIONS} connections to each node that is called; CPU in us per call of all nodes together.`,
    '',
    table(['load', 'req/s', 'p50 ms', 'first node', 'second node', 'nodes', 'sqld, both', 'not 200'], rows),
    '',
    `Two nodes with a core each against one, by the CPU of the nodes per call: ${gain.own.toFixed(2)} x if callers reach the owner, ${gain.any.toFixed(2)} x if they reach any node and half of the calls are forwarded.`,
    OWN_CORES
      ? `By the wall clock, each node on a core of its own: ${walls}.`
      : `The wall clock (${walls}) cannot show it here: both nodes share a core, and databases, upstream and generators the other one.`,
    `A look-up of the cell of a key takes ${lookUpUs.toFixed(0)} us of the control database.`,
    '',
    sizes(costsOf(result), LOOK_UPS_PER_CALL),
    '',
    `Books of both cells: ${problems.length === 0 ? 'all sums agree' : `WRONG: ${problems.slice(0, 3).join('; ')}`}.`,
  ].join('\n')
}
