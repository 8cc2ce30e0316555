import { join } from 'node:path'
import { chargedIds } from '../databases/database-file'
import { databaseOf } from '../databases/test-database'
import { type Reconciliation, reconcile } from '../reconcile'
import { until } from '../until'
import { isWhole, richOwner } from './crash-run'
import { freePort } from './free-port'
import { control, dataFolder, removeFolder, type ServerProcess, startProgram, startServer } from './server-process'
import { callOf, type Kind, openSoldKinds } from './sold-kinds'

/** Two adjacent ports, for workers of other machines and for what they pass on. */
export async function twoPorts(): Promise<number> {
  for (;;) {
    const port = await freePort()
    try {
      Bun.listen({ hostname: '127.0.0.1', port: port + 1, socket: { data() {} } }).stop(true)
      return port
    } catch {}
  }
}

/** Adds a credential to the gateway in this folder. */
export async function credentialOf(folder: string, name: string): Promise<string> {
  return (await (await control(folder, '/worker-credentials', { name })).json()).credential
}

/** Starts `gateway worker`, with an empty data folder. */
export async function startWorker(
  primary: string,
  env: Readonly<Record<string, string>> & { readonly WORKER_CREDENTIAL: string },
): Promise<ServerProcess> {
  return startProgram([process.execPath, 'server/cli/main.ts', 'worker', '--primary', primary], {
    cwd: join(import.meta.dir, '..', '..', '..'),
    env: {
      PATH: process.env['PATH'] ?? '',
      DATA_DIR: '/nowhere/of-a-worker',
      PORT: String(await freePort()),
      ...env,
    },
  })
}

/** Passes TCP connections on, and cuts all of them on demand. */
async function openCable(to: number) {
  const port = await freePort()
  type Ends = { far: Bun.Socket<unknown> | null; early: Buffer[] }
  const near = new Set<Bun.Socket<Ends>>()
  const listener = Bun.listen<Ends>({
    hostname: '127.0.0.1',
    port,
    socket: {
      async open(socket) {
        socket.data = { far: null, early: [] }
        near.add(socket)
        const handlers = {
          data: (_far: unknown, chunk: Buffer) => void socket.write(chunk),
          close: () => void socket.terminate(),
        }
        const far = await Bun.connect({ hostname: '127.0.0.1', port: to, socket: handlers }).catch(() => null)
        if (far === null) return void socket.terminate()
        for (const chunk of socket.data.early.splice(0)) far.write(chunk)
        socket.data.far = far
      },
      data: ({ data }, chunk) => void (data.far ? data.far.write(chunk) : data.early.push(Buffer.from(chunk))),
      close(socket) {
        near.delete(socket)
        socket.data.far?.terminate()
      },
    },
  })
  return {
    port,
    cut: () => {
      for (const socket of near) socket.terminate()
    },
    close: () => listener.stop(true),
  }
}

export interface RemoteReport extends Reconciliation {
  readonly served: number
  /** Calls that were answered 200 and are not charged. */
  readonly lost: readonly string[]
  /** Calls whose callers were told that they were not charged, or that it would be given back, and that are charged. */
  readonly wronged: readonly string[]
  readonly heldMicros: number
}

const KINDS: readonly Kind[] = ['imported', 'chat', 'stream', 'responses']
const CLIENTS = 16
const FREEZE_MS = 300

interface RemoteRun {
  /** Of each: a worker and the primary are killed, each is frozen for less than a lease, and the connections are cut. */
  readonly rounds: number
  /** Served in all, at least. */
  readonly calls: number
  /** How long one is frozen; beyond 8 s its calls are settled without it. */
  readonly freezeMs?: number
  readonly onRound?: (round: number, served: number) => void
}

/** Two workers of other machines and their primary under load, of which one after the other is killed, frozen or cut off; then a recount. */
export async function remoteRun({ rounds, calls, freezeMs = FREEZE_MS, onRound }: RemoteRun): Promise<RemoteReport> {
  const folder = await dataFolder()
  const sold = await openSoldKinds(folder)
  const port = await twoPorts()
  const cable = await openCable(port)
  const address = `http://127.0.0.1:${cable.port}`
  const env = { ...sold.env, WORKERS_PORT: String(port), PORT: String(await freePort()) }
  const started = async (name: string) => startWorker(address, { WORKER_CREDENTIAL: await credentialOf(folder, name) })
  let primary = await startServer(folder, env)
  const workers: ServerProcess[] = []
  try {
    await sold.importWeather()
    const owner = await richOwner(primary, folder)
    const { secret } = await owner.api('/api/keys', { name: 'load' })
    workers.push(await started('one'), await started('two'))
    const load = callers(workers, secret)
    const more = async (part: number) => {
      const enough = load.served.size + Math.ceil(calls / rounds / 5)
      await until(
        () => load.served.size >= enough,
        () => `${load.served.size} of ${enough} after event ${part}: ${workers.map((one) => one.output()).join('\n')}`,
      )
    }
    for (let round = 0; round < rounds; round++) {
      await more(0)
      cable.cut()
      await more(1)
      await frozen(primary.pid, freezeMs)
      await more(2)
      await frozen(workers[round % 2]?.pid ?? 0, freezeMs)
      await more(3)
      await primary.kill('SIGKILL')
      primary = await startServer(folder, env)
      await more(4)
      await workers[round % 2]?.kill('SIGKILL')
      workers[round % 2] = await started(`of round ${round}`.replaceAll(' ', '-'))
      onRound?.(round + 1, load.served.size)
    }
    await load.end()
    // What a killed worker held is settled 8 s after its last word, and charges are reversed meanwhile.
    const held = async () => (await owner.api('/api/billing')).held_micros_usd ?? 0
    await until(async () => Number(await held()) === 0, held)
    const codes = await Promise.all(workers.map((worker) => worker.kill('SIGTERM')))
    const heldMicros = Number(await held())
    codes.push(await primary.kill('SIGTERM'))
    if (codes.some((code) => code !== 0)) throw new Error(`ended with ${codes}: ${primary.output()}`)
    const database = await databaseOf(folder)
    const charged = await chargedIds(database)
    return {
      ...(await reconcile(database)),
      served: load.served.size,
      lost: [...load.served].filter((id) => !charged.has(id)),
      wronged: [...load.refused].filter((id) => charged.has(id)),
      heldMicros,
    }
  } finally {
    for (const one of [...workers, primary]) void one.kill('SIGKILL')
    cable.close()
    await sold.close()
    await removeFolder(folder)
  }
}

/** Callers of both workers, until the end. */
function callers(workers: readonly ServerProcess[], secret: string) {
  const served = new Set<string>()
  const refused = new Set<string>()
  let isOver = false
  const caller = async (_: unknown, number: number) => {
    const kind = KINDS[number % KINDS.length] ?? 'chat'
    while (!isOver) {
      const answer = await callOf(kind, workers[(number >> 2) % 2]?.url ?? '', secret).catch(() => null)
      const whole = await answer?.text().catch(() => null)
      const id = answer?.headers.get('x-gateway-request-id')
      if (!answer || !id || typeof whole !== 'string') await Bun.sleep(5)
      else if (answer.status === 200) void (isWhole(kind, whole) && served.add(id))
      else {
        if (/not charged|given back/.test(whole)) refused.add(id)
        await Bun.sleep(5)
      }
    }
  }
  const all = Promise.all(Array.from({ length: CLIENTS }, caller))
  return {
    served,
    refused,
    async end() {
      isOver = true
      await all
    },
  }
}

async function frozen(pid: number, ms: number): Promise<void> {
  process.kill(pid, 'SIGSTOP')
  await Bun.sleep(ms)
  process.kill(pid, 'SIGCONT')
}
