import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { reconcile } from '../support/reconcile'
import { writeChatModel } from './chat-model'
import { residentMb } from './proc'
import { median, sum, table } from './statistics'
import { FEEDER_CORE, type Helper, SERVER_CORE, type Workshop } from './workshop'
import { type Burst, burst, type Target } from './wrk'

const KINDS = ['plain', 'stream', 'tenth'] as const
type Kind = (typeof KINDS)[number]

interface WorkersRow {
  readonly kind: Kind
  readonly proxy: readonly Burst[]
  readonly alone: readonly Burst[]
  readonly one: readonly Burst[]
  readonly two: readonly Burst[]
}

export interface WorkersResult {
  readonly rows: readonly WorkersRow[]
  /** Of a plain call, one at a time, in microseconds: without workers and with one. */
  readonly p50: readonly [alone: number, one: number]
  /** Of each process at rest. */
  readonly residentMb: { readonly primary: number; readonly workers: readonly number[] }
  readonly problems: readonly string[]
}

const CONNECTIONS = 64
const WARM_SECONDS = 8

/** A gateway, its workers, and how to call it. */
interface Opened {
  readonly gateway: Helper
  readonly folder: string
  readonly others: readonly number[]
  target(kind: Kind): Target
}

/** Charged calls of one process, of a primary with one worker and with two, and of a bare proxy, in turns. */
export async function measureWorkers(
  workshop: Workshop,
  plan: { rounds: number; seconds: number },
): Promise<WorkersResult> {
  const upstream = await workshop.helper('upstream.ts', [], FEEDER_CORE)
  const base = `http://127.0.0.1:${upstream.ready}`
  const proxy = await workshop.helper('bare-proxy.ts', [base], SERVER_CORE)
  const opened = [await open(workshop, base, 0), await open(workshop, base, 1), await open(workshop, base, 2)] as const
  const [alone, one, two] = opened
  const resting = two.others.map(residentMb)
  const primaryMb = residentMb(two.gateway.pid)
  const rows: WorkersRow[] = []
  for (const kind of KINDS) {
    const bare = { ...alone.target(kind), url: `http://127.0.0.1:${proxy.ready}${PATH}`, pid: proxy.pid }
    const targets = { proxy: bare, alone: alone.target(kind), one: one.target(kind), two: two.target(kind) }
    for (const target of Object.values(targets)) await burst(target, CONNECTIONS, WARM_SECONDS)
    const row = { kind, proxy: [] as Burst[], alone: [] as Burst[], one: [] as Burst[], two: [] as Burst[] }
    for (let round = 0; round < plan.rounds; round++)
      for (const name of ['proxy', 'alone', 'one', 'two'] as const)
        row[name].push(await burst(targets[name], CONNECTIONS, plan.seconds))
    rows.push(row)
  }
  const single: [number[], number[]] = [[], []]
  for (let round = 0; round < plan.rounds; round++)
    for (const [i, { target }] of [alone, one].entries())
      single[i]?.push((await burst(target('plain'), 1, plan.seconds)).p50)
  const problems: string[] = []
  for (const { gateway, folder } of opened) {
    await gateway.stop()
    problems.push(...(await reconcile(join(folder, 'gateway.db'))).problems)
    workshop.removeFolder(folder)
  }
  await proxy.stop()
  await upstream.stop()
  const p50 = [median(single[0]), median(single[1])] as const
  return { rows, p50, residentMb: { primary: primaryMb, workers: resting }, problems }
}

const PATH = '/v1/chat/completions'

async function open(workshop: Workshop, base: string, workers: number): Promise<Opened> {
  const folder = await workshop.folder(`workers-${workers}`)
  writeChatModel(folder, base)
  await workshop.once('seed-core.ts', ['keys', folder, '1'])
  const key = readFileSync(join(folder, 'keys.txt'), 'utf8').trim()
  const gateway = await workshop.gateway(folder, base, { WORKERS: String(workers) })
  const others = await workerPids(folder, workers)
  return {
    gateway,
    folder,
    others,
    target(kind) {
      const url = `http://127.0.0.1:${gateway.ready}${PATH}`
      const args = kind === 'tenth' ? [key, 'plain', `${base}/v1`, 'tenth'] : [key, kind, `${base}/v1`]
      return { url, pid: gateway.pid, others, script: 'models.lua', args }
    },
  }
}

async function workerPids(folder: string, count: number): Promise<number[]> {
  for (;;) {
    const answer = await fetch('http://gateway/api/operator/workers', { unix: join(folder, 'control.sock') })
    const { workers }: { workers: readonly { readonly pid: number | null }[] } = await answer.json()
    const pids = workers.flatMap(({ pid }) => pid ?? [])
    if (pids.length === count) return pids
    await Bun.sleep(100)
  }
}

export function describeWorkers({ rows, p50, residentMb: mb, problems }: WorkersResult): string {
  const cpu = (bursts: readonly Burst[]) => median(bursts.map((one) => one.cpu))
  const deciding = (bursts: readonly Burst[]) => median(bursts.map(({ mainCpu }) => mainCpu)).toFixed(0)
  const served = (bursts: readonly Burst[]) => median(bursts.map(({ others }) => sum(others)))
  return [
    `Charged chats at ${CONNECTIONS} connections: one process, a primary with one worker and with two, and a bare proxy, in turns. CPU in us per call; in brackets the primary's serving thread, without those of its log and tables. \`tenth\`: plain, of which each tenth is passed on.`,
    table(
      [
        '',
        'proxy',
        'one process',
        'primary, worker',
        'primary, two workers',
        'worker / proxy',
        'workers for a primary',
      ],
      rows.map(({ kind, proxy, alone, one, two }) => [
        kind,
        cpu(proxy).toFixed(0),
        cpu(alone).toFixed(0),
        `${cpu(one).toFixed(0)} (${deciding(one)}), ${served(one).toFixed(0)}`,
        `${cpu(two).toFixed(0)} (${deciding(two)}), ${served(two).toFixed(0)}`,
        (served(one) / cpu(proxy)).toFixed(1),
        (served(two) / cpu(two)).toFixed(1),
      ]),
    ),
    `p50 of a plain call, one at a time: ${p50[0].toFixed(0)} us in one process, ${p50[1].toFixed(0)} us with a worker. At rest: primary ${mb.primary.toFixed(0)} MB, workers ${mb.workers.map((one) => one.toFixed(0)).join(', ')} MB.`,
    problems.length === 0 ? 'All books agree.' : problems.join('; '),
  ].join('\n\n')
}
