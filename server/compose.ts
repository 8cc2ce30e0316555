import { join } from 'node:path'
import { localMedia } from './adapters/websearch/local/media'
import { app } from './app'
import { agentInterfaces } from './compose/agents'
import { composeImported } from './compose/apis/imported-apis'
import { composeAfterRestore } from './compose/backup/after-restore'
import { composeBackups } from './compose/backup/backup-schedule'
import { startCell } from './compose/cell-work'
import { closing } from './compose/closing'
import { withMessages } from './compose/cluster/calls/cell-messages'
import { brakeShareOf, configOf, shareOf } from './compose/cluster/cells/cell-membership'
import { lowConcurrency } from './compose/cluster/cells/low-concurrency'
import { receiver } from './compose/cluster/cells/other-cells'
import { nodeReadiness } from './compose/cluster/gateway-node'
import { billingBeside, operatorsOfCells, othersOf } from './compose/cluster/operators'
import { cellLoad } from './compose/cluster/roles/cell-load'
import { reverseUndecided } from './compose/cluster/undecided-charges'
import { type ComposedCore, composeCore, STOPWATCH } from './compose/core'
import { composeGuide } from './compose/guide'
import { composeIdentity } from './compose/identity'
import { composeModels } from './compose/models'
import { clientAddresses } from './compose/observing/client-addresses'
import { faultLog } from './compose/observing/fault-log'
import { composeTelemetry } from './compose/observing/telemetry'
import { ownerSettings } from './compose/owner-mail'
import { indexSources } from './compose/search/index-sources'
import { SearchIndex } from './compose/search/search-index'
import { openWebsearch } from './compose/search/websearch'
import { openSocial } from './compose/social'
import { StopState } from './compose/stop-state'
import type { ClosableProviders, Surroundings } from './compose/surroundings'
import type { Config } from './config'
import { AT_ONCE } from './core/cluster/opening'
import type { Limiter } from './core/limits/limiter'
import { type Limits, TIER_LIMITS } from './core/limits/tier'
import type { Telemetry } from './core/telemetry/telemetry'
import { OwnerSessions } from './http/middleware/caller/owner-session'
import { RequestBudgets } from './http/middleware/caller/request-budgets'
import { Gate } from './http/middleware/gate'
import type { Intake } from './http/middleware/input/intake'
import { PricedCalls, pricedRoutes } from './http/middleware/priced'
import type { ContextDeps } from './http/middleware/request-context'
import { securedBy } from './http/middleware/secured-by'
import { controlHandler } from './http/operator/control'
import { Thumbnails } from './http/search/thumbnails'
import { loadDashboard } from './http/system/dashboard-files'
import { Readiness } from './http/system/readiness'
import { startControlReads } from './jobs/following'

const ROOT = join(import.meta.dir, '..')
/** Where the build puts the dashboard. */
export const DASHBOARD = join(ROOT, 'dashboard', 'dist')
/** Reads the built dashboard. */
export const readDashboard = () => loadDashboard(DASHBOARD)

/** The gateway, or the one of a cell beside those of others. Does not listen yet. */
export async function compose(config: Config, surroundings: Surroundings) {
  const { cell: membership, log, node } = surroundings
  const gateway = await composeGateway(configOf(config, membership), surroundings)
  const { ledger, stores } = gateway.core
  if (membership)
    await stores.copies.refresh().catch(async (error: unknown) => {
      await gateway.close()
      throw error
    })
  const following = membership && startControlReads(stores.copies, log)
  const reversing = { reverseUndecided: reverseUndecided({ ledger, log }), term: () => node?.lease.term ?? null }
  const receive = receiver({ ...gateway, ...reversing })
  return {
    ...gateway,
    /** Does what the gateway of another cell tells this one. */
    receive,
    control: withMessages(gateway.control, { receive, relay: gateway.rail.relay }),
    async close() {
      await following?.close()
      await gateway.close()
    },
  }
}

/** The only place that chooses adapters and passes them to the core. */
async function composeGateway(config: Config, surroundings: Surroundings) {
  const { clock, log, cell: membership, stopwatch = STOPWATCH, opening = AT_ONCE } = surroundings
  const core = await composeCore(config, surroundings)
  const { stores, accounts, reloadModels, syncDirectory } = core
  const shares = { shareOf: shareOf(membership), brakeShareOf: brakeShareOf(membership) }
  const ofCell = { ...shares, hasOtherCells: (membership?.all.length ?? 1) > 1, membership }
  const later = () => ({ pipeline, models, billing, readiness, backups })
  const { telemetry, ...observed } = await composeTelemetry(config, { log, clock, stopwatch, opening, core, later })
  const providers = surroundings.providers ?? searchProviders(config, surroundings, telemetry)
  const { people, users, ownOrigins, mailers } = composeIdentity(config, surroundings, core)
  const { identity } = people
  const linked = openSocial(config, { ...core, identity, clock, log, opening, store: stores.social })
  const others = othersOf(surroundings, stores)
  const beside = billingBeside(others, surroundings.node)
  const timed = { clock, stopwatch, log, opening }
  const work = await startCell(config, { ...core, ...mailers, ...ofCell, ...beside, ...timed, telemetry })
  const { billing, pipeline, webhooks, retention } = work
  const { budgets, ...auth } = { ...core, clock, ...requestLimits(config, core.limiter), ...billing.auth }
  const models = composeModels(config, stores, pipeline, { ...core, ...ofCell, search: providers.context, log })
  const imported = await composeImported(config, { ...core, ...ofCell, ...timed, pipeline, ownOrigins })
  const backups = composeBackups(config, { ...surroundings, stores })
  const restored = await composeAfterRestore(config, { ...surroundings, ...stores })
  const stopping = new StopState(core.events)
  const { index, readiness } = composeReadiness(config, { core, providers, models, backups, stopping, surroundings })
  const { accountIdOf } = users
  const settings = ownerSettings({ ...core, ...linked, accountIdOf, identity, config, clock, ...mailers, log })
  const { cells, elsewhere } = operatorsOfCells(others, { ...core, identity })
  const shared = { ...core, ...models, ...imported, ...settings, ...people, ...billing.routes, ...restored }
  const web = app({
    ...{ ...shared, ...linked, budgets, baseUrl: config.baseUrl },
    ...agentInterfaces(config, { ...core, identity, ownOrigins, clock }),
    gate: new Gate({ auth, journal: core.journal, telemetry, baseUrl: config.baseUrl, unread: core.unread }),
    contexts: contextsOf(config, surroundings, core.intake),
    ...{ ...webhooks.routes, ...observed.routes, guide: composeGuide(ROOT), cells, users },
    owners: new OwnerSessions({ ...config, ...core, identity, ownOrigins, budgets, elsewhere }),
    dashboard: surroundings.dashboard ?? (await readDashboard()),
    icons: localMedia(join(ROOT, 'node_modules', 'lucide-static', 'icons')),
    isDraining: stopping.isDraining,
    onFault: faultLog(log),
    priced: new PricedCalls(pipeline, pricedRoutes(providers, linked.social)),
    thumbnails: new Thumbnails(core.strangers, () => clock.now()),
    readiness,
    now: () => clock.now(),
    ...(surroundings.pingMs && { pingMs: surroundings.pingMs }),
  })
  const control = controlHandler({
    ...{ ...shared, ...backups.commands, ...webhooks.routes, social: linked.social, baseUrl: config.baseUrl },
    ...{ network: () => billing.moneyIn.rail.network(), published: () => billing.moneyIn.rail.published() },
    ...{ readiness, nodes: surroundings.node?.report ?? null, cells },
    onFault: faultLog(log),
    now: () => clock.now(),
  })
  const answer = (request: Request) => observed.endpoint?.onMainPort(request) ?? web.fetch(request)
  return {
    app: web,
    /** Handles a request. */
    fetch: securedBy(config, core.unread, answer),
    core,
    ...{ sandbox: linked.sandbox, social: linked.social },
    ...{ ...billing.moneyIn, ...webhooks.senders, retention, backups, upstreamPayments: imported.upstreamPayments },
    control,
    ...{ accounts, setupToken: core.setupToken, metrics: observed.endpoint },
    /** Whether there is no operator yet. */
    needsOperator: async () => stores.directory.withRole('operator').length === 0,
    /** The longest deadline of a call. */
    longestCallMs: () => Math.max(models.longestCallMs(), ...core.apis.routes.apis.map(({ timeoutMs }) => timeoutMs)),
    /** Resolves when no call is in progress. Aborts those that still run after `maxMs`. */
    streamsEnded: (maxMs: number) => pipeline.openCalls.ended(maxMs),
    /** Has done once what the first calls would wait for: the threads of searches, and the handler of requests. */
    warm: () => Promise.all([providers.context.ready(), web.fetch(new Request('http://localhost/health'))]),
    load: () => cellLoad({ stores, accounts, openCalls: pipeline.openCalls }),
    ...{ stopping, reloadModels, syncDirectory, index, users, takeOffSale: imported.takeOffSale },
    close: closing([[work, backups], [imported.upstreamPayments, providers, models, observed], [linked]], core),
  }
}

function searchProviders(config: Config, { clock, log }: Surroundings, telemetry: Telemetry): ClosableProviders {
  const onTrouble = (provider: string, reason: string) => log.warn('upstream', { provider, reason })
  return openWebsearch(config, indexSources(config.dataDir).indexPath, { clock, telemetry, onTrouble })
}

/** The limits of callers whose tier does not say them. */
function requestLimits({ anonymousRpm, visitorRpm, ownerRpm }: Config, limiter: Limiter) {
  const perMinute = (rpm: number): Limits => ({ ...TIER_LIMITS.free, rpm })
  const visitorLimits = perMinute(visitorRpm)
  return {
    anonymousLimits: perMinute(anonymousRpm),
    visitorLimits,
    freeUnitsPerMinute: ownerRpm,
    budgets: new RequestBudgets(limiter, { address: visitorLimits, account: perMinute(ownerRpm) }),
  }
}

interface ReadinessParts {
  readonly core: Pick<ComposedCore, 'checks' | 'stuck' | 'apis' | 'catalog'>
  readonly providers: ClosableProviders
  readonly models: ReturnType<typeof composeModels>
  readonly backups: Pick<ReturnType<typeof composeBackups>, 'warning'>
  readonly stopping: StopState
  readonly surroundings: Pick<Surroundings, 'node' | 'cell' | 'index'>
}

function composeReadiness({ dataDir }: Config, parts: ReadinessParts) {
  const { core, providers, models, backups, stopping, surroundings } = parts
  const { sources, context } = providers
  const canSearch = () => context.ready()
  const index = surroundings.index ?? new SearchIndex(indexSources(dataDir), canSearch)
  const tooFewCalls = () =>
    lowConcurrency(surroundings.cell, { apis: core.apis.routes.apis, models: core.catalog.list() })
  const readiness = new Readiness({
    ...{ ...models, ...nodeReadiness({ ...core.checks, search: () => index.problem(canSearch) }, surroundings.node) },
    sources: sources ?? (async () => ({ search: await context.ready() })),
    warnings: { backups: backups.warning, stuck: () => core.stuck.warning(), concurrency: async () => tooFewCalls() },
    isDraining: stopping.isAnnounced,
  })
  return { index, readiness }
}

function contextsOf(config: Config, surroundings: Surroundings, intake: Intake): ContextDeps {
  const { clock, log, node, cell } = surroundings
  // With one cell nobody asks for operators, and no request is looked at for it.
  const staffOf = surroundings.staffOf ?? (cell && node?.staffOf)
  return { clock, intake, addressOf: clientAddresses(config, log), ...node?.callers, ...(staffOf && { staffOf }) }
}
