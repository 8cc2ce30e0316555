import { join } from 'node:path'
import { listModels } from './adapters/models/list-models'
import { trustedFetch } from './adapters/outbound/one-hop'
import { localMedia } from './adapters/websearch/local/media'
import { type AppParts, app } from './app'
import { composeImported } from './compose/apis/imported-apis'
import { composeAfterRestore } from './compose/backup/after-restore'
import { composeBackups } from './compose/backup/backup-schedule'
import { type ComposedCore, callerLimits, composeCore, STOPWATCH } from './compose/core'
import { composeGuide } from './compose/guide'
import { composeIdentity } from './compose/identity'
import { composeModels } from './compose/models'
import { clientAddresses } from './compose/observing/client-addresses'
import { faultLog, troubleLog } from './compose/observing/log-lines'
import { composeTelemetry, openMetricsEndpoint } from './compose/observing/telemetry'
import { ownerSettings } from './compose/owner-mail'
import { composeBilling } from './compose/payments/billing'
import { indexSources } from './compose/search/index-sources'
import { SearchIndex } from './compose/search/search-index'
import { openWebsearch } from './compose/search/websearch'
import { openSocial } from './compose/social'
import { StopState } from './compose/stop-state'
import type { Surroundings } from './compose/surroundings'
import { composeWebhooks } from './compose/webhooks'
import { composeWorkers } from './compose/workers'
import type { Config } from './config'
import type { Model } from './core/models/model'
import type { ModelVendor } from './core/models/model-vendors'
import type { Telemetry } from './core/telemetry/telemetry'
import { OwnerSessions } from './http/middleware/caller/owner-session'
import { RequestBudgets } from './http/middleware/caller/request-budgets'
import { Gate } from './http/middleware/gate'
import { DRAINING, NO_LEASE } from './http/middleware/gated-paths'
import { PricedCalls, pricedRoutes } from './http/middleware/priced'
import { withOrigin } from './http/middleware/request-context'
import { securedBy } from './http/middleware/secured-by'
import { Thumbnails } from './http/search/thumbnails'
import { storefront } from './http/storefront/storefront'
import { loadDashboard } from './http/system/dashboard-files'
import { Readiness } from './http/system/readiness'
import { UsageAnswers } from './http/usage/usage-answers'
import { startDayClosings } from './jobs/day-closings'
import { startPriceChecks } from './jobs/model-prices'
import type { TakenOverCopy } from './jobs/money-checks'
import { startRetention } from './jobs/retention'
import { Drains } from './pipeline/drains'
import { LocalDecisions } from './pipeline/local-decisions'
import { OpenCalls } from './pipeline/open-calls'
import type { PipelineDeps } from './pipeline/paid-call'
import type { WorkerCallsParts } from './workers/worker-calls'
import { WorkerReports } from './workers/worker-reports'

const ROOT = join(import.meta.dir, '..')
/** Where the build puts the dashboard. */
export const DASHBOARD = join(ROOT, 'dashboard', 'dist')

type People = ReturnType<typeof composeIdentity>
type Gateway = Awaited<ReturnType<typeof composeParts>>

/** The only place that chooses adapters and passes them to the core. The gateway does not listen yet. */
export async function compose(config: Config, surroundings: Surroundings) {
  const { clock, log } = surroundings
  const parts = await composeParts(config, surroundings)
  const { core, observed, selling, upkeep, linked, stopping, readiness } = parts
  const { providers, billing, pipeline, models, imported } = selling
  const { rail } = billing.moneyIn
  const { backups } = upkeep.backups.commands
  const workers = composeWorkers(config, {
    core,
    pipeline,
    telemetry: observed.telemetry,
    clock,
    log,
    routeOf: (...of) => web.routeOf(...of),
    reports: selling.ofWorkers,
    items: models.items,
    upToFrom: billing.routes.upToFrom,
  })
  const metrics = openMetricsEndpoint(config, observed, { core, pipeline, models, rail, readiness, backups, workers })
  const web = await composeWeb(config, surroundings, { ...parts, workers: workers.states })
  return {
    app: web,
    workers,
    /** Handles a request. */
    fetch: securedBy(config, core.unread, (request: Request) => metrics?.onMainPort(request) ?? web.handle(request)),
    core,
    sandbox: linked.sandbox,
    social: linked.social,
    ...billing.moneyIn,
    ...upkeep.webhooks.senders,
    retention: upkeep.retention,
    backups: upkeep.backups,
    upstreamPayments: imported.upstreamPayments,
    /** Handles a request that came over the control socket. */
    control: (request: Request) => web.handle(withOrigin(request, { isConsole: true })),
    accounts: core.accounts,
    setupToken: core.setupToken,
    metrics,
    /** Whether there is no operator yet. */
    needsOperator: async () => core.stores.directory.withRole('operator').length === 0,
    /** The longest deadline of a call. */
    longestCallMs: () => Math.max(models.longestCallMs(), ...core.apis.routes.apis.map(({ timeoutMs }) => timeoutMs)),
    /** Resolves when no call is in progress. Aborts those that still run after `maxMs`. */
    streamsEnded: (maxMs: number) => pipeline.openCalls.ended(maxMs),
    stopping,
    reloadModels: core.reloadModels,
    index: parts.index,
    close: closing(
      [[billing, ...Object.values(upkeep)], [imported.upstreamPayments, providers, models, observed], [linked]],
      core,
    ),
  }
}

/** What the routes run on. */
async function composeParts(config: Config, surroundings: Surroundings) {
  const { clock, log, stopwatch = STOPWATCH } = surroundings
  const core = await composeCore(config, surroundings)
  const observed = await composeTelemetry(config, { log, clock, stopwatch, core })
  const people = composeIdentity(config, surroundings, core)
  const { identity } = people.routes
  const linked = openSocial(config, { ...core, identity, clock, log, store: core.stores.social })
  const restored = await composeAfterRestore(config, { ...surroundings, ...core.stores })
  const { takenOver } = restored
  const selling = await composeSelling(config, surroundings, { core, people, telemetry: observed.telemetry, takenOver })
  const upkeep = composeUpkeep(config, surroundings, core, people, selling.models)
  const stopping = new StopState(core.events)
  const { index, readiness } = composeReadiness(config, { core, selling, upkeep, stopping })
  const { accountIdOf } = people.users
  const settings = ownerSettings({ ...core, ...linked, accountIdOf, identity, config, clock, ...people.mailers, log })
  return { core, observed, people, linked, selling, upkeep, restored, stopping, index, readiness, settings }
}

/** What is sold, and how it is paid for. */
async function composeSelling(
  config: Config,
  surroundings: Surroundings,
  {
    core,
    people,
    telemetry,
    takenOver,
  }: {
    readonly core: ComposedCore
    readonly people: People
    readonly telemetry: Telemetry
    readonly takenOver: TakenOverCopy | null
  },
) {
  const { clock, log } = surroundings
  const providers = surroundings.providers ?? openWebsearch(config, { clock, telemetry, log })
  const billing = await composeBilling(config, { ...core, clock, log, telemetry, takenOver })
  const { journal, prices } = core
  const pipeline: PipelineDeps & Pick<WorkerCallsParts, 'decisions'> = {
    ...billing.paying,
    decisions: new LocalDecisions({ ...core, ...callerLimits(config), ...billing.auth, clock, drains: new Drains() }),
    journal,
    prices,
    clock,
    telemetry,
    openCalls: new OpenCalls(),
    ...troubleLog(log),
  }
  const ofWorkers = new WorkerReports()
  const vendorKeyOf = core.vendors.keyOf
  const own = composeModels(config, pipeline, { ...core, vendorKeyOf, search: providers.context, log })
  const models = { ...own, upstreams: (of: readonly Model[]) => ofWorkers.upstreams(own.upstreams(of)) }
  const imported = await composeImported(config, { ...core, pipeline, ownOrigins: people.ownOrigins, clock, log })
  const vendorLists = {
    listModels: (vendor: Pick<ModelVendor, 'kind' | 'baseUrl'>, key: string | null) =>
      listModels(imported.fetchDocument, vendor, key),
  }
  return { providers, billing, pipeline, models, ofWorkers, imported, vendorLists }
}

/** What runs by the clock: events, old rows, closings of the books, backups and checks of prices. */
function composeUpkeep(
  config: Config,
  surroundings: Surroundings,
  core: ComposedCore,
  { mailers }: People,
  selling: Pick<AppParts, 'models' | 'priceSheet'>,
) {
  const { clock, log, stopwatch = STOPWATCH } = surroundings
  const { stores } = core
  return {
    webhooks: composeWebhooks(config, { ...core, ...mailers, clock, log }),
    retention: startRetention({ store: stores.retention, days: config.retention, clock, stopwatch }, log),
    dayClosings: startDayClosings({ closing: stores.dayClosing, clock, stopwatch }, log),
    backups: composeBackups(config, { ...surroundings, stores }),
    priceChecks: startPriceChecks({ ...selling, url: config.models.priceSheet, fetch: trustedFetch, clock }, log),
  }
}

async function composeWeb(config: Config, surroundings: Surroundings, parts: Gateway & Pick<AppParts, 'workers'>) {
  const { clock, log, pingMs, dashboard } = surroundings
  const { core, observed, people, linked, selling, upkeep, stopping, readiness } = parts
  const { billing } = selling
  const { ownOrigins } = people
  const { identity } = people.routes
  const { baseUrl, isLoopback, corsOrigins } = config
  const { visitorLimits, freeUnitsPerMinute } = callerLimits(config)
  const account = { ...visitorLimits, rpm: freeUnitsPerMinute }
  const budgets = new RequestBudgets(core.limiter, { address: visitorLimits, account })
  const now = () => clock.now()
  return app({
    ...core,
    ...selling.models,
    ...selling.imported,
    ...selling.vendorLists,
    ...parts.settings,
    ...people.routes,
    ...billing.routes,
    ...parts.restored.commands,
    ...upkeep.webhooks.routes,
    ...upkeep.backups.commands,
    ...linked,
    workers: parts.workers,
    network: () => billing.moneyIn.rail.network(),
    published: () => billing.moneyIn.rail.published(),
    recentCalls: () => observed.recent.read(),
    journalState: () => core.stores.journalState(),
    readyState: () => readiness.state(),
    backupReading: () => ({ ...upkeep.backups.commands.backups.reading(), isScheduled: config.backup.to !== null }),
    usage: new UsageAnswers({ ledger: core.ledger, reports: core.reports, identity, now }),
    budgets,
    baseUrl,
    brand: config.brand,
    isLoopback,
    ownOrigins,
    corsOrigins,
    gate: new Gate({
      decisions: selling.pipeline.decisions,
      limits: { limiter: core.limiter, freeUnitsPerMinute },
      clock,
      journal: core.journal,
      telemetry: observed.telemetry,
      baseUrl,
      unread: core.unread,
    }),
    contexts: { clock, intake: core.intake, addressOf: clientAddresses(config, log) },
    guide: composeGuide(ROOT),
    users: people.users,
    owners: new OwnerSessions({ ...config, ...core, identity, ownOrigins, budgets }),
    dashboard: storefront({
      ...config,
      ...core,
      ...selling.models,
      ...selling.imported,
      ...billing.routes,
      dashboard: dashboard ?? (await loadDashboard(DASHBOARD, config.brand.name)),
      now,
    }),
    icons: localMedia(join(ROOT, 'node_modules', 'lucide-static', 'icons')),
    refusal: () => (stopping.isDraining() ? DRAINING : core.stores.logCopy?.problem ? NO_LEASE : null),
    onFault: faultLog(log),
    priced: new PricedCalls(selling.pipeline, pricedRoutes(selling.providers, linked.social)),
    thumbnails: new Thumbnails(core.strangers, now),
    readiness,
    now,
    ...(pingMs && { pingMs }),
  })
}

interface ReadinessParts {
  readonly core: ComposedCore
  readonly selling: Awaited<ReturnType<typeof composeSelling>>
  readonly upkeep: ReturnType<typeof composeUpkeep>
  readonly stopping: StopState
}

function composeReadiness({ dataDir }: Config, { core, selling, upkeep, stopping }: ReadinessParts) {
  const { sources, context } = selling.providers
  const index = new SearchIndex(indexSources(dataDir), () => context.ready())
  const readiness = new Readiness({
    ...selling.models,
    checks: { ...core.checks, search: () => index.problem() },
    sources: async () => selling.ofWorkers.sources(sources ? await sources() : { search: await context.ready() }),
    warnings: {
      backups: upkeep.backups.warning,
      replica: async () => core.replication?.problem ?? null,
      stuck: () => core.stuck.warning(),
    },
    isDraining: stopping.isAnnounced,
  })
  return { index, readiness }
}

interface Closable {
  close?(): unknown
}

/** Closes all of one step before the next, and the database last. */
function closing(
  steps: readonly (readonly (Closable | null | undefined)[])[],
  { closeDatabase }: { closeDatabase(): Promise<void> },
) {
  return async (): Promise<void> => {
    for (const step of steps) await Promise.all(step.map((part) => part?.close?.()))
    await closeDatabase()
  }
}
