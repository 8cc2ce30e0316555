import { Children } from '../adapters/workers/children'
import { localPrimary } from '../adapters/workers/primary-address'
import { type WorkerListener, WorkerServer, type WorkerState } from '../adapters/workers/worker-server'
import { type Config, environmentWith } from '../config'
import { type Clock, isoTime } from '../core/clock'
import type { Telemetry } from '../core/telemetry/telemetry'
import { VERSION } from '../core/version'
import { fromWorkers } from '../http/middleware/caller/passed-on'
import type { WorkerRecord } from '../http/operator/record'
import type { Log } from '../log'
import type { UpToFrom } from '../pipeline/apis/api-sale'
import type { Route } from '../pipeline/call'
import type { Items } from '../pipeline/models/item-references'
import type { PipelineDeps } from '../pipeline/paid-call'
import { Pieces, type Pushed } from '../workers/pushed'
import type { UpstreamStates } from '../workers/upstream-states'
import { WorkerCalls, type WorkerCallsParts } from '../workers/worker-calls'
import { openedSecrets } from './apis/apis'
import type { ComposedCore } from './core'

interface Needs {
  readonly core: Pick<
    ComposedCore,
    'journal' | 'catalog' | 'apis' | 'prices' | 'listeners' | 'stores' | 'workerCredentials'
  >
  readonly pipeline: PipelineDeps & Pick<WorkerCallsParts, 'decisions'>
  readonly telemetry: Telemetry
  readonly clock: Clock
  readonly log: Log
  readonly routeOf: (method: string, url: string) => Route
  readonly upstreams: UpstreamStates
  readonly items: Items
  readonly upToFrom: UpToFrom
}

type Handle = Parameters<typeof fromWorkers>[2]

const LOOK_MS = 20

/** The primary's side of its workers. */
export function composeWorkers(config: Config, needs: Needs) {
  const { core, pipeline, telemetry, clock, log, routeOf, upstreams, items } = needs
  const listening = Promise.withResolvers<void>()
  let states: () => readonly WorkerRecord[] = () => []
  let connected = (): number => 1
  let isDraining = false
  /** The calls of one more worker. */
  const calls = (name: string): WorkerCalls =>
    new WorkerCalls({
      ...pipeline,
      telemetry,
      clock,
      items,
      routeOf,
      modelOf: (id) => core.catalog.byId(id),
      isDraining: () => isDraining,
      onListening: () => listening.resolve(),
      onStates: (states) => upstreams.set(name, states),
      onLie: (what) => log.error('a worker asked for what it may not have', { worker: name, what }),
    })
  const pieces = piecesOf(config, needs, () => connected())
  return {
    calls,
    pieces,
    /** The workers now; none where this process serves all calls. */
    states: () => states(),
    /**
     * Starts the workers of this machine, which share the port, and listens for those of others. Throws EADDRINUSE if another gateway has a port.
     * `passOnPort`: where this process takes what workers of this machine pass on.
     */
    start(passOnPort: number, command: readonly string[]) {
      const { unix: socket } = localPrimary(config.port)
      const warn = (message: string, fields?: Readonly<Record<string, unknown>>) => log.warn(message, fields)
      const pushChanged = () => pushAll(pieces.changed(), (piece) => server.push(piece))
      const children: Children = new Children({
        count: config.workers,
        command,
        environment: environmentWith({ PORT: String(config.port) }),
        socket,
        onGone: (instance) => server.gone(instance),
        warn,
      })
      const local = { at: { unix: socket }, keyOf: (name: string) => children.keyOf(name), passOnPort }
      const server: WorkerServer = new WorkerServer({
        listeners: [...(config.workers > 0 ? [local] : []), ...remoteListener(config, core)],
        version: VERSION,
        epoch: core.stores.epoch,
        // One that hangs would keep its share of the connections.
        onLost: (instance) => children.kill(instance),
        warn,
        serve({ credential }, push) {
          // Before it has the tables it serves nothing, and with it the shares of all change.
          setImmediate(() => void pushAll(pieces.all(), push).then(pushChanged))
          return calls(credential)
        },
      })
      server.listen()
      core.listeners.push(pushChanged)
      core.workerCredentials.onRemoved = (name) => server.remove(name)
      children.start()
      connected = () => server.workers().length
      states = () => server.workers().map((worker) => workerRecord(worker, children.pidOf(worker.name), clock.now()))
      return {
        /** Resolves when the first worker of this machine has opened the port. */
        listening: config.workers > 0 ? listening.promise : null,
        /** Handles what workers pass on, and nothing else. */
        passedOn: (fetch: Handle) => fromWorkers((token) => server.isToken(token), clock.now, fetch),
        /** Lets the workers finish their calls, and ends those of this machine. The others get no new ones. */
        async stop(maxMs: number): Promise<void> {
          const until = performance.now() + maxMs
          await children.stop(maxMs)
          isDraining = true
          const hasCalls = () => server.workers().some(({ openCalls }) => openCalls > 0)
          while (hasCalls() && performance.now() < until) await Bun.sleep(LOOK_MS)
          await server.close()
        },
      }
    },
  }
}

function piecesOf(config: Config, { core, upToFrom }: Needs, connected: () => number): Pieces {
  const workers = () => Math.max(1, config.workers, connected())
  return new Pieces({
    tables: () => ({ models: core.catalog.list(), prices: core.prices.all(), upToFrom, workers: workers() }),
    routes: () => core.apis.routes,
    secretsOf: openedSecrets(config),
  })
}

/** One after the other, so that no turn of this process encodes more than one. */
async function pushAll(
  pieces: Iterable<Pushed>,
  push: (payload: readonly Pushed[]) => Promise<boolean>,
): Promise<void> {
  for (const piece of pieces) await push([piece])
}

function workerRecord(
  { name, isConnected, sessionMs, openCalls, lagMs }: WorkerState,
  pid: number | null,
  now: number,
): WorkerRecord {
  const since = isoTime(now - sessionMs)
  return { name, pid, connected: isConnected, since, open_calls: openCalls, lag_ms: Math.round(lagMs) }
}

/** Where workers of other machines connect, if the settings say so. */
function remoteListener(
  { workersListener: on }: Pick<Config, 'workersListener'>,
  { workerCredentials }: Pick<ComposedCore, 'workerCredentials'>,
): readonly WorkerListener[] {
  if (on === null) return []
  const at = { hostname: on.host, port: on.port, ...(on.tls && { tls: on.tls }) }
  return [{ at, keyOf: (name) => workerCredentials.keyOf(name), passOnPort: on.port + 1 }]
}
