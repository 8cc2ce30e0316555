import { openApiUpstream } from '../api-upstream'
import { chargedIds } from '../databases/database-file'
import { databaseOf } from '../databases/test-database'
import { type Reconciliation, reconcile } from '../reconcile'
import { until } from '../until'
import { freePort } from './free-port'
import { control, dataFolder, removeFolder, type ServerProcess, signUp, startServer } from './server-process'

/** A built-in operation and an imported one, of the same price; the clients call them in turns. */
const PATHS = ['/apis/v1/websearch/images/search?q=credit%20card&count=1', '/apis/v1/weather/v1/forecast'] as const
const ENV = { ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1', CREDIT_BUYS_PAID_PROVIDERS: 'true' }
const DOCUMENT = {
  openapi: '3.1.0',
  info: { title: 'Weather', version: '1' },
  paths: { '/v1/forecast': { get: { operationId: 'forecast', responses: { 200: { description: 'The forecast.' } } } } },
}
const CLIENTS = 24
const EMAIL = 'ada@example.com'
/** Each life serves so many calls, however slow the machine is. */
const MIN_SERVED = 11
/** After them it lasts at most this long. */
const MAX_LIFE_MS = 300

export interface CrashReport extends Reconciliation {
  readonly kills: number
  /** Calls that were answered 200. */
  readonly served: number
  /** Calls that were answered 200 and are not in the ledger. Must be none. */
  readonly lost: readonly string[]
  /** Calls that were under way at a kill: charged, and their caller saw no answer. Findable by request id. */
  readonly chargedWithoutAnswer: number
  readonly maxChargedWithoutAnswer: number
  /** The charges in the metrics, at each start and before each kill. */
  readonly metered: readonly number[]
}

/**
 * Kills the real server with SIGKILL at random points under load, restarts it on the same folder, and in the end compares
 * every 200 that a caller saw with the ledger.
 */
export async function crashRun(
  kills: number,
  onLife: (life: number, served: number) => void = () => undefined,
  more: Readonly<Record<string, string>> = {},
): Promise<CrashReport> {
  const folder = await dataFolder()
  const upstream = openApiUpstream(() => Response.json({ sun: true }))
  try {
    const served = new Set<string>()
    const metered: number[] = []
    const metricsPort = await freePort()
    const env = { ...ENV, ...more, METRICS_PORT: String(metricsPort) }
    const meter = async () => metered.push(await chargedByMetrics(metricsPort))
    let secret = ''
    for (let life = 1; life <= kills; life++) {
      const server = await startServer(folder, env)
      await meter()
      if (life === 1) await importWeather(folder, upstream.url)
      secret ||= await makeKey(server, folder)
      const before = served.size
      await loadUntilKilled(server, secret, served, meter)
      onLife(life, served.size - before)
    }
    const last = await startServer(folder, env)
    await meter()
    const code = await last.kill('SIGTERM')
    if (code !== 0) throw new Error(`the last stop ended with ${code}: ${last.output()}`)
    const database = await databaseOf(folder)
    const sums = await reconcile(database)
    const charged = await chargedIds(database)
    return {
      ...sums,
      kills,
      served: served.size,
      lost: [...served].filter((id) => !charged.has(id)),
      chargedWithoutAnswer: charged.size - served.size,
      maxChargedWithoutAnswer: kills * CLIENTS,
      metered,
    }
  } finally {
    await upstream.close()
    await removeFolder(folder)
  }
}

async function importWeather(folder: string, baseUrl: string): Promise<void> {
  const price = { mode: 'fixed', usd: '0.005' }
  const document = JSON.stringify(DOCUMENT)
  await control(folder, '/apis/import', { name: 'weather', base_url: baseUrl, auth: 'none', document, price })
}

async function makeKey(server: ServerProcess, folder: string): Promise<string> {
  const owner = await signUp(server.url, EMAIL)
  await control(folder, `/accounts/${owner.id}/limits`, { limits: { rpm: 1e8, tpm: 1e8, concurrency: 1000 } })
  await control(folder, `/accounts/${owner.id}/grants`, { usd: '100000' })
  return (await owner.api('/api/keys', { name: 'load' })).secret
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

async function loadUntilKilled(
  server: ServerProcess,
  secret: string,
  served: Set<string>,
  beforeKill: () => Promise<unknown>,
): Promise<void> {
  const warm = Promise.withResolvers<void>()
  const enough = served.size + MIN_SERVED
  const client = async (_: unknown, number: number) => {
    try {
      for (;;) {
        const answer = await fetch(server.url + PATHS[number % PATHS.length], {
          headers: { authorization: `Bearer ${secret}` },
        })
        const id = answer.headers.get('x-gateway-request-id')
        await answer.arrayBuffer()
        if (answer.status === 200 && id) served.add(id)
        if (served.size >= enough) warm.resolve()
      }
    } catch {
      warm.resolve()
    }
  }
  const clients = Promise.all(Array.from({ length: CLIENTS }, client))
  await warm.promise
  await Bun.sleep(Math.random() * MAX_LIFE_MS)
  await beforeKill()
  await server.kill('SIGKILL')
  await clients
}
