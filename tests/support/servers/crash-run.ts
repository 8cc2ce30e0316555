import { readFileSync } from 'node:fs'
import { chargedIds } from '../databases/database-file'
import { databaseOf } from '../databases/test-database'
import { type Reconciliation, reconcile } from '../reconcile'
import { until } from '../until'
import { freePort } from './free-port'
import { control, dataFolder, removeFolder, type ServerProcess, signUp, startServer } from './server-process'
import { callOf, type Kind, openSoldKinds } from './sold-kinds'

/** The clients call them in turns. */
const PLAIN: readonly Kind[] = ['search', 'imported']
const BY_WORKERS: readonly Kind[] = ['search', 'imported', 'chat', 'stream', 'responses']
const CLIENTS = 24
const EMAIL = 'ada@example.com'
/** Each life serves so many calls, however slow the machine is. */
const MIN_SERVED = 11
/** After them it lasts at most this long. */
const MAX_LIFE_MS = 300
/** Less than the lease of a worker: it goes on with its calls. */
const FREEZE_MS = 300

interface CrashOptions {
  readonly kills: number
  /** Workers, of which each life has one killed and another frozen before its primary is killed; none by default. */
  readonly workers?: number
  /** Calls that are served in all, at least. */
  readonly calls?: number
  /** How long a worker is frozen. After 8 s it is settled and killed. */
  readonly freezeMs?: number
  readonly onLife?: (life: number, served: number) => void
}

export interface CrashReport extends Reconciliation {
  readonly kills: number
  /** Calls that were answered 200. */
  readonly served: number
  /** Calls that were answered 200 and are not in the ledger. Must be none. */
  readonly lost: readonly string[]
  /** Calls that were under way at a kill: charged, and their caller saw no answer. Findable by request id. */
  readonly chargedWithoutAnswer: number
  readonly maxChargedWithoutAnswer: number
  /** Held by the account after the last start. */
  readonly heldMicros: number
  /** Workers that outlived their primary. */
  readonly survivors: readonly number[]
  /** The charges in the metrics, at each start and before each kill. */
  readonly metered: readonly number[]
}

/**
 * Kills the real server with SIGKILL at random points under load, restarts it on the same folder, and in the end compares every 200 that a
 * caller saw with the ledger. With workers it kills and freezes those as well.
 */
export async function crashRun(options: CrashOptions): Promise<CrashReport> {
  const { kills, workers = 0, onLife } = options
  const folder = await dataFolder()
  const sold = await openSoldKinds(folder)
  try {
    const run: Run = { options, folder, served: new Set(), survivors: [], secret: '' }
    const metered: number[] = []
    const metricsPort = await freePort()
    const env = { ...sold.env, METRICS_PORT: String(metricsPort), ...(workers > 0 && { WORKERS: String(workers) }) }
    const meter = async () => metered.push(await chargedByMetrics(metricsPort))
    let owner: Awaited<ReturnType<typeof signUp>> | null = null
    for (let life = 1; life <= kills; life++) {
      const server = await startServer(folder, env)
      await meter()
      if (owner === null) {
        await sold.importWeather()
        owner = await richOwner(server, folder)
        run.secret = (await owner.api('/api/keys', { name: 'load' })).secret
      }
      const before = run.served.size
      await loadUntilKilled(server, run, meter)
      onLife?.(life, run.served.size - before)
    }
    const last = await startServer(folder, env)
    await meter()
    const billing = await owner?.api('/api/billing', undefined, last.url)
    const code = await last.kill('SIGTERM')
    if (code !== 0) throw new Error(`the last stop ended with ${code}: ${last.output()}`)
    const database = await databaseOf(folder)
    const charged = await chargedIds(database)
    return {
      ...(await reconcile(database)),
      kills,
      served: run.served.size,
      lost: [...run.served].filter((id) => !charged.has(id)),
      chargedWithoutAnswer: charged.size - run.served.size,
      maxChargedWithoutAnswer: kills * CLIENTS * (workers > 0 ? 3 : 1),
      heldMicros: Number(billing?.held_micros_usd ?? 0),
      survivors: run.survivors,
      metered,
    }
  } finally {
    await sold.close()
    await removeFolder(folder)
  }
}

/** What all lives share. */
interface Run {
  readonly options: CrashOptions
  readonly folder: string
  readonly served: Set<string>
  readonly survivors: number[]
  secret: string
}

export async function richOwner(server: ServerProcess, folder: string) {
  const owner = await signUp(server.url, EMAIL)
  await control(folder, `/accounts/${owner.id}/limits`, { limits: { rpm: 1e8, tpm: 1e8, concurrency: 1000 } })
  await control(folder, `/accounts/${owner.id}/grants`, { usd: '100000' })
  return owner
}

/** The charges in micro-USD, by `/metrics`, which leaves them out while the database takes long to tell. */
async function chargedByMetrics(port: number): Promise<number> {
  let text = ''
  const sum = () => /^gateway_ledger_micros_usd_total\{kind="charge"\} (\d+)$/m.exec(text)?.[1]
  await until(
    async () => {
      text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
      return sum() !== undefined
    },
    () => text,
  )
  return Number(sum())
}

async function loadUntilKilled(server: ServerProcess, run: Run, beforeKill: () => Promise<unknown>): Promise<void> {
  const { served, secret, options } = run
  const { kills, workers = 0, calls = 0, freezeMs = FREEZE_MS } = options
  const kinds = workers > 0 ? BY_WORKERS : PLAIN
  let isOver = false
  const client = async (_: unknown, number: number) => {
    const kind = kinds[number % kinds.length] ?? 'search'
    while (!isOver) {
      // A call that breaks off, as with its worker, is none that was served.
      const answer = await callOf(kind, server.url, secret).catch(() => null)
      const whole = await answer?.text().catch(() => null)
      const id = answer?.headers.get('x-gateway-request-id')
      if (answer?.status === 200 && typeof whole === 'string' && isWhole(kind, whole) && id) served.add(id)
    }
  }
  const clients = Promise.all(Array.from({ length: CLIENTS }, client))
  const parts = workers > 0 ? 3 : 1
  const more = async () => {
    const enough = served.size + Math.max(MIN_SERVED, Math.ceil(calls / kills / parts))
    await until(() => served.size >= enough)
    await Bun.sleep((Math.random() * MAX_LIFE_MS) / parts)
  }
  await more()
  let pids: readonly number[] = []
  if (workers > 0) {
    pids = await workersOf(run.folder, workers)
    process.kill(pids[0] ?? 0, 'SIGKILL')
    await more()
    await freeze(pids[1] ?? 0, freezeMs)
    await more()
  }
  await beforeKill()
  isOver = true
  await server.kill('SIGKILL')
  await clients
  await until(() => pids.every((pid) => !isAlive(pid))).catch(() => undefined)
  run.survivors.push(...pids.filter(isAlive))
}

/** A stream that cannot be charged ends with an error in place of its last event. */
export function isWhole(kind: Kind, body: string): boolean {
  return kind !== 'stream' || body.trimEnd().endsWith('data: [DONE]')
}

/** The processes of all workers, once all are there. */
async function workersOf(folder: string, count: number): Promise<readonly number[]> {
  let pids: readonly number[] = []
  await until(
    async () => {
      const { workers } = await (await control(folder, '/workers')).json()
      pids = workers.flatMap((one: { pid: number | null; connected: boolean }) =>
        one.connected ? (one.pid ?? []) : [],
      )
      return pids.length === count
    },
    () => pids,
  )
  return pids
}

async function freeze(pid: number, ms: number): Promise<void> {
  process.kill(pid, 'SIGSTOP')
  await Bun.sleep(ms)
  // Beyond its lease its primary has killed it.
  if (isAlive(pid)) process.kill(pid, 'SIGCONT')
}

/** A process that has ended may wait for whoever adopted it. */
function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
