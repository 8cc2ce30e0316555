import { MemoryWindows } from '../adapters/stores/memory/windows'
import type { Config } from '../config'
import type { Clock } from '../core/clock'
import { Limiter } from '../core/limits/limiter'
import { NO_TELEMETRY, type Telemetry } from '../core/telemetry/telemetry'
import type { Tracer } from '../core/telemetry/trace'
import { VERSION } from '../core/version'
import { importedRouteTable } from '../http/apis/routes'
import { Gate } from '../http/middleware/gate'
import { DRAINING, GatedPaths } from '../http/middleware/gated-paths'
import { Intake } from '../http/middleware/input/intake'
import { PricedCalls, pricedRoutes } from '../http/middleware/priced'
import { type BunServer, pathOf, routeGroup } from '../http/middleware/request-context'
import { UnreadAnswers } from '../http/middleware/response/unread-answers'
import { securedBy, securedResponse } from '../http/middleware/secured-by'
import { modelRoutes } from '../http/models/routes'
import { EndpointTable } from '../http/routing/endpoint-table'
import { dataRoutes } from '../http/search/routes'
import { isServedHere } from '../http/served-here'
import { OpenCalls } from '../pipeline/open-calls'
import type { PipelineDeps } from '../pipeline/paid-call'
import { MAX_STREAM_MS } from '../pipeline/stream'
import { PushedTables } from '../workers/pushed'
import type { Primary } from '../workers/remote-allowance'
import { RemoteDecisions } from '../workers/remote-decisions'
import { RemoteItems } from '../workers/remote-items'
import { UnknownCredentials } from '../workers/unknown-credentials'
import type { WorkerReport } from '../workers/worker-reports'
import { composeApis } from './apis/apis'
import { callerLimits, roomForAnswers, roomForBodies, STOPWATCH } from './core'
import { composeModels } from './models'
import { clientAddresses } from './observing/client-addresses'
import { faultLog, troubleLog } from './observing/log-lines'
import { openWebsearch } from './search/websearch'
import type { Surroundings } from './surroundings'

export interface WorkerParts {
  readonly primary: Primary & { readonly isReady: boolean }
  readonly state: WorkerState
  /** Passes a request on to the primary, whole. */
  readonly passOn: (request: Request, server: NonNullable<BunServer>) => Promise<Response>
  /** Has the search index of its primary. */
  readonly hasIndex: boolean
  /** Null unless calls are traced. */
  readonly tracer?: Tracer | null
}

/** What a worker keeps when its settings change. */
export interface WorkerState {
  readonly decisions: RemoteDecisions
  readonly unknown: UnknownCredentials
  readonly tables: PushedTables
  readonly openCalls: OpenCalls
  /** From here on `/ready` says that it stops. */
  isLeaving: boolean
  /** From here on it takes no more calls. */
  isDraining: boolean
}

export function workerState(primary: Primary, clock: Clock): WorkerState {
  const unknown = new UnknownCredentials(new Limiter(new MemoryWindows(), clock))
  return {
    unknown,
    decisions: new RemoteDecisions(primary, unknown),
    tables: new PushedTables(),
    openCalls: new OpenCalls(),
    isLeaving: false,
    isDraining: false,
  }
}

/** A process that serves paid calls, and asks its primary about each (`RemoteDecisions`). It has no database. */
export function composeWorker(config: Config, surroundings: Surroundings, parts: WorkerParts) {
  const { primary, state, passOn, hasIndex, tracer = null } = parts
  const { clock, log, stopwatch = STOPWATCH } = surroundings
  const { decisions, tables, openCalls } = state
  state.unknown.limits = callerLimits(config).anonymousLimits
  const telemetry = telemetryOf(primary, tracer)
  const providers = surroundings.providers ?? openWebsearch(config, { clock, log, telemetry })
  const pipeline: PipelineDeps = {
    ...troubleLog(log),
    // The primary books and reports it.
    onOverrun: () => undefined,
    decisions,
    journal: decisions,
    clock,
    telemetry,
    prices: tables.prices,
    openCalls,
    // Calls with payments and with an Idempotency-Key are passed on.
    funding: { reserve: notHere, offered: async (problem) => problem },
    idempotency: { use: notHere },
  }
  const { catalog, apis, secretsOf, vendorKeyOf, keyOf } = tables
  const models = composeModels({ ...config, models: { ...config.models, keyOf } }, pipeline, {
    catalog,
    vendorKeyOf,
    search: providers.context,
    log,
    items: new RemoteItems(primary),
  })
  const intake = new Intake(roomForBodies(config), stopwatch)
  const unread = new UnreadAnswers(roomForAnswers(config), stopwatch)
  const { baseUrl } = config
  const gate = new Gate({ decisions, limits: NO_LIMITS, clock, journal: decisions, telemetry, baseUrl, unread })
  const { apiCalls } = composeApis(config, { apis, pipeline, clock, log, paying: null, secretsOf })
  const searches = dataRoutes(new PricedCalls(pipeline, pricedRoutes(providers, null)))
  const canSearch = hasIndex || !config.websearch.order.includes('local')
  const routes = routeGroup({ name: 'worker' })
    .use(canSearch ? searches : routeGroup({ name: 'searches of the primary' }))
    .use(modelRoutes(catalog, models.modelCalls, models.researchCalls))
  const imported = importedRouteTable(apis, () => tables.upToFrom, apiCalls)
  const endpoints = new EndpointTable(imported).mount(routes.routes)
  const contexts = { clock, intake, addressOf: clientAddresses(config, log) }
  const gatedParts = {
    contexts,
    gate,
    refusal: () => (state.isDraining ? DRAINING : null),
    onFault: faultLog(log),
    baseUrl,
  }
  const gated = new GatedPaths(gatedParts, endpoints)
  let server: BunServer = null
  const served = securedBy(config, unread, (request) => gated.answer(request, server))
  return {
    fetch(request: Request): Response | Promise<Response> {
      if (isServedHere(request, endpoints)) return served(request)
      const health = healthOf(request, primary, state.isLeaving)
      return health ? securedResponse(health, request.url, baseUrl) : passOn(request, server as NonNullable<BunServer>)
    },
    get server(): BunServer {
      return server
    },
    set server(listening: BunServer) {
      server = listening
    },
    /** Says how it is. Call it each second. */
    report: reporter(primary, models, canSearch ? providers : {}),
    longestStreamMs: MAX_STREAM_MS,
    longestCallMs: () => Math.max(models.longestCallMs(), ...apis.routes.apis.map(({ timeoutMs }) => timeoutMs)),
    async close(): Promise<void> {
      await models.close()
      await providers.close?.()
    },
  }
}

/** The primary counts calls by their rows. Only upstreams and traces are seen from here. */
function telemetryOf(primary: Primary, tracer: Tracer | null): Telemetry {
  return { ...NO_TELEMETRY, tracer, upstreamEnded: (...said) => primary.tell('counters', ['ended', ...said]) }
}

/** Null if the primary is to say. */
function healthOf({ method, url }: Request, primary: WorkerParts['primary'], isLeaving: boolean): Response | null {
  const path = method === 'GET' ? pathOf(url) : ''
  if (path === '/health') return Response.json({ status: 'ok' })
  if (path === '/ready' && isLeaving) return Response.json({ status: 'draining' }, { status: 503 })
  // A balancer leaves it its place while the primary starts again.
  return path === '/ready' && primary.hasLease && !primary.isReady ? Response.json({ status: 'ready' }) : null
}

interface Seen {
  readonly sources?: () => Promise<Readonly<Record<string, boolean>>>
}

/** Says how this process is, and how it sees what it asks. */
function reporter(
  primary: Primary,
  { upstreams }: Pick<ReturnType<typeof composeModels>, 'upstreams'>,
  { sources }: Seen,
) {
  let [before, at] = [process.cpuUsage(), performance.now()]
  return async (): Promise<void> => {
    const [now, { user, system }] = [performance.now(), process.cpuUsage(before)]
    const cpuPercent = Math.round((user + system) / 10 / Math.max(1, now - at))
    before = process.cpuUsage()
    at = now
    const own = { upstreams: upstreams([]), sources: (await sources?.()) ?? {}, version: VERSION, pid: process.pid }
    primary.tell('counters', ['report', { ...own, cpuPercent } satisfies WorkerReport])
  }
}

const notHere = (): never => {
  throw new Error('a worker was asked for what only its primary does')
}
const NO_LIMITS = { limiter: { countRequest: notHere }, freeUnitsPerMinute: 0 }
