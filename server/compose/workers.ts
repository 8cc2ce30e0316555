import { Children } from '../adapters/workers/children'
import { localPrimary } from '../adapters/workers/primary-address'
import { WorkerServer } from '../adapters/workers/worker-server'
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
  readonly core: Pick<ComposedCore, 'journal' | 'catalog' | 'apis' | 'prices' | 'listeners' | 'stores'>
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

/** The primary's side of its workers. */
export function composeWorkers(config: Config, needs: Needs) {
  const { core, pipeline, telemetry, clock, log, routeOf, upstreams, items } = needs
  const listening = Promise.withResolvers<void>()
  let states: () => readonly WorkerRecord[] = () => []
  /** The calls of one more worker. */
  const calls = (name: string): WorkerCalls =>
    new WorkerCalls({
      ...pipeline,
      telemetry,
      clock,
      items,
      routeOf,
      modelOf: (id) => core.catalog.byId(id),
      onListening: () => listening.resolve(),
      onStates: (states) => upstreams.set(name, states),
      onLie: (what) => log.error('a worker asked for what it may not have', { worker: name, what }),
    })
  const pieces = piecesOf(config, needs)
  return {
    calls,
    pieces,
    /** The workers now; none where this process serves all calls. */
    states: () => states(),
    /** Starts the workers of this machine, which share the port. Throws EADDRINUSE if another gateway has it. `origin`: where this process takes what they pass on. */
    start(origin: string, command: readonly string[]) {
      const { unix: socket } = localPrimary(config.port)
      const warn = (message: string, fields?: Readonly<Record<string, unknown>>) => log.warn(message, fields)
      const children: Children = new Children({
        count: config.workers,
        command,
        environment: environmentWith({ PORT: String(config.port) }),
        socket,
        onGone: (instance) => server.gone(instance),
        warn,
      })
      const server: WorkerServer = new WorkerServer({
        socket,
        version: VERSION,
        epoch: core.stores.epoch,
        keyOf: (name) => children.keyOf(name),
        passOnTo: origin,
        // One that hangs would keep its share of the connections.
        onLost: (instance) => children.kill(instance),
        warn,
        serve({ credential }, push) {
          // Before it has the tables it serves nothing.
          setImmediate(() => void pushAll(pieces.all(), push))
          return calls(credential)
        },
      })
      server.listen()
      core.listeners.push(() => pushAll(pieces.changed(), (piece) => server.push(piece)))
      children.start()
      states = () =>
        server.workers().map(({ name, isConnected, sessionMs, openCalls, lagMs }) => ({
          name,
          pid: children.pidOf(name),
          connected: isConnected,
          since: isoTime(clock.now() - sessionMs),
          open_calls: openCalls,
          lag_ms: Math.round(lagMs),
        }))
      return {
        /** Resolves when the first worker has opened the port. */
        listening: listening.promise,
        /** Handles what workers pass on, and nothing else. */
        passedOn: (fetch: Handle) => fromWorkers((token) => server.isToken(token), clock.now, fetch),
        /** Lets the workers finish their calls, and ends them. */
        async stop(maxMs: number): Promise<void> {
          server.drain([])
          await children.stop(maxMs)
          await server.close()
        },
      }
    },
  }
}

function piecesOf(config: Config, { core, upToFrom }: Needs): Pieces {
  const workers = Math.max(1, config.workers)
  return new Pieces({
    tables: () => ({ models: core.catalog.list(), prices: core.prices.all(), upToFrom, workers }),
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
