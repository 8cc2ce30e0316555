import { Children } from '../adapters/workers/children'
import { localPrimary } from '../adapters/workers/primary-address'
import { type WorkerListener, WorkerServer, type WorkerState } from '../adapters/workers/worker-server'
import { type Config, workerEnvironment } from '../config'
import { type Clock, isoTime, SECOND_MS } from '../core/clock'
import { KeyedMutex } from '../core/keyed-mutex'
import type { Limiter } from '../core/limits/limiter'
import type { Model } from '../core/models/model'
import type { Telemetry } from '../core/telemetry/telemetry'
import { VERSION } from '../core/version'
import { fromWorkers } from '../http/middleware/caller/passed-on'
import type { WorkerRecord } from '../http/operator/record'
import type { Log } from '../log'
import type { UpToFrom } from '../pipeline/apis/api-sale'
import type { Route } from '../pipeline/call'
import type { Items } from '../pipeline/models/item-references'
import type { PipelineDeps } from '../pipeline/paid-call'
import type { Recovery } from '../workers/claims'
import { Overruns, TOO_MANY_OVERRUNS } from '../workers/overruns'
import { Pieces, type Pushed } from '../workers/pushed'
import { WorkerCalls, type WorkerCallsParts } from '../workers/worker-calls'
import type { WorkerReport, WorkerReports } from '../workers/worker-reports'
import { openedSecrets } from './apis/apis'
import type { ComposedCore } from './core'

interface Needs {
  readonly core: Pick<
    ComposedCore,
    | 'journal'
    | 'catalog'
    | 'vendors'
    | 'apis'
    | 'prices'
    | 'listeners'
    | 'stores'
    | 'reports'
    | 'ledger'
    | 'kept'
    | 'workerCredentials'
    | 'limiter'
    | 'writeEvent'
  >
  readonly pipeline: PipelineDeps & Pick<WorkerCallsParts, 'decisions'>
  readonly telemetry: Telemetry
  readonly clock: Clock
  readonly log: Log
  readonly routeOf: (method: string, url: string) => Route
  readonly reports: WorkerReports
  readonly items: Items
  readonly upToFrom: UpToFrom
}

type Handle = Parameters<typeof fromWorkers>[2]

const LOOK_MS = 20
/** By then a worker of another machine has found this primary, and claimed its open calls. */
const CLAIMED_MS = 2 * SECOND_MS

/** The primary's side of its workers. */
export function composeWorkers(config: Config, needs: Needs) {
  const { core, clock, log, reports } = needs
  const listening = Promise.withResolvers<void>()
  const overruns = new Overruns(clock, (name) => {
    alarmed(needs, name)
    server?.cutOff(name, TOO_MANY_OVERRUNS)
  })
  const shared = { ...recoveryOf(core), overruns, onListening: listening.resolve }
  let server: WorkerServer | null = null
  let isDraining = false
  const calls = (name: string, instance = name): WorkerCalls =>
    callsOf({ name, instance }, needs, {
      ...shared,
      pushed: () => pieces.pushed,
      isDraining: () => isDraining,
    })
  const pieces = piecesOf(config, needs, () => server?.workers().length ?? 0)
  return {
    calls,
    pieces,
    /** The workers now; none where this process serves all calls. */
    states: (): readonly WorkerRecord[] =>
      server?.workers().map((worker) => workerRecord(worker, reports.of(worker.instance), clock.now())) ?? [],
    /**
     * Starts the workers of this machine, which share the port, and listens for those of others. Throws EADDRINUSE if another gateway has a port.
     * `passOnPort`: where this process takes what workers of this machine pass on.
     */
    start(passOnPort: number, command: readonly string[]) {
      const { unix: socket } = localPrimary(config.port)
      const warn = (message: string, fields?: Readonly<Record<string, unknown>>) => log.warn(message, fields)
      const pushChanged = () => pieces.pushChanged((piece) => started.push(piece))
      const children: Children = new Children({
        count: config.workers,
        command,
        environment: workerEnvironment(config),
        socket,
        onGone: (instance) => started.gone(instance),
        warn,
      })
      const started: WorkerServer = new WorkerServer({
        listeners: listenersOf(config, core, {
          at: { unix: socket },
          keyOf: (name) => children.keyOf(name),
          passOnPort,
        }),
        version: VERSION,
        epoch: core.stores.epoch,
        // One that hangs would keep its share of the connections.
        onLost: (instance) => children.kill(instance),
        warn,
        serve({ credential, instance }, push) {
          // Before it has the tables it serves nothing, and with it the shares of all change.
          setImmediate(() => void pieces.pushAll(push).then(pushChanged))
          return calls(credential, instance)
        },
      })
      started.listen()
      if (config.workersListener && !core.workerCredentials.isEmpty) grantHalf(core.limiter)
      core.listeners.push(pushChanged)
      core.workerCredentials.onRemoved = (name) => started.cutOff(name, 'its credential was removed')
      children.start()
      server = started
      return {
        /** Resolves when the first worker of this machine has opened the port. */
        listening: config.workers > 0 ? listening.promise : null,
        /** Those of the workers of this machine. They close them when they stop. */
        ports: {
          retireConnections: () => void started.push([{ isLeaving: true } satisfies Pushed]),
          keepConnections: () => void started.push([{ isLeaving: false } satisfies Pushed]),
          closePort: () => undefined,
        },
        /** Handles what workers pass on, and nothing else. */
        passedOn: (fetch: Handle) => fromWorkers((token) => started.isToken(token), clock.now, fetch),
        /** Lets the workers finish their calls, and ends those of this machine. The others get no new ones. */
        async stop(maxMs: number): Promise<void> {
          const until = performance.now() + maxMs
          await children.stop(maxMs)
          isDraining = true
          await callsEnded(started, until)
          await started.close()
        },
      }
    },
  }
}

/** The calls of one more worker. */
function callsOf(
  { name, instance }: { readonly name: string; readonly instance: string },
  { core, pipeline, telemetry, clock, log, routeOf, reports, items }: Needs,
  {
    overruns,
    ...shared
  }: Pick<WorkerCallsParts, 'turns' | 'recovery' | 'pushed' | 'isDraining' | 'onListening'> & {
    readonly overruns: Overruns
  },
): WorkerCalls {
  return new WorkerCalls({
    tag: core.workerCredentials.tagOf(name),
    bear: (overrun) => overruns.bear(name, overrun),
    ...shared,
    ...pipeline,
    telemetry,
    clock,
    items,
    routeOf,
    modelOf: (id, buyer) => core.catalog.forBuyer(id, buyer),
    onReport: (report) => reports.set(instance, report),
    onLie: (what) => log.error('a worker asked for what it may not have', { worker: name, what }),
  })
}

function alarmed({ core, clock, log }: Needs, worker: string): void {
  log.error('a worker is cut off', { worker, reason: TOO_MANY_OVERRUNS })
  core.writeEvent('ledger.alarm', `${worker}_${clock.now()}`, { worker, reason: TOO_MANY_OVERRUNS })
}

/** Calls of workers may be open, which count only once they are claimed. */
export function grantHalf(limiter: Pick<Limiter, 'part'>, forMs = CLAIMED_MS): void {
  limiter.part = 0.5
  setTimeout(() => {
    limiter.part = 1
  }, forMs).unref()
}

async function callsEnded(server: WorkerServer, until: number): Promise<void> {
  const hasCalls = () => server.workers().some(({ openCalls }) => openCalls > 0)
  while (hasCalls() && performance.now() < until) await Bun.sleep(LOOK_MS)
}

function piecesOf(config: Config, { core, upToFrom }: Needs, connected: () => number): Pieces {
  const workers = () => Math.max(1, config.workers, connected())
  const { keyOf } = config.models
  return new Pieces({
    settings: config.forWorkers,
    tables: () => ({
      models: core.catalog.list(),
      keys: keysOf(core.catalog.list(), keyOf),
      vendors: core.vendors.openedKeys(),
      prices: core.prices.all(),
      upToFrom,
      workers: workers(),
    }),
    routes: () => core.apis.routes,
    secretsOf: openedSecrets(config),
  })
}

function keysOf(models: readonly Model[], keyOf: Config['models']['keyOf']): Readonly<Record<string, string>> {
  const keys: Record<string, string> = {}
  for (const { keyEnv } of models.flatMap(({ upstreams }) => upstreams)) {
    const key = keyEnv === null ? null : keyOf(keyEnv)
    if (keyEnv !== null && key !== null) keys[keyEnv] = key
  }
  return keys
}

/** What the calls of all workers share to go on with, or to undo, what an earlier session or process began. */
export function recoveryOf({
  kept,
  ledger,
  stores,
  reports,
}: Needs['core']): Pick<WorkerCallsParts, 'turns' | 'recovery'> {
  const recovery: Recovery = {
    takeKept: (id) => kept.take(id),
    settleKept: (one) => kept.settle(one),
    async releaseKept(one) {
      ledger.adopt(one)
      await ledger.release(one.hold.request)
    },
    async wasCharged(id) {
      const call = await stores.bookings.callOf(id)
      return call && call.charged === 1
    },
    async reverse(id) {
      const call = await stores.bookings.callOf(id)
      if (call === null || call.charged !== 1 || call.pool === null) return true
      const record = await reports.request(call.account, null, id)
      return record === null || ledger.reverse(record, call.pool)
    },
  }
  return { turns: new KeyedMutex(), recovery }
}

function workerRecord(
  { name, instance, isConnected, sessionMs, openCalls, lagMs }: WorkerState,
  report: WorkerReport | null,
  now: number,
): WorkerRecord {
  const since = isoTime(now - sessionMs)
  const { pid = null, version = null, cpuPercent = null } = report ?? {}
  const seen = { connected: isConnected, since, open_calls: openCalls, lag_ms: Math.round(lagMs) }
  return { name, instance, pid, version, cpu_percent: cpuPercent, ...seen }
}

/** Where the workers of this machine connect, and those of others, as far as the settings want them. */
function listenersOf(
  { workers, workersListener: on }: Pick<Config, 'workers' | 'workersListener'>,
  { workerCredentials }: Pick<ComposedCore, 'workerCredentials'>,
  local: WorkerListener,
): readonly WorkerListener[] {
  const listeners = workers > 0 ? [local] : []
  if (on === null) return listeners
  const at = { hostname: on.host, port: on.port, ...(on.tls && { tls: on.tls }) }
  return [...listeners, { at, keyOf: (name) => workerCredentials.keyOf(name), passOnPort: on.port + 1 }]
}
