import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cpuTime } from './proc'
import { median, table } from './statistics'
import { FEEDER_CORE, type Helper, SERVER_CORE, type Workshop } from './workshop'
import { type Burst, burst } from './wrk'

/** The ways to a bare server: at once, and through one more process of each kind. */
const WAYS = ['direct', 'tcp', 'frames', 'link', 'fetch'] as const
type Way = (typeof WAYS)[number]

const MEANING: Readonly<Record<Way, string>> = {
  direct: 'no hop',
  tcp: 'a relay that passes bytes on',
  frames: 'HTTP here, bare frames on one connection',
  link: "our forwarder's link",
  fetch: '`fetch`',
}

interface Measured {
  readonly burst: Burst
  /** CPU of the process in the way and of the server, in microseconds per call. */
  readonly forwarder: number
  readonly owner: number
}

export interface Hops {
  readonly rows: readonly HopsRow[]
  /** Microseconds of single calls, each after a rest, in turns. */
  readonly rested: Readonly<Record<Way, readonly number[]>>
}

interface HopsRow {
  readonly connections: number
  readonly ways: Readonly<Record<Way, readonly Measured[]>>
}

const PATH = '/apis/v1/websearch/images/search?q=credit%20card&count=20&country=US&safesearch=strict'
const WARM_CONNECTIONS = 32
const WARM_SECONDS = 3
/** As long as a charged call takes on sqld. */
const REST_MS = 4
const RESTED_CALLS = 60

/** The headers of what the bare server answers: as many as a search has. */
export const HEADERS: Readonly<Record<string, string>> = {
  ...{ 'content-type': 'application/json', 'cache-control': 'private', 'x-content-type-options': 'nosniff' },
  ...Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`x-ratelimit-limit-requests-${i}`, '1000000000'])),
}

/** A hop alone, without the gateway: what a process in the way costs at least, and what our link costs, in turns. */
export async function measureHops(
  workshop: Workshop,
  plan: { readonly rounds: number; readonly seconds: number; readonly connections: readonly number[] },
): Promise<Hops> {
  const keys = join(await workshop.folder('hops'), 'keys.txt')
  writeFileSync(keys, 'gwk_bench')
  const owner = await workshop.helper('hop-owner.ts', [], SERVER_CORE)
  const [port = '', framesPort = ''] = owner.ready.split(' ')
  const addresses = [`http://127.0.0.1:${port}`, `ws://127.0.0.1:${framesPort}`]
  const proxy = (way: Way) => workshop.helper('hop-proxy.ts', [way, ...addresses], FEEDER_CORE)
  const [tcp, frames, link, viaFetch] = [
    await workshop.helper('relay.ts', [port], FEEDER_CORE),
    await proxy('frames'),
    await proxy('link'),
    await proxy('fetch'),
  ]
  const processes: Readonly<Record<Way, Helper>> = {
    direct: { ...owner, ready: port },
    tcp,
    frames,
    link,
    fetch: viaFetch,
  }
  const one = async (way: Way, connections: number, seconds: number): Promise<Measured> => {
    const { pid, ready } = processes[way]
    const before = cpuTime(owner.pid).process
    const target = { url: `http://127.0.0.1:${ready}${PATH}`, pid, script: 'rotate-keys.lua' as const, args: [keys] }
    const done = await burst(target, connections, seconds)
    const ofOwner = (cpuTime(owner.pid).process - before) / Math.max(1, done.requests)
    return { burst: done, forwarder: pid === owner.pid ? 0 : done.cpu, owner: ofOwner }
  }
  for (const way of WAYS) await one(way, WARM_CONNECTIONS, WARM_SECONDS)
  const rows: HopsRow[] = []
  for (const connections of plan.connections) {
    const ways: Record<Way, Measured[]> = { direct: [], tcp: [], frames: [], link: [], fetch: [] }
    for (let round = 0; round < plan.rounds; round++)
      for (const way of WAYS) ways[way].push(await one(way, connections, plan.seconds))
    rows.push({ connections, ways })
  }
  const ports = WAYS.map((way) => processes[way].ready)
  const calls = `${plan.rounds * RESTED_CALLS}`
  const times: number[][] = JSON.parse(await workshop.once('turns.ts', [keys, PATH, calls, `${REST_MS}`, ...ports]))
  const of = (way: Way) => times[WAYS.indexOf(way)] ?? []
  const rested = { direct: of('direct'), tcp: of('tcp'), frames: of('frames'), link: of('link'), fetch: of('fetch') }
  for (const helper of [tcp, frames, link, viaFetch, owner]) await helper.stop()
  return { rows, rested }
}

const together = ({ forwarder, owner }: Measured) => forwarder + owner

/** The table of all ways, with what each costs more than none. */
export function describeHops({ rows, rested }: Hops): string {
  const lines = rows.flatMap(({ connections, ways }) => {
    const middle = (way: Way, pick: (one: Measured) => number) => median(ways[way].map(pick))
    const more = (way: Way, pick: (one: Measured) => number) => middle(way, pick) - middle('direct', pick)
    return WAYS.map((way) => [
      connections,
      MEANING[way],
      middle(way, ({ burst }) => burst.rps).toFixed(0),
      middle(way, ({ burst }) => burst.p50).toFixed(0),
      middle(way, ({ forwarder }) => forwarder).toFixed(0),
      middle(way, ({ owner }) => owner).toFixed(0),
      way === 'direct' ? '' : more(way, together).toFixed(0),
      way === 'direct' ? '' : more(way, ({ burst }) => burst.p50).toFixed(0),
    ])
  })
  return [
    "A hop alone, between two bare servers, in us: the server has a core, the process in the way shares the generator's.",
    '',
    table(['c', 'through', 'req/s', 'p50', 'its CPU', "the server's CPU", 'CPU more', 'p50 more'], lines),
    '',
    `Single calls, each after ${REST_MS} ms in which something else filled the caches, p50 in us:`,
    '',
    table(
      ['through', 'p50', 'more'],
      WAYS.map((way) => {
        const more = median(rested[way]) - median(rested.direct)
        return [MEANING[way], median(rested[way]).toFixed(0), way === 'direct' ? '' : more.toFixed(0)]
      }),
    ),
  ].join('\n')
}
